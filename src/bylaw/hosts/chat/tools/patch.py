"""The tool `apply_patch`: sections of a patch and the files as they are → the changes to make.

A section for a file that an earlier section changed starts from the result of that section. Hunks
are in the order of the file. Their lines must match exactly. If they match nowhere, white space at
the end of lines is ignored, then white space at both ends. A hunk that fits at several places is an
error: anchors or more lines around it must select one. Kept lines stay as they are in the file.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Annotated, NoReturn

from msgspec import Meta, Struct
from msgspec.structs import replace

from bylaw.hosts.chat.tools.base import Arguments, ToolError
from bylaw.hosts.chat.tools.file_tools import WritingTool
from bylaw.hosts.chat.tools.files import (
    FileText,
    PlannedChange,
    apply_changes,
    nearest_line,
    show_text,
)
from bylaw.hosts.chat.tools.patch_text import (
    AddFile,
    DeleteFile,
    HunkLineKind,
    UpdateFile,
    parse_patch,
)
from bylaw.store.paths import is_inside

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.hosts.chat.tools.files import FileLocation, Files
    from bylaw.hosts.chat.tools.patch_text import Hunk, Section


def _exact(line: str) -> str:
    return line


_NORMALISERS: tuple[Callable[[str], str], ...] = (_exact, str.rstrip, str.strip)


class LineIndex:
    """The lines of a file, for many searches."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._text = cache(lambda way: _JoinedLines([way(line) for line in lines]))

    def places(self, wanted: Sequence[str], begin: int, at_most: int) -> list[int]:
        """Return where the wanted lines begin, from `begin` on, by the strictest match."""
        for way in _NORMALISERS:
            found = self._text(way).places([way(line) for line in wanted], begin)
            if places := list(islice(found, at_most)):
                return places
        return []

    def line_of(self, anchor: str, begin: int) -> int | None:
        """Return the first line equal to an anchor, or the only one that contains it."""
        if whole := self.places([anchor], begin, 1):
            return whole[0]
        part = anchor.strip()
        held = [at for at in range(begin, len(self.lines)) if part in self.lines[at]]
        return held[0] if len(held) == 1 else None

    def end(self, wanted: Sequence[str]) -> int | None:
        """Return where the wanted lines begin if they are the last lines, else None."""
        begin = len(self.lines) - len(wanted)
        last = self.lines[max(begin, 0) :]
        for way in _NORMALISERS:
            if [way(line) for line in last] == [way(line) for line in wanted]:
                return begin
        return None


class _JoinedLines:
    """Lines joined to one text, so that the time of a search grows with the sum of both sizes."""

    def __init__(self, lines: list[str]) -> None:
        self.text = _join(lines)
        # Where the line break before each line is.
        self.starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def places(self, wanted: list[str], begin: int) -> Iterator[int]:
        sought = _join(wanted)
        at = self.text.find(sought, self.starts[begin])
        while at >= 0:
            yield bisect_left(self.starts, at)
            at = self.text.find(sought, at + 1)


def _join(lines: list[str]) -> str:
    return "".join(f"\n{line}" for line in lines) + "\n"


MAX_NAMED = 5  # places in the error for an ambiguous hunk


def apply_hunks(path: str, content: str, hunks: Sequence[Hunk]) -> str:
    """Return the new text. A file without a line break at its end stays without one."""
    unfinished = bool(content) and not content.endswith("\n")
    lines = content.removesuffix("\n").split("\n") if content else []
    new = _Update(path, lines).lines(hunks)
    return "\n".join(new) + ("" if unfinished or not new else "\n")


class _Update:
    """Goes through a file once. `at` is the line after the last hunk."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self.path = path
        self.hay = LineIndex(lines)
        self.at = 0
        self.anchors: tuple[str, ...] = ()

    def lines(self, hunks: Sequence[Hunk]) -> list[str]:
        new: list[str] = []
        for hunk in hunks:
            place = self.place(hunk)
            new += self.hay.lines[self.at : place]
            new += _new_lines(self.hay.lines, place, hunk)
            self.at = place + len(hunk.old)
            self.anchors = hunk.anchors
        return [*new, *self.hay.lines[self.at :]]

    def place(self, hunk: Hunk) -> int:
        """Return the line at which a hunk begins."""
        if hunk.at_end:
            return self.at_end(hunk)
        if not hunk.old:
            return self.place_of_addition(hunk)
        if not hunk.anchors:
            return self.only_one(self.hay.places(hunk.old, self.at, MAX_NAMED), hunk)
        # The anchor may be repeated as the first line of the hunk.
        begins = self.anchor_lines(hunk, behind=0)
        found = [place for begin in begins for place in self.hay.places(hunk.old, begin, 1)]
        return self.only_one(found, hunk)

    def at_end(self, hunk: Hunk) -> int:
        place = self.hay.end(hunk.old)
        if place is None or place < self.at:
            self.fail(hunk, "does not match the end of the file", hunk.old)
        return place

    def place_of_addition(self, hunk: Hunk) -> int:
        """Return where to add the lines of a hunk that has no lines of the file."""
        if hunk.anchors:
            return self.only_one(self.anchor_lines(hunk, behind=1), hunk)
        if self.hay.lines:
            self.fail(hunk, "does not say where: add an existing line, or an anchor `@@ LINE`")
        return 0

    def anchor_lines(self, hunk: Hunk, behind: int) -> list[int]:
        """Return the lines where a hunk may begin, at `behind` lines after its last anchor."""
        line = self.follow(hunk.anchors, self.at)
        if line is not None:
            # If the last hunk had the same anchors, this one may directly follow it.
            stays = [self.at] if hunk.anchors == self.anchors else []
            return [*stays, line + behind]
        if self.follow(hunk.anchors, 0) is None:
            self.fail(hunk, "has an anchor that cannot be found", hunk.anchors)
        return [self.at]

    def follow(self, anchors: Sequence[str], begin: int) -> int | None:
        """Return the line of the last anchor, None if an anchor is not found."""
        line = begin - 1
        for anchor in anchors:
            found = self.hay.line_of(anchor, line + 1)
            if found is None:
                return None
            line = found
        return line

    def only_one(self, found: Sequence[int], hunk: Hunk) -> int:
        places = sorted(set(found))
        if not places:
            self.fail(hunk, self.mismatch_reason(hunk), hunk.old)
        if len(places) > 1:
            named = ", ".join(str(place + 1) for place in places[:MAX_NAMED])
            help_ = "add lines around it, or an anchor `@@ LINE`"
            self.fail(hunk, f"fits at several places, lines {named}: {help_}")
        return places[0]

    def mismatch_reason(self, hunk: Hunk) -> str:
        if earlier := self.hay.places(hunk.old, 0, 1):
            first = f"its lines are only earlier in the file, from line {earlier[0] + 1}"
            return f"does not match after its anchor and the previous hunk: {first}"
        return "does not match: the file does not have its lines one after the other"

    def fail(self, hunk: Hunk, why: str, wanted: Sequence[str] = ()) -> NoReturn:
        # The first line that the file does not have is most likely the wrong one.
        lines = self.hay.lines
        known = {line.strip() for line in lines}
        told = [line.strip() for line in wanted if line.strip()]
        unknown = next((line for line in told if line not in known), "")
        missing = f"; the file has no line `{show_text(unknown)}`" if unknown else ""
        sought = unknown or next(iter(told), "")
        near = nearest_line(lines, sought, self.at) or nearest_line(lines, sought)
        where = f"hunk {hunk.number} of `{show_text(self.path)}` (line {hunk.line} of the patch)"
        raise ToolError(f"{where} {why}{missing}{near}")


def _new_lines(lines: Sequence[str], place: int, hunk: Hunk) -> list[str]:
    """Return the lines that replace the old lines of a hunk."""
    new: list[str] = []
    for line in hunk.lines:
        if line.sign is HunkLineKind.ADD:
            new.append(line.text)
            continue
        if line.sign is HunkLineKind.KEEP:
            new.append(lines[place])
        place += 1
    return new


class PatchPlan(Struct, frozen=True):
    """Changes, and a line of the report for each section."""

    changes: list[PlannedChange]
    told: list[str]


def plan_patch(files: Files, sections: Iterable[Section]) -> PatchPlan:
    """Return what a patch does. Raises ToolError if that is not possible."""
    planner = _Planner(files)
    told = [planner.take(section) for section in sections]
    return PatchPlan(planner.changes(), told)


class _Draft(Struct, frozen=True):
    """A file after the patch: its text, None if it is deleted.

    A moved file gets the permissions of `like`.
    """

    spot: FileLocation
    text: FileText | None
    like: os.stat_result | None = None


class _Planner:
    def __init__(self, files: Files) -> None:
        self.files = files
        self.drafts: dict[str, _Draft] = {}

    def take(self, section: Section) -> str:
        match section:
            case AddFile():
                return self.add(section)
            case DeleteFile():
                return self.delete(section)
            case UpdateFile():
                return self.update(section)

    def changes(self) -> list[PlannedChange]:
        return [
            PlannedChange(draft.spot, draft.text.encode() if draft.text else None, draft.like)
            for draft in self.drafts.values()
            if draft.text or draft.spot.state  # else the patch created and deleted it
        ]

    def add(self, section: AddFile) -> str:
        spot = self.free(section.path, "add")
        content = "".join(f"{line}\n" for line in section.lines)
        self.drafts[spot.path] = _Draft(spot, FileText(content))
        return f"A {show_text(section.path)}"

    def delete(self, section: DeleteFile) -> str:
        spot = self.existing_file(section.path, "delete")
        self.refuse_link(spot, "delete")
        self.drafts[spot.path] = _Draft(self.first(spot), None)
        return f"D {show_text(section.path)}"

    def update(self, section: UpdateFile) -> str:
        spot = self.existing_file(section.path, "update")
        before = self.drafts.get(spot.path) or _Draft(spot, self.files.text(spot))
        assert before.text is not None
        content = apply_hunks(section.path, before.text.content, section.hunks)
        after = replace(before, text=before.text.holding(content))
        if not section.move_to:
            self.drafts[spot.path] = after
            return f"M {show_text(section.path)}"
        self.move(section, spot, after)
        return f"R {show_text(section.path)} -> {show_text(section.move_to)}"

    def move(self, section: UpdateFile, spot: FileLocation, after: _Draft) -> None:
        self.refuse_link(spot, "move")
        target = self.free(section.move_to, "move to")
        self.drafts[spot.path] = replace(after, text=None)
        self.drafts[target.path] = _Draft(target, after.text, after.spot.state or after.like)

    def existing_file(self, path: str, act: str) -> FileLocation:
        """Return where a file is that must exist."""
        spot = self.files.spot(path)
        if not self.is_there(spot):
            raise ToolError(f"cannot {act} `{show_text(path)}`: the file does not exist")
        return spot

    def free(self, path: str, act: str) -> FileLocation:
        """Return where a file can be created. There must not be one yet."""
        spot = self.files.spot(path)
        if self.is_there(spot):
            raise ToolError(f"cannot {act} `{show_text(path)}`: the file already exists")
        for other in self.drafts.values():
            here, there = spot.path, other.spot.path
            if other.text and here != there and (is_inside(here, there) or is_inside(there, here)):
                why = f"either it or `{show_text(other.spot.asked)}` would be a folder"
                raise ToolError(f"cannot {act} `{show_text(path)}`: {why}")
        return self.first(spot)

    def is_there(self, spot: FileLocation) -> bool:
        draft = self.drafts.get(spot.path)
        return draft.text is not None if draft else spot.state is not None

    def first(self, spot: FileLocation) -> FileLocation:
        """Return the file as it was first found: changes are made to that state."""
        draft = self.drafts.get(spot.path)
        return draft.spot if draft else spot

    def refuse_link(self, spot: FileLocation, act: str) -> None:
        if spot.linked:
            raise ToolError(
                f"cannot {act} `{show_text(spot.asked)}`: it is a link to `{show_text(spot.path)}`"
            )


DESCRIPTION = """\
Change files with a patch: all of them or none. Paths start at the project root.

*** Begin Patch
*** Add File: path/of/new_file
+every line of the new file begins with a plus
*** Update File: path/of/file
*** Move to: path/if/the/file/is/moved
@@ def the_function_that_contains_the_lines():
 an existing line that stays
-a line to remove
+a line to add
 an existing line that stays
*** Delete File: path/of/old_file
*** End Patch

Show about three unchanged lines before and after each change, exactly as they are in the file. If \
these lines are in the file more than once, name one or more lines above them, each with `@@ `. \
`@@` alone begins another hunk. Write hunks in the order of the file. `*** End of File` after a \
hunk says that the hunk is at the end of the file.\
"""


class PatchArguments(Arguments, frozen=True, kw_only=True):
    """The patch."""

    patch: Annotated[str, Meta(description="The patch, from `*** Begin Patch` to `*** End Patch`.")]


class ApplyPatch(WritingTool[PatchArguments]):
    """Changes files with a patch."""

    synonyms: tuple[tuple[str, str], ...] = (("input", "patch"),)

    def __init__(self, files: Files) -> None:
        super().__init__(files, "apply_patch", DESCRIPTION, PatchArguments)

    def change(self, args: PatchArguments) -> str:
        """Apply a patch."""
        plan = plan_patch(self.files, parse_patch(args.patch))
        apply_changes(self.files.root, plan.changes)
        return "\n".join(["applied the patch", *plan.told])
