"""Blocks → units that stay or go together, and the units that `<compact>` keeps (CM-A30).

A message of the assistant, its calls and all responses to them are one unit. A call of a rule and
its response are another. Every other message is a unit by itself. Blocks are identified by their
index in the history, messages by their number from 1, as `size_of` counts them. A unit stays if any
part of it stays, so `latest:N` may keep more than N messages. It also stays while one of its calls
has no response, and if it is imported: imported messages cannot be archived.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.request import begins_message, has_next_call
from bylaw.model.display import brief
from bylaw.model.errors import BylawError
from bylaw.model.history import count_tokens
from bylaw.model.vocabulary import ROLES, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.hosts.chat.blocks import Block


class Unit(Struct):
    """Blocks that are never separated. `unanswered` is the number of calls without a response."""

    places: list[int]
    unanswered: int = 0


class ChatHistory:
    """The blocks of a conversation and their units."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.units = _units_of(blocks)

    @cached_property
    def unit_at(self) -> dict[int, int]:
        """The unit of each block."""
        return {place: number for number, unit in enumerate(self.units) for place in unit.places}

    @cached_property
    def message_at(self) -> dict[int, int]:
        """The block at which each message begins, and the number of the message."""
        before = [None, *self.blocks]
        places = [
            place for place, block in enumerate(self.blocks) if begins_message(block, before[place])
        ]
        return {place: number for number, place in enumerate(places, 1)}

    def places_of(self, units: Iterable[int]) -> list[int]:
        """Return the indexes of the blocks of several units, in the order of the file."""
        return sorted(place for unit in units for place in self.units[unit].places)

    def blocks_of(self, units: Iterable[int]) -> list[Block]:
        """Return the blocks of several units, in the order of the file."""
        return [self.blocks[place] for place in self.places_of(units)]

    def messages_of(self, units: Iterable[int]) -> list[int]:
        """Return the numbers of the messages of several units, ascending."""
        at = self.message_at
        return [at[place] for place in self.places_of(units) if place in at]

    def weight(self, unit: int) -> int:
        """Return the size of a unit in tokens, including the arguments of its calls."""
        return sum(count_tokens(block.text) for block in self.blocks_of([unit]))


def _units_of(blocks: Sequence[Block]) -> list[Unit]:
    grouping = _UnitBuilder()
    before: Block | None = None
    for place, block in enumerate(blocks):
        grouping.take(place, block, joined=before is not None and has_next_call(before, block))
        before = block
    return grouping.units


class _UnitBuilder:
    """Collects the units from the blocks of a file, in order."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self._last = Unit([])
        # An id may be used again: a response belongs to the first call that waits for one.
        self._waiting: defaultdict[str, deque[Unit]] = defaultdict(deque)
        self._answered: dict[str, Unit] = {}

    def take(self, place: int, block: Block, *, joined: bool) -> None:
        unit = self._unit_for(block) if not joined else self._last
        unit.places.append(place)
        if block.kind is BlockKind.CALL:
            unit.unanswered += 1
            self._waiting[block.call].append(unit)
        self._last = unit

    def _unit_for(self, block: Block) -> Unit:
        if block.kind is BlockKind.RESPONSE:
            if waiting := self._waiting[block.call]:
                unit = waiting.popleft()
                unit.unanswered -= 1
                self._answered[block.call] = unit
            # A second response belongs to the unit of the first.
            if block.call in self._answered:
                return self._answered[block.call]
        self.units.append(Unit([]))
        return self.units[-1]


class CompactionError(BylawError):
    """The history was not compacted and nothing was changed. The text says why."""


_LATEST = re.compile(r"latest:([0-9]{1,9})")


class Strategy(StrEnum):
    """What happens to messages that `keep` does not keep."""

    RELEVANCE = "relevance"
    SUMMARY = "summary"


class KeepOptions(Struct, frozen=True):
    """Messages of these roles stay, and the `latest` ones of the other roles."""

    roles: frozenset[Role]
    latest: int


def read_keep(text: str) -> KeepOptions:
    """Read a value such as `system,developer,latest:6`. The largest of several `latest` applies."""
    roles: set[Role] = set()
    latest = 0
    for item in _items(text, ","):
        if item in ROLES:
            roles.add(ROLES[item])
        elif found := _LATEST.fullmatch(item):
            latest = max(latest, int(found[1]))
        else:
            raise CompactionError(f"unknown value `{brief(item)}` in `keep`")
    return KeepOptions(frozenset(roles), latest)


def read_strategy(text: str) -> frozenset[Strategy]:
    """Read a value such as `relevance+summary`."""
    try:
        return frozenset(Strategy(item) for item in _items(text, "+"))
    except ValueError:
        raise CompactionError(f"unknown strategy `{brief(text)}`") from None


def _items(text: str, between: str) -> list[str]:
    return [item.strip() for item in text.split(between)]


def kept_units(history: ChatHistory, keep: KeepOptions, path: str) -> set[int]:
    """Return the units that stay. `path` is the path of the file."""
    places = enumerate(history.blocks)
    fixed = (place for place, it in places if it.role in keep.roles or it.source.path != path)
    latest = islice(_newest_others(history, keep), keep.latest)
    kept = {history.unit_at[place] for place in (*fixed, *latest)}
    return kept | {number for number, unit in enumerate(history.units) if unit.unanswered}


def _newest_others(history: ChatHistory, keep: KeepOptions) -> Iterator[int]:
    """Yield where messages begin that their role does not keep, newest first."""
    for place in reversed(history.message_at):
        if history.blocks[place].role not in keep.roles:
            yield place
