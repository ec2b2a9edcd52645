"""The text of a patch in the V4A format → its sections. ToolError names the invalid line.

    *** Begin Patch
    *** Add File: PATH          then lines that begin with `+`
    *** Delete File: PATH
    *** Update File: PATH
    *** Move to: PATH           optional
    @@ LINE                     an anchor; there may be several, or `@@` alone between hunks
     kept, -removed, +added     lines of a hunk
    *** End of File             the hunk is at the end of the file
    *** End Patch

A line of a hunk without a sign is a kept line: many models leave the blank out.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NoReturn

from msgspec import Struct

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.files import show_text


class HunkLineKind(StrEnum):
    """What a hunk does with a line."""

    KEEP = " "
    REMOVE = "-"
    ADD = "+"


class HunkLine(Struct, frozen=True):
    """A line of a hunk, without its sign."""

    sign: HunkLineKind
    text: str


class Hunk(Struct, frozen=True, kw_only=True):
    """Consecutive lines of a file, before and after the change.

    The hunk comes after its `anchors`, which are in the order of the file. `at_end`: it is at the
    end of the file. `number` is its number in the file, and `line` is its first line in the patch.
    """

    number: int
    line: int
    anchors: tuple[str, ...]
    lines: tuple[HunkLine, ...]
    at_end: bool

    @property
    def old(self) -> tuple[str, ...]:
        """The lines of the file before the change."""
        return tuple(line.text for line in self.lines if line.sign is not HunkLineKind.ADD)


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


MAX_PATCH_CHARS = 1_000_000
MAX_SECTIONS = 100
MAX_HUNKS = 1_000

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_ADD = "*** Add File: "
_DELETE = "*** Delete File: "
_UPDATE = "*** Update File: "
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"
_MARK = "*** "
_ANCHOR = "@@"


def parse_patch(text: str) -> list[Section]:
    """Return the sections of a patch."""
    if len(text) > MAX_PATCH_CHARS:
        raise ToolError(f"the patch is longer than {MAX_PATCH_CHARS:,} characters")
    return _Reader(text.strip().replace("\r\n", "\n").split("\n")).sections()


class _Reader:
    """Reads the lines of a patch once. `at` is the index of the next line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.hunks_left = MAX_HUNKS

    def sections(self) -> list[Section]:
        if self.lines[0].rstrip() != _BEGIN:
            self.fail(f"the first line must be `{_BEGIN}`")
        if self.lines[-1].rstrip() != _END:
            self.at = len(self.lines) - 1
            self.fail(f"the last line must be `{_END}`")
        self.lines.pop()
        self.at += 1
        sections: list[Section] = []
        while self.skip_blank():
            sections.append(self.section())
            if len(sections) > MAX_SECTIONS:
                self.fail(f"a patch has at most {MAX_SECTIONS} files")
        if not sections:
            self.fail("the patch names no file")
        return sections

    def section(self) -> Section:
        header = self.lines[self.at]
        for mark, read in ((_ADD, self.add), (_DELETE, self.delete), (_UPDATE, self.update)):
            if header.startswith(mark):
                return read(self.path(mark))
        self.fail(f"expected `{_ADD}PATH`, `{_DELETE}PATH` or `{_UPDATE}PATH`")

    def path(self, mark: str) -> str:
        path = self.lines[self.at].removeprefix(mark).strip()
        if not path:
            self.fail("the path is empty")
        self.at += 1
        return path

    def add(self, path: str) -> AddFile:
        added: list[str] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("+"):
            added.append(self.lines[self.at][1:])
            self.at += 1
        if self.skip_blank() and not self.at_mark():
            self.fail("every line of a new file must begin with `+`")
        return AddFile(path, tuple(added))

    def delete(self, path: str) -> DeleteFile:
        if self.skip_blank() and not self.at_mark():
            self.fail("a deleted file has no lines")
        return DeleteFile(path)

    def update(self, path: str) -> UpdateFile:
        moves = self.at < len(self.lines) and self.lines[self.at].startswith(_MOVE)
        move_to = self.path(_MOVE) if moves else ""
        hunks: list[Hunk] = []
        while self.skip_empty() and not self.at_mark():
            hunks.append(self.hunk(len(hunks) + 1))
        if not hunks and not move_to:
            self.fail(f"the update of `{show_text(path)}` has no hunk")
        return UpdateFile(path, move_to, tuple(hunks))

    def hunk(self, number: int) -> Hunk:
        self.hunks_left -= 1
        if self.hunks_left < 0:
            self.fail(f"a patch has at most {MAX_HUNKS:,} hunks")
        first = self.at + 1
        anchors = self.anchors()
        lines = self.hunk_lines()
        at_end = self.at < len(self.lines) and self.lines[self.at].rstrip() == _END_OF_FILE
        self.at += at_end
        if all(line.sign is HunkLineKind.KEEP for line in lines):
            self.at = first - 1
            self.fail(f"hunk {number} changes nothing: none of its lines begins with `+` or `-`")
        return Hunk(
            number=number, line=first, anchors=anchors, lines=tuple(lines), at_end=bool(at_end)
        )

    def anchors(self) -> tuple[str, ...]:
        anchors: list[str] = []
        while self.at < len(self.lines) and self.is_anchor():
            anchors.append(self.lines[self.at].removeprefix(_ANCHOR).removeprefix(" "))
            self.at += 1
        return tuple(anchor for anchor in anchors if anchor.strip())

    def hunk_lines(self) -> list[HunkLine]:
        lines: list[HunkLine] = []
        blank = 0  # empty lines at the end, which only separate the hunk from what follows
        while self.at < len(self.lines) and not self.is_anchor() and not self.at_mark():
            line = self.lines[self.at]
            blank = 0 if line else blank + 1
            lines.append(_line(line))
            self.at += 1
        return lines[: len(lines) - blank]

    def is_anchor(self) -> bool:
        line = self.lines[self.at]
        return line.rstrip() == _ANCHOR or line.startswith(f"{_ANCHOR} ")

    def at_mark(self) -> bool:
        return self.lines[self.at].startswith(_MARK)

    def skip_blank(self) -> bool:
        """Go to the next line that is not blank. Return False if there is none."""
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        return self.at < len(self.lines)

    def skip_empty(self) -> bool:
        """Go to the next line that is not empty: in a hunk, a blank is a sign."""
        while self.at < len(self.lines) and not self.lines[self.at]:
            self.at += 1
        return self.at < len(self.lines)

    def fail(self, why: str) -> NoReturn:
        at = min(self.at, len(self.lines) - 1)
        raise ToolError(f"line {at + 1} of the patch, `{show_text(self.lines[at])}`: {why}")


def _line(line: str) -> HunkLine:
    for sign in HunkLineKind:
        if line.startswith(sign):
            return HunkLine(sign, line[1:])
    return HunkLine(HunkLineKind.KEEP, line)
