"""What was found out about one part of a set-up."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    """Whether somebody has to do something."""

    FINE = "fine"
    NOTE = "note"
    WRONG = "wrong"


class Finding(Struct, frozen=True):
    """`about` is a host or a part of Bylaw; `step` is what a person can do, empty if nothing."""

    about: str
    level: Level
    text: str
    step: str = ""


def fine(about: str, text: str) -> Finding:
    """All is well."""
    return Finding(about, Level.FINE, text)


def note(about: str, text: str, step: str = "") -> Finding:
    """Something that is good to know, or that nobody can tell from here."""
    return Finding(about, Level.NOTE, text, step)


def wrong(about: str, text: str, step: str) -> Finding:
    """Rules are not in force as they should be."""
    return Finding(about, Level.WRONG, text, step)
