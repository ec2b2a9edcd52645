"""The text of a file and the hunks of an update → its new text. ToolError names the hunk.

Hunks are in the order of the file. A hunk that fits at several places is an error: anchors or more
lines around it must select one. Kept lines stay as they are in the file, even if the hunk has other
white space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.files import shown
from bylaw.hosts.chat.tools.nearest import nearest_line
from bylaw.hosts.chat.tools.patch.seek import Haystack
from bylaw.hosts.chat.tools.patch.written import Sign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.chat.tools.patch.written import Hunk

MAX_NAMED = 5  # places in the error for an ambiguous hunk


def updated(path: str, content: str, hunks: Sequence[Hunk]) -> str:
    """Return the new text. A file without a line break at its end stays without one."""
    unfinished = bool(content) and not content.endswith("\n")
    lines = content.removesuffix("\n").split("\n") if content else []
    new = _Update(path, lines).lines(hunks)
    return "\n".join(new) + ("" if unfinished or not new else "\n")


class _Update:
    """Goes through a file once. `at` is the line after the last hunk."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self.path = path
        self.hay = Haystack(lines)
        self.at = 0
        self.anchors: tuple[str, ...] = ()

    def lines(self, hunks: Sequence[Hunk]) -> list[str]:
        new: list[str] = []
        for hunk in hunks:
            place = self.place(hunk)
            new += self.hay.lines[self.at : place]
            new += _changed(self.hay.lines, place, hunk)
            self.at = place + len(hunk.old)
            self.anchors = hunk.anchors
        return [*new, *self.hay.lines[self.at :]]

    def place(self, hunk: Hunk) -> int:
        """Return the line at which a hunk begins."""
        if hunk.at_end:
            return self.at_end(hunk)
        if not hunk.old:
            return self.of_addition(hunk)
        if not hunk.anchors:
            return self.only_one(self.hay.places(hunk.old, self.at, MAX_NAMED), hunk)
        # The anchor may be repeated as the first line of the hunk.
        begins = self.anchored(hunk, behind=0)
        found = [place for begin in begins for place in self.hay.places(hunk.old, begin, 1)]
        return self.only_one(found, hunk)

    def at_end(self, hunk: Hunk) -> int:
        place = self.hay.end(hunk.old)
        if place is None or place < self.at:
            self.fail(hunk, "does not match the end of the file", hunk.old)
        return place

    def of_addition(self, hunk: Hunk) -> int:
        """Return where to add the lines of a hunk that has no lines of the file."""
        if hunk.anchors:
            return self.only_one(self.anchored(hunk, behind=1), hunk)
        if self.hay.lines:
            self.fail(hunk, "does not say where: add an existing line, or an anchor `@@ LINE`")
        return 0

    def anchored(self, hunk: Hunk, behind: int) -> list[int]:
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
            self.fail(hunk, self.why_not(hunk), hunk.old)
        if len(places) > 1:
            named = ", ".join(str(place + 1) for place in places[:MAX_NAMED])
            help_ = "add lines around it, or an anchor `@@ LINE`"
            self.fail(hunk, f"fits at several places, lines {named}: {help_}")
        return places[0]

    def why_not(self, hunk: Hunk) -> str:
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
        missing = f"; the file has no line `{shown(unknown)}`" if unknown else ""
        sought = unknown or next(iter(told), "")
        near = nearest_line(lines, sought, self.at) or nearest_line(lines, sought)
        where = f"hunk {hunk.number} of `{shown(self.path)}` (line {hunk.line} of the patch)"
        raise ToolError(f"{where} {why}{missing}{near}")


def _changed(lines: Sequence[str], place: int, hunk: Hunk) -> list[str]:
    """Return the lines that replace the old lines of a hunk."""
    new: list[str] = []
    for line in hunk.lines:
        if line.sign is Sign.ADD:
            new.append(line.text)
            continue
        if line.sign is Sign.KEEP:
            new.append(lines[place])
        place += 1
    return new
