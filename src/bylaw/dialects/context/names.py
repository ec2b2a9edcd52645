"""How the language and the groups of its rules are called, and which version of it this is."""

from __future__ import annotations

NAME = "context"  # rules and variables are named by it
VERSION = "0.4.20"
COMMANDS, CHECKS = "commands", "checks"
