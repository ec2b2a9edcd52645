"""What rules can read while one event is decided, and how they request a missing fact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from msgspec import UNSET, Struct

from bylaw.model.codes.runtime import FACT_MISSING, FACT_UNKNOWN
from bylaw.model.decision import OPEN_ENTRIES, NeedName
from bylaw.model.errors import GuardError

if TYPE_CHECKING:
    from bylaw.model.decision import Need
    from bylaw.model.event import Event
    from bylaw.model.rule import RuleVisit
    from bylaw.model.session import Session, Variables

# In `facts.unknown`: facts were gathered as often as is allowed, so no more will be gathered.
NO_MORE_FACTS = "*"


class MissingFact(Exception):  # noqa: N818 - not an error: `decide` then returns Needs
    """A fact must be gathered before this rule can be decided."""

    def __init__(self, needs: tuple[Need, ...]) -> None:
        super().__init__(needs)
        self.needs = needs


class View(Struct):
    """The event, the session at the start of the event, and the current slate."""

    session: Session
    event: Event
    slate: Variables
    now: int
    # The current line, in a group that is read line by line.
    line: str = ""
    visited: list[RuleVisit] = []

    @classmethod
    def of(cls, session: Session, event: Event) -> Self:
        """Return the view at the start of an event."""
        return cls(session, event, session.slate, max(session.at, event.at))

    def fact(self, need: Need) -> object:
        """Return a fact of the event.

        Raises MissingFact if it was not gathered, GuardError if it is not available.
        """
        found = _READERS[need.name](self.event.facts, need.key)
        if found is not UNSET:
            return found
        raise self.missing((need,))

    def missing_needs(self, needs: tuple[Need, ...]) -> tuple[Need, ...]:
        """Return those of these facts that were not gathered."""
        facts = self.event.facts
        return tuple(one for one in needs if _READERS[one.name](facts, one.key) is UNSET)

    def missing(self, needs: tuple[Need, ...]) -> MissingFact | GuardError:
        """Return the request for facts, or the error if requesting them is useless."""
        unknown = self.event.facts.unknown
        for need in needs:
            if f"{need.name}:{need.key}" in unknown:
                message = f"fact `{need.name}` for `{need.key}` is not available"
                return GuardError(FACT_UNKNOWN.name, message)
        if NO_MORE_FACTS in unknown:
            wanted = ", ".join(f"`{need.name}` for `{need.key}`" for need in needs)
            return GuardError(FACT_MISSING.name, f"gathering has ended without {wanted}")
        return MissingFact(needs)


def _read_changes(facts: object, key: str) -> object:
    return getattr(getattr(facts, "changes", UNSET), key, UNSET)


def _read_entry(facts: object, key: str) -> object:
    entries = getattr(facts, "entries", UNSET)
    # Open entries are gathered first, so if there are any entries, the open ones are included.
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
