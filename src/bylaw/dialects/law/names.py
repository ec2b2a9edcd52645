"""How the language and the group of its rules are called, and which version of it this is."""

from __future__ import annotations

NAME = "law"
VERSION = "0.1"
GROUP = NAME
