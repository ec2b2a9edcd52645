"""One finding of `bylaw doctor`."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    """How serious a finding is."""

    FINE = "fine"
    NOTE = "note"
    WRONG = "wrong"


class Finding(Struct, frozen=True):
    """`about` is a host or a part of Bylaw; `step` is what a person can do, or empty."""

    about: str
    level: Level
    text: str
    step: str = ""


def fine(about: str, text: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(about, Level.FINE, text)


def note(about: str, text: str, step: str = "") -> Finding:
    """Return a finding for information, or about something that Bylaw cannot check."""
    return Finding(about, Level.NOTE, text, step)


def wrong(about: str, text: str, step: str) -> Finding:
    """Return a finding that keeps rules from being enforced as they should be."""
    return Finding(about, Level.WRONG, text, step)
