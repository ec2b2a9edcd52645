"""What rules may read while one event is decided, and how they ask for a fact that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from msgspec import UNSET, Struct

from bylaw.model.codes.engine import FACT_MISSING, FACT_UNKNOWN
from bylaw.model.decision import OPEN_ENTRIES, NeedName
from bylaw.model.errors import GuardError

if TYPE_CHECKING:
    from bylaw.model.decision import Need
    from bylaw.model.event import Event
    from bylaw.model.rule import Visited
    from bylaw.model.session import Session
    from bylaw.model.slate import Slate


# Among `facts.unknown`: facts were gathered as often as is allowed, and nothing more will be.
NO_MORE_FACTS = "*"


class MissingFact(Exception):  # noqa: N818 - a question, not an error: decide answers with Needs
    """A fact has to be gathered before this rule can be judged."""

    def __init__(self, needs: tuple[Need, ...]) -> None:
        super().__init__(needs)
        self.needs = needs


class View(Struct):
    """The event, the session as it stood when the event began, and the slate as it stands now."""

    session: Session
    event: Event
    slate: Slate
    now: int
    # In a group that is read line by line: the line of the text.
    line: str = ""
    visited: list[Visited] = []

    @classmethod
    def of(cls, session: Session, event: Event) -> Self:
        """The view of an event as it begins."""
        return cls(session, event, session.slate, max(session.at, event.at))

    def fact(self, need: Need) -> object:
        """A fact of the event; MissingFact if nobody gathered it, GuardError if nobody can."""
        found = _READERS[need.name](self.event.facts, need.key)
        if found is not UNSET:
            return found
        raise self.missing((need,))

    def lacking(self, needs: tuple[Need, ...]) -> tuple[Need, ...]:
        """Those of these facts that nobody gathered."""
        facts = self.event.facts
        return tuple(one for one in needs if _READERS[one.name](facts, one.key) is UNSET)

    def missing(self, needs: tuple[Need, ...]) -> MissingFact | GuardError:
        """The question for facts, or why it makes no sense to ask."""
        unknown = self.event.facts.unknown
        for need in needs:
            if f"{need.name}:{need.key}" in unknown:
                message = f"the fact `{need.name}` of `{need.key}` cannot be had"
                return GuardError(FACT_UNKNOWN.name, message)
        if NO_MORE_FACTS in unknown:
            wanted = ", ".join(f"`{need.name}` of `{need.key}`" for need in needs)
            return GuardError(FACT_MISSING.name, f"gathering has ended, and {wanted} is missing")
        return MissingFact(needs)


def _read_changes(facts: object, key: str) -> object:
    return getattr(getattr(facts, "changes", UNSET), key, UNSET)


def _read_entry(facts: object, key: str) -> object:
    entries = getattr(facts, "entries", UNSET)
    # Open ones are asked for first, so that they are among any entries at all.
    if entries is UNSET or key == OPEN_ENTRIES:
        return entries
    return entries.get(key, UNSET)


def _read_approvals(facts: object, _key: str) -> object:
    return getattr(facts, "approvals", UNSET)


def _read_script(facts: object, key: str) -> object:
    scripts = getattr(facts, "scripts", UNSET)
    return UNSET if scripts is UNSET else scripts.get(key, UNSET)


_READERS = {
    NeedName.CHANGES: _read_changes,
    NeedName.ENTRIES: _read_entry,
    NeedName.APPROVALS: _read_approvals,
    NeedName.SCRIPTS: _read_script,
}
