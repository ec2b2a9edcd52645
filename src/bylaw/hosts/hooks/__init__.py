"""Coding agents: their hooks in, events of ours; our decisions, answers in their own words."""
