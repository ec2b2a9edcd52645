"""A command to run, and the reasons why a command is not started."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from bylaw.runtime.watched.limits import MAX_OUTPUT


class Command(Struct, frozen=True, kw_only=True):
    """What to run, where, and with which limits; all paths are absolute.

    The real path of `cwd` must be in one of the `roots`, and theirs in `top`. `allow` lists
    programs by name or absolute path; None allows all. With `scripts`, a program may also be a file
    of `top`, by its path from there. `env` are variables that the command may see in addition to
    the usual ones. With `tidy`, it fails if it writes too much output or leaves processes behind.
    """

    argv: tuple[str, ...]
    cwd: str
    roots: tuple[str, ...]
    timeout_s: float
    top: str = "/"
    allow: frozenset[str] | None = None
    scripts: bool = False
    tidy: bool = False
    env: tuple[str, ...] = ()
    max_output: int = MAX_OUTPUT


class Refusal(StrEnum):
    """Why a command was not started."""

    UNTRUSTED = "untrusted"
    UNSAFE_NAME = "unsafe name"
    EMPTY = "empty"
    NUL = "null byte"
    NOT_TEXT = "not text"
    TOO_LONG = "too long"
    NOT_ALLOWED = "not allowed"
    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    VANISHED = "vanished"
    OUTSIDE = "outside"
    NO_FOLDER = "no folder"
    FOLDER_CHANGED = "folder changed"
    NOT_STARTED = "not started"


class RefusedError(Exception):
    """A command must not or cannot be started."""

    def __init__(self, refusal: Refusal, why: str) -> None:
        super().__init__(why)
        self.refusal = refusal
