"""The sections of a patch: files that are added, deleted or updated in hunks."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Sign(StrEnum):
    """What a hunk does with a line."""

    KEEP = " "
    REMOVE = "-"
    ADD = "+"


class Line(Struct, frozen=True):
    """A line of a hunk, without its sign."""

    sign: Sign
    text: str


class Hunk(Struct, frozen=True, kw_only=True):
    """Consecutive lines of a file, before and after the change.

    The hunk comes after its `anchors`, which are in the order of the file. `at_end`: it is at the
    end of the file. `number` is its number in the file, and `line` is its first line in the patch.
    """

    number: int
    line: int
    anchors: tuple[str, ...]
    lines: tuple[Line, ...]
    at_end: bool

    @property
    def old(self) -> tuple[str, ...]:
        """The lines of the file before the change."""
        return tuple(line.text for line in self.lines if line.sign is not Sign.ADD)


class AddFile(Struct, frozen=True):
    """A file to create."""

    path: str
    lines: tuple[str, ...]


class DeleteFile(Struct, frozen=True):
    """A file to delete."""

    path: str


class UpdateFile(Struct, frozen=True):
    """A file to change, to move, or both. If `move_to` is empty, the path stays."""

    path: str
    move_to: str
    hunks: tuple[Hunk, ...]


Section = AddFile | DeleteFile | UpdateFile
