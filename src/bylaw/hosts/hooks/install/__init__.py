"""Hooks of Bylaw in the configuration of coding agents: put there, found again, taken away."""
