"""How the language, its files and the group of its rules are called."""

from __future__ import annotations

NAME = "toml"
SUFFIX = ".toml"
GROUP = "rules"
