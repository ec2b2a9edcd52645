"""What rules may read while one event is decided, and how they ask for a fact that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from bylaw.model.codes.engine import FACT_UNKNOWN
from bylaw.model.decision import Need, NeedName
from bylaw.model.errors import GuardError

if TYPE_CHECKING:
    from bylaw.model.event import Event
    from bylaw.model.rule import Visited
    from bylaw.model.session import Session
    from bylaw.model.slate import Slate


class MissingFact(Exception):  # noqa: N818 - a question, not an error: decide answers with Needs
    """A fact has to be gathered before this rule can be judged."""

    def __init__(self, needs: tuple[Need, ...]) -> None:
        super().__init__(", ".join(f"{need.name}:{need.key}" for need in needs))
        self.needs = needs


class View:
    """The event, the session as it stood when the event began, and the slate as it stands now."""

    __slots__ = ("event", "line", "line_number", "now", "session", "slate", "visited")

    def __init__(self, session: Session, event: Event) -> None:
        self.event = event
        self.session = session
        self.slate: Slate = session.slate
        self.now = max(session.at, event.at)
        # In a group that is read line by line: the line of the text, from 1.
        self.line = ""
        self.line_number = 0
        self.visited: list[Visited] = []

    def fact(self, name: NeedName, key: str) -> object:
        """A fact of the event; MissingFact if nobody gathered it, GuardError if nobody can."""
        found = _READERS[name](self.event.facts, key)
        if found is not UNSET:
            return found
        if f"{name}:{key}" in self.event.facts.unknown:
            raise GuardError(FACT_UNKNOWN.name, f"the fact `{name}` of `{key}` cannot be had")
        raise MissingFact((Need(name, key),))


def _read_changes(facts: object, key: str) -> object:
    return getattr(getattr(facts, "changes", UNSET), key, UNSET)


def _read_entry(facts: object, key: str) -> object:
    entries = getattr(facts, "entries", UNSET)
    if entries is UNSET or not key.startswith(POLICY_KEY):
        return UNSET if entries is UNSET else entries.get(key, UNSET)
    policy = key.removeprefix(POLICY_KEY)
    return {hash_: entry for hash_, entry in entries.items() if entry and entry.policy == policy}


def _read_approvals(facts: object, _key: str) -> object:
    return getattr(facts, "approvals", UNSET)


def _read_script(facts: object, key: str) -> object:
    scripts = getattr(facts, "scripts", UNSET)
    return UNSET if scripts is UNSET else scripts.get(key, UNSET)


# A need for all open entries of a policy, beside those for one entry by its hash.
POLICY_KEY = "policy:"
_READERS = {
    NeedName.CHANGES: _read_changes,
    NeedName.ENTRIES: _read_entry,
    NeedName.APPROVALS: _read_approvals,
    NeedName.SCRIPTS: _read_script,
}
