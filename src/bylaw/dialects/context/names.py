"""The name and version of the language, and the names of its rule groups."""

from __future__ import annotations

NAME = "context"  # part of the names of rules and variables
VERSION = "0.4.20"
COMMANDS, CHECKS = "commands", "checks"
