"""A policy × an event with its facts → the state of the policy.

A policy asks only for facts that it needs. All policies first ask for the changes against their
baseline and the open entries of the queue. Only a policy that is triggered asks for its own entry.
"""

from __future__ import annotations

from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.dialects.file_policies.cases import NO_CASE, Bound, Closing, case_of
from bylaw.dialects.file_policies.correspondence import Correspondence
from bylaw.dialects.file_policies.promises import is_promised
from bylaw.dialects.file_policies.written import CompareTo
from bylaw.model.decision import OPEN_ENTRIES, Match, Need, NeedName
from bylaw.model.errors import GuardError
from bylaw.model.event import Message
from bylaw.model.facts import ChangeSet, Entry
from bylaw.model.vocabulary import OPEN_STATUSES, EntryStatus, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bylaw.dialects.file_policies.cases import Case
    from bylaw.dialects.file_policies.sieve import Sieve
    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.decision import Needs
    from bylaw.model.rule import View

GONE = "no longer applies"
ACKNOWLEDGED = "acknowledged by promise"
INTERRUPTED = "interrupted: the command may have run only in part"
NOTHING_TO_RUN = "nothing to run: every file was deleted"


class PolicyState(StrEnum):
    """The states of a policy at a stop. Each state has its own rule."""

    VIOLATED = "violated"
    FAILED = "failed"
    NOT_RUN = "not_run"
    INTERRUPTED = "interrupted"
    SATISFIED = "satisfied"
    ANSWERED = "answered"
    GONE = "gone"


# The digest of a match that no longer applies. No file has it, so Bylaw checks the policy again if
# the match comes back (DW-A19).
OF_NOTHING = "-"


# The facts that every policy with this baseline needs.
NEEDS = {
    name: (Need(NeedName.CHANGES, name.value), Need(NeedName.ENTRIES, OPEN_ENTRIES))
    for name in CompareTo
}


class OpenEntries:
    """The entries of the newest event, grouped by policy once for all policies."""

    def __init__(self) -> None:
        self._last: tuple[object, dict[str, dict[str, Entry]]] = (None, {})

    def of(self, policy: str, entries: Mapping[str, Entry | None]) -> Mapping[str, Entry]:
        """Return the entries of one policy by hash, in the order of the hashes."""
        known = self._last
        if known[0] is not entries:
            known = self._last = (entries, _by_policy(entries))
        return known[1].get(policy, _NO_ENTRIES)


_NO_ENTRIES: dict[str, Entry] = {}


def _by_policy(entries: Mapping[str, Entry | None]) -> dict[str, dict[str, Entry]]:
    found: dict[str, dict[str, Entry]] = {}
    for hash_, entry in sorted(entries.items(), key=itemgetter(0)):
        if entry is not None:
            found.setdefault(entry.policy, {})[hash_] = entry
    return found


class PolicyStanding(NamedTuple):
    """The state of a policy, if any; its case, the entry of the case, and the entries to close."""

    state: PolicyState | None = None
    case: Case = NO_CASE
    entry: Entry | None = None
    closing: tuple[Closing, ...] = ()


_IDLE = PolicyStanding()


def state_of(policy: WrittenPolicy, case: Case, entry: Entry | None) -> PolicyState | None:
    """Return the state of a policy; None if its entry shows that nothing is open."""
    if entry is not None and _was_answered(policy, case, entry):
        return PolicyState.ANSWERED
    if entry is not None and policy.action is not None and entry.interrupted:
        return PolicyState.INTERRUPTED  # even if the files changed since
    settled = entry is not None and entry.digest == case.digest
    if entry is not None and settled and entry.status not in OPEN_STATUSES:
        return None
    runs = policy.action is not None
    failed = entry is not None and settled and entry.status is EntryStatus.FAILED
    if runs and failed:
        return PolicyState.FAILED  # even if the command deleted files or made the missing ones
    nothing_to_run = runs and not case.existing
    return PolicyState.SATISFIED if case.is_satisfied or nothing_to_run else PolicyState.VIOLATED


def _was_answered(policy: WrittenPolicy, case: Case, entry: Entry) -> bool:
    """Return whether the agent gave a promise and only commands of this stop changed files since.

    The agent must not be asked again because of these changes (DW-A25, DW-A47).
    """
    is_prompt = policy.action is None and not case.is_satisfied
    answered = entry.status is EntryStatus.PASSED and entry.stood_before
    return is_prompt and answered and entry.digest != case.digest


class Judge:
    """Evaluates one policy; keeps what it found in the newest changes."""

    def __init__(self, policy: WrittenPolicy, sieve: Sieve, entries: OpenEntries) -> None:
        self.policy = policy
        self.needs = NEEDS[policy.compare_to]
        self._sieve = sieve
        self._entries = entries
        self._correspondence = Correspondence(policy)
        self._case: tuple[object, Case] = (None, NO_CASE)
        self._standing: tuple[object, PolicyStanding] = (None, _IDLE)

    def standing(self, view: View) -> PolicyStanding:
        """Return the state of the policy at a stop. All its rules ask, so the result is kept."""
        facts, known = view.event.facts, self._standing
        if known[0] is not facts:
            known = self._standing = (facts, self._stands(view))
        return known[1]

    def is_idle(self, view: View) -> bool:
        """Return whether the policy is in no state, so that none of its rules can match."""
        return self.standing(view).state is None

    def _stands(self, view: View) -> PolicyStanding:
        case = self.case(view)
        closing = tuple(self._outdated(view, case))
        for became, tried in self._tried_now(view):
            return PolicyStanding(became, case, tried, closing)
        if not case.hash:
            return PolicyStanding(PolicyState.GONE, closing=closing) if closing else _IDLE
        entry = view.fact(Need(NeedName.ENTRIES, case.hash))
        assert entry is None or isinstance(entry, Entry)
        state = state_of(self.policy, case, entry) or (PolicyState.GONE if closing else None)
        return PolicyStanding(state, case, entry, closing)

    def _tried_now(self, view: View) -> Iterator[tuple[PolicyState, Entry]]:
        """Yield commands that failed in this stop, even if their files changed since (DW-A46)."""
        for entry in self.open_entries(view).values() if self.policy.action else ():
            if entry.tried_now and entry.status is EntryStatus.FAILED:
                yield PolicyState.FAILED, entry
            elif entry.tried_now and entry.result:
                yield PolicyState.NOT_RUN, entry

    def _outdated(self, view: View, case: Case) -> Iterator[Closing]:
        """Yield queued entries that no longer apply (DW-A18) or were interrupted."""
        for hash_, entry in self.open_entries(view).items():
            if entry.status is not EntryStatus.QUEUED or hash_ == case.hash:
                continue
            if entry.interrupted:
                yield Closing(hash_, EntryStatus.FAILED, OF_NOTHING, entry.shown, INTERRUPTED)
            else:
                yield Closing(hash_, EntryStatus.SKIPPED, OF_NOTHING, entry.shown, GONE)

    def case(self, view: View) -> Case:
        """Return what the policy finds in the changes of the event."""
        changes = view.fact(self.needs[0])
        assert isinstance(changes, ChangeSet)
        known = self._case
        if known[0] is not changes:
            known = self._case = (changes, self._found(changes))
        return known[1]

    def open_entries(self, view: View) -> Mapping[str, Entry]:
        """Return the open entries of the policy by hash."""
        entries = view.fact(self.needs[1])
        assert isinstance(entries, dict)
        return self._entries.of(self.policy.id, entries)

    def _found(self, changes: ChangeSet) -> Case:
        hits = self._sieve.hits(changes, self.policy.compare_to)
        finding = self._correspondence.find(hits)
        if finding is None:
            return NO_CASE
        return case_of(self.policy, finding, hits.files, changes.ref)


class StandsSo(Struct, frozen=True):
    """The check `correspondence`: match if the policy is in one particular state."""

    judge: Judge
    state: PolicyState

    def test(self, view: View) -> Match | Needs | None:
        """Return what was found if the policy is in that state."""
        state, case, entry, closing = self.judge.standing(view)
        if state is not self.state:
            return None
        # A closed entry is opened again (DW-A19), so nothing was shown for it yet.
        goes_on = entry is not None and entry.status is EntryStatus.QUEUED
        return Bound(
            case=case,
            shown=entry.shown if entry is not None and goes_on else 0,
            result=entry.result if entry is not None else "",
            closing=closing,
        ).as_match()


class IsPromised(Struct, frozen=True):
    """The check `promise`: match if the agent acknowledges the policy that it was shown."""

    judge: Judge

    def test(self, view: View) -> Match | Needs | None:
        """Return the entries that the promise closes."""
        event, policy = view.event, self.judge.policy
        if not isinstance(event, Message) or event.role is not Role.ASSISTANT:
            return None
        if not is_promised(event.text, (policy.id, policy.title)):
            return None
        case = self._case(view)
        closing = tuple(self._settled(view, case))
        return Bound(case=case, closing=closing).as_match() if closing else None

    def _case(self, view: View) -> Case:
        """Return the current case. A promise is valid even if the changes cannot be read."""
        try:
            return self.judge.case(view)
        except GuardError:
            return NO_CASE

    def _settled(self, view: View, case: Case) -> Iterator[Closing]:
        for hash_, entry in self.judge.open_entries(view).items():
            is_current = hash_ == case.hash
            digest = case.digest if is_current else entry.digest
            if entry.status is EntryStatus.FAILED:
                status, result = EntryStatus.SKIPPED, ACKNOWLEDGED
                yield Closing(hash_, status, digest, entry.shown, result, is_current)
            elif entry.status is EntryStatus.QUEUED and entry.shown:
                yield Closing(hash_, EntryStatus.PASSED, digest, entry.shown, None, is_current)
