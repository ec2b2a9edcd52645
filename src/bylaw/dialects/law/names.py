"""The name and version of the language, and the name of its rule group."""

from __future__ import annotations

NAME = "law"
VERSION = "0.1"
GROUP = NAME
