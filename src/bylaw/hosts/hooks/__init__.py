"""Hooks of coding agents: from the payload that a client sends to the reply that it receives."""
