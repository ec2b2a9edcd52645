"""The name of the language, the suffix of its files and the name of its rule group."""

from __future__ import annotations

NAME = "toml"
SUFFIX = ".toml"
GROUP = "rules"
