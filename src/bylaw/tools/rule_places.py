"""Find file and line of the rules in a journal record, from the rule texts stored with it."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from bylaw.model.uid import BUILT_IN, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.decision import Decision
    from bylaw.runtime.journal.reading import Record, Rows

MAX_KEPT = 16  # cached sets of rules


class RulePlaces:
    """Places of rules in one journal. A set of rules is loaded at its first use."""

    def __init__(self, rows: Rows) -> None:
        self._of_set = lru_cache(MAX_KEPT)(partial(_places, rows))

    def of(self, record: Record) -> dict[str, str]:
        """Return `file:line` by uid, without built-in rules. Only the file if rules do not load."""
        wanted = {uid for uid in _named(record.decision) if path_of(uid) != BUILT_IN}
        known = self._of_set(record.header.rules) if wanted else {}
        return {uid: known.get(uid) or path_of(uid) for uid in wanted}


def _places(rows: Rows, digest: bytes) -> dict[str, str]:
    from bylaw.runtime.named_rules import named_rules  # noqa: PLC0415 - not needed for most records
    from bylaw.runtime.stored_rules import stored_rules  # noqa: PLC0415 - same

    books = stored_rules(rows, digest) or ()
    return {uid: rule.place for uid, rule in named_rules(books).items()}


def _named(decision: Decision) -> Iterator[str]:
    """Yield the rules of plans and trace. A reason has its own place."""
    yield from (plan.uid for plan in decision.plans)
    yield from (line.uid for line in decision.trace)
