"""The sections of a patch and the files as they are → the changes to make.

Nothing is written here. A section for a file that an earlier section changed starts from the result
of that section.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.chat.tools.base import ToolError
from bylaw.hosts.chat.tools.changes import Change
from bylaw.hosts.chat.tools.files import shown
from bylaw.hosts.chat.tools.patch.update import updated
from bylaw.hosts.chat.tools.patch.written import AddFile, DeleteFile, UpdateFile
from bylaw.hosts.chat.tools.text_form import Text
from bylaw.runtime.paths import lies_in

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from bylaw.hosts.chat.tools.files import Files, Spot
    from bylaw.hosts.chat.tools.patch.written import Section


class Plan(Struct, frozen=True):
    """Changes, and a line of the report for each section."""

    changes: list[Change]
    told: list[str]


def planned(files: Files, sections: Iterable[Section]) -> Plan:
    """Return what a patch does. Raises ToolError if that is not possible."""
    planner = _Planner(files)
    told = [planner.take(section) for section in sections]
    return Plan(planner.changes(), told)


class _Draft(Struct, frozen=True):
    """A file after the patch: its text, None if it is deleted.

    A moved file gets the permissions of `like`.
    """

    spot: Spot
    text: Text | None
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

    def changes(self) -> list[Change]:
        return [
            Change(draft.spot, draft.text.encode() if draft.text else None, draft.like)
            for draft in self.drafts.values()
            if draft.text or draft.spot.state  # else the patch created and deleted it
        ]

    def add(self, section: AddFile) -> str:
        spot = self.free(section.path, "add")
        content = "".join(f"{line}\n" for line in section.lines)
        self.drafts[spot.path] = _Draft(spot, Text(content))
        return f"A {shown(section.path)}"

    def delete(self, section: DeleteFile) -> str:
        spot = self.taken(section.path, "delete")
        self.refuse_link(spot, "delete")
        self.drafts[spot.path] = _Draft(self.first(spot), None)
        return f"D {shown(section.path)}"

    def update(self, section: UpdateFile) -> str:
        spot = self.taken(section.path, "update")
        before = self.drafts.get(spot.path) or _Draft(spot, self.files.text(spot))
        assert before.text is not None
        content = updated(section.path, before.text.content, section.hunks)
        after = replace(before, text=before.text.holding(content))
        if not section.move_to:
            self.drafts[spot.path] = after
            return f"M {shown(section.path)}"
        self.move(section, spot, after)
        return f"R {shown(section.path)} -> {shown(section.move_to)}"

    def move(self, section: UpdateFile, spot: Spot, after: _Draft) -> None:
        self.refuse_link(spot, "move")
        target = self.free(section.move_to, "move to")
        self.drafts[spot.path] = replace(after, text=None)
        self.drafts[target.path] = _Draft(target, after.text, after.spot.state or after.like)

    def taken(self, path: str, act: str) -> Spot:
        """Return where a file is that must exist."""
        spot = self.files.spot(path)
        if not self.is_there(spot):
            raise ToolError(f"cannot {act} `{shown(path)}`: the file does not exist")
        return spot

    def free(self, path: str, act: str) -> Spot:
        """Return where a file can be created. There must not be one yet."""
        spot = self.files.spot(path)
        if self.is_there(spot):
            raise ToolError(f"cannot {act} `{shown(path)}`: the file already exists")
        for other in self.drafts.values():
            here, there = spot.path, other.spot.path
            if other.text and here != there and (lies_in(here, there) or lies_in(there, here)):
                why = f"either it or `{shown(other.spot.asked)}` would be a folder"
                raise ToolError(f"cannot {act} `{shown(path)}`: {why}")
        return self.first(spot)

    def is_there(self, spot: Spot) -> bool:
        draft = self.drafts.get(spot.path)
        return draft.text is not None if draft else spot.state is not None

    def first(self, spot: Spot) -> Spot:
        """Return the file as it was first found: changes are made to that state."""
        draft = self.drafts.get(spot.path)
        return draft.spot if draft else spot

    def refuse_link(self, spot: Spot, act: str) -> None:
        if spot.linked:
            raise ToolError(
                f"cannot {act} `{shown(spot.asked)}`: it is a link to `{shown(spot.path)}`"
            )
