"""A patch as it is written: files that are added, deleted or updated, an update in hunks."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Sign(StrEnum):
    """What a line of a hunk says of the file."""

    KEEP = " "
    REMOVE = "-"
    ADD = "+"


class Line(Struct, frozen=True):
    """A line of a hunk, without its sign."""

    sign: Sign
    text: str


class Hunk(Struct, frozen=True, kw_only=True):
    """Lines as they stand one after the other in a file, before and after.

    They stand behind the `anchors`, of which each stands behind the one before it; with `at_end`
    at the end of the file. `number` counts the hunks of a file, `line` those of the patch.
    """

    number: int
    line: int
    anchors: tuple[str, ...]
    lines: tuple[Line, ...]
    at_end: bool

    @property
    def old(self) -> tuple[str, ...]:
        """The lines as they stand in the file before."""
        return tuple(line.text for line in self.lines if line.sign is not Sign.ADD)


class AddFile(Struct, frozen=True):
    """A file that is made."""

    path: str
    lines: tuple[str, ...]


class DeleteFile(Struct, frozen=True):
    """A file that is removed."""

    path: str


class UpdateFile(Struct, frozen=True):
    """A file that is changed, or gets another path, or both; an empty one means that it stays."""

    path: str
    move_to: str
    hunks: tuple[Hunk, ...]


Section = AddFile | DeleteFile | UpdateFile
