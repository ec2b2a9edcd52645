"""Blocks → units that stay or go together, and the numbers of their messages.

A message of the assistant, its calls and all responses to them are one unit. A call of a rule and
its response are another. Every other message is a unit by itself. Blocks are identified by their
index in the history, messages by their number from 1, as `size_of` counts them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.request import begins_message, goes_on
from bylaw.model.text_size import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.hosts.chat.blocks import Block


class Unit(Struct):
    """Blocks that are never separated. `unanswered` is the number of calls without a response."""

    places: list[int]
    unanswered: int = 0


class History:
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
    grouping = _Grouping()
    before: Block | None = None
    for place, block in enumerate(blocks):
        grouping.take(place, block, joined=before is not None and goes_on(before, block))
        before = block
    return grouping.units


class _Grouping:
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
