"""Select the units that stay word for word because they are relevant, and not because of `keep`.

A unit is relevant from a score of 0.5 on. At most a quarter of the tokens that could be removed
stay for this reason: the highest score first, and of equal scores the newest. So the history always
becomes shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.compaction.judge import judged
from bylaw.hosts.chat.compaction.overlap import scores
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.compaction.units import History
    from bylaw.hosts.chat.models.base import Model

THRESHOLD = 0.5
SHARE = 4
# The messages being worked on: the newest of people, and the newest that stay anyway.
FOCUS_OF_PEOPLE = 3
FOCUS_KEPT = 6


def relevant(history: History, going: list[int], model: Model | None) -> set[int]:
    """Return the units that stay. Without a model, shared words give the scores."""
    units = [history.blocks_of([unit]) for unit in going]
    focus = _focus(history, set(going))
    found = judged(model, units, focus) if model else scores(units, focus)
    best = sorted(zip(found, going, strict=True), reverse=True)
    return set(_that_fit(history, [unit for score, unit in best if score >= THRESHOLD], going))


def _that_fit(history: History, best: list[int], going: list[int]) -> Iterable[int]:
    room = sum(map(history.weight, going)) // SHARE
    for unit in best:
        weight = history.weight(unit)
        if weight <= room:
            room -= weight
            yield unit


def _focus(history: History, going: set[int]) -> list[Block]:
    people, kept = [], []
    for place, block in enumerate(history.blocks):
        if block.kind is not BlockKind.MESSAGE:
            continue
        if block.by_person:
            people.append(place)
        if history.unit_at[place] not in going and block.role in (Role.USER, Role.ASSISTANT):
            kept.append(place)
    chosen = {*people[-FOCUS_OF_PEOPLE:], *kept[-FOCUS_KEPT:]}
    return [history.blocks[place] for place in sorted(chosen)]
