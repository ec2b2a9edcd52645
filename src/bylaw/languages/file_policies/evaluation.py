"""A policy × an event with its facts → the state of the policy, and the entries to close.

A policy asks only for facts that it needs. All policies first ask for the changes against their
baseline and the open entries of the queue. Only a policy that is triggered asks for its own entry.

The hash that names an entry does not depend on content, so files that change again keep their
entry; the digest of their content shows the difference (DW-A19). A promise is
`<promise>identifier or title</promise>` in a message of the agent (DW-A20).
"""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, convert, to_builtins

from bylaw.languages.file_policies.key_readers import named_files
from bylaw.languages.file_policies.syntax import CompareTo
from bylaw.languages.file_policies.triggers import Correspondence
from bylaw.model.decision import OPEN_ENTRIES, Match, Need, NeedName
from bylaw.model.display import file_path
from bylaw.model.errors import GuardError
from bylaw.model.event import Message
from bylaw.model.facts import ChangeSet, Entry
from bylaw.model.vocabulary import OPEN_STATUSES, EntryStatus, FileStatus, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.languages.file_policies.syntax import PolicySyntax
    from bylaw.languages.file_policies.triggers import PolicyMatch, TriggerIndex
    from bylaw.model.decision import Needs
    from bylaw.model.facts import ChangedFile
    from bylaw.model.rule import View

HASH_DIGITS = 12


def trigger_hash(policy: str, trigger_files: Iterable[str], baseline: str) -> str:
    """Return the hash of an entry. It uses Python's text of a list; others rely on it (DW-044).

    Names that are not UTF-8 are in it with surrogates, as Python has them (DW-A13).
    """
    names = sorted({file_path(path) for path in trigger_files})
    text = f"{policy}:{names}:{baseline}"
    return _hex(text)[:HASH_DIGITS]


def content_files(paths: Iterable[str], command: str = "") -> set[str]:
    """Return all files whose content the digest covers: the given ones and those of the command."""
    return {*paths, *named_files(command)} if command else set(paths)


def content_digest(paths: Iterable[str], digests: Mapping[str, str], command: str = "") -> str:
    """Return the digest of these files. A file without a digest counts as empty."""
    held = [(path, digests.get(path, "")) for path in sorted(content_files(paths, command))]
    return _hex(repr((command, held) if command else held))


def _hex(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class EntryClosure(Struct, frozen=True):
    """An entry to close: its new status, digest and result.

    `is_current` is true for the entry of the current case.
    """

    hash: str
    status: EntryStatus
    digest: str
    shown: int
    result: str | None = None
    is_current: bool = False


class PolicyCase(Struct, frozen=True, kw_only=True):
    """What a policy finds now, with the hash of its entry.

    `existing` are the trigger files that were not deleted.
    """

    hash: str = ""
    baseline: str = ""
    digest: str = ""
    trigger_files: tuple[str, ...] = ()
    expected_files: tuple[str, ...] = ()
    matched_files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    arrows: tuple[tuple[str, str], ...] = ()
    existing: tuple[str, ...] = ()
    is_satisfied: bool = False


NO_CASE = PolicyCase()


class PolicyBinding(Struct, frozen=True, kw_only=True):
    """What a rule binds: the case, the state of its entry, and the entries to close."""

    case: PolicyCase
    shown: int = 0
    result: str = ""
    closing: tuple[EntryClosure, ...] = ()

    def as_match(self) -> Match:
        """Return a match with plain values."""
        return Match(to_builtins(self))


def binding_of(match: Match) -> PolicyBinding:
    """Return what the rule bound."""
    return convert(match.values, PolicyBinding)


def case_of(
    policy: PolicySyntax, finding: PolicyMatch, files: Mapping[str, ChangedFile], baseline: str
) -> PolicyCase:
    """Return the case of a finding. `files` are the changed files by path."""
    command = policy.action.command if policy.action else ""
    paths = content_files(finding.paths, command)
    digests = {path: files[path].digest for path in paths if path in files}
    there = [p for p in finding.trigger_files if files[p].status is not FileStatus.DELETED]
    return PolicyCase(
        hash=trigger_hash(policy.id, finding.trigger_files, baseline),
        baseline=baseline,
        digest=content_digest(paths, digests, command),
        trigger_files=finding.trigger_files,
        expected_files=finding.expected_files,
        matched_files=finding.matched_files,
        missing=finding.missing,
        arrows=finding.arrows,
        existing=tuple(there),
        is_satisfied=finding.is_satisfied,
    )


_PROMISE = re.compile(r"<promise>([^<]*)</promise>", re.IGNORECASE)
_MARK = "✓"


def promises(text: str) -> frozenset[str]:
    """Return the names in all promises of a message, as `promise_name` writes them."""
    return frozenset(promise_name(found[1]) for found in _PROMISE.finditer(text)) - {""}


def promise_name(written: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(written.strip().removeprefix(_MARK).split()).casefold()


def has_promise(text: str, names: Iterable[str]) -> bool:
    """Return whether a message has a promise for one of these names."""
    return not promises(text).isdisjoint(map(promise_name, names))


def promise_tag(policy: str) -> str:
    """Return the text that the agent must write."""
    return f"<promise>{policy}</promise>"


RESULT_GONE = "no longer applies"
RESULT_ACKNOWLEDGED = "acknowledged by promise"
RESULT_INTERRUPTED = "interrupted: the command may have run only in part"
RESULT_NOTHING_TO_RUN = "nothing to run: every file was deleted"


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
NO_CONTENT_DIGEST = "-"


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


class PolicyEvaluation(NamedTuple):
    """The state of a policy, if any; its case, the entry of the case, and the entries to close."""

    state: PolicyState | None = None
    case: PolicyCase = NO_CASE
    entry: Entry | None = None
    closing: tuple[EntryClosure, ...] = ()


_IDLE = PolicyEvaluation()


def state_of(policy: PolicySyntax, case: PolicyCase, entry: Entry | None) -> PolicyState | None:
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


def _was_answered(policy: PolicySyntax, case: PolicyCase, entry: Entry) -> bool:
    """Return whether the agent gave a promise and only commands of this stop changed files since.

    The agent must not be asked again because of these changes (DW-A25, DW-A47).
    """
    is_prompt = policy.action is None and not case.is_satisfied
    answered = entry.status is EntryStatus.PASSED and entry.stood_before
    return is_prompt and answered and entry.digest != case.digest


class PolicyEvaluator:
    """Evaluates one policy; keeps what it found in the newest changes."""

    def __init__(self, policy: PolicySyntax, sieve: TriggerIndex, entries: OpenEntries) -> None:
        self.policy = policy
        self.needs = NEEDS[policy.compare_to]
        self._sieve = sieve
        self._entries = entries
        self._correspondence = Correspondence(policy)
        self._case: tuple[object, PolicyCase] = (None, NO_CASE)
        self._standing: tuple[object, PolicyEvaluation] = (None, _IDLE)

    def standing(self, view: View) -> PolicyEvaluation:
        """Return the state of the policy at a stop. All its rules ask, so the result is kept."""
        facts, known = view.event.facts, self._standing
        if known[0] is not facts:
            known = self._standing = (facts, self._evaluate(view))
        return known[1]

    def is_idle(self, view: View) -> bool:
        """Return whether the policy is in no state, so that none of its rules can match."""
        return self.standing(view).state is None

    def _evaluate(self, view: View) -> PolicyEvaluation:
        case = self.case(view)
        closing = tuple(self._outdated_closures(view, case))
        for became, tried in self._failures_now(view):
            return PolicyEvaluation(became, case, tried, closing)
        if not case.hash:
            return PolicyEvaluation(PolicyState.GONE, closing=closing) if closing else _IDLE
        entry = view.fact(Need(NeedName.ENTRIES, case.hash))
        assert entry is None or isinstance(entry, Entry)
        state = state_of(self.policy, case, entry) or (PolicyState.GONE if closing else None)
        return PolicyEvaluation(state, case, entry, closing)

    def _failures_now(self, view: View) -> Iterator[tuple[PolicyState, Entry]]:
        """Yield commands that failed in this stop, even if their files changed since (DW-A46)."""
        for entry in self.open_entries(view).values() if self.policy.action else ():
            if entry.tried_now and entry.status is EntryStatus.FAILED:
                yield PolicyState.FAILED, entry
            elif entry.tried_now and entry.result:
                yield PolicyState.NOT_RUN, entry

    def _outdated_closures(self, view: View, case: PolicyCase) -> Iterator[EntryClosure]:
        """Yield queued entries that no longer apply (DW-A18) or were interrupted."""
        for hash_, entry in self.open_entries(view).items():
            if entry.status is not EntryStatus.QUEUED or hash_ == case.hash:
                continue
            if entry.interrupted:
                yield EntryClosure(
                    hash_, EntryStatus.FAILED, NO_CONTENT_DIGEST, entry.shown, RESULT_INTERRUPTED
                )
            else:
                yield EntryClosure(
                    hash_, EntryStatus.SKIPPED, NO_CONTENT_DIGEST, entry.shown, RESULT_GONE
                )

    def case(self, view: View) -> PolicyCase:
        """Return what the policy finds in the changes of the event."""
        changes = view.fact(self.needs[0])
        assert isinstance(changes, ChangeSet)
        known = self._case
        if known[0] is not changes:
            known = self._case = (changes, self._find_case(changes))
        return known[1]

    def open_entries(self, view: View) -> Mapping[str, Entry]:
        """Return the open entries of the policy by hash."""
        entries = view.fact(self.needs[1])
        assert isinstance(entries, dict)
        return self._entries.of(self.policy.id, entries)

    def _find_case(self, changes: ChangeSet) -> PolicyCase:
        hits = self._sieve.hits(changes, self.policy.compare_to)
        finding = self._correspondence.find(hits)
        if finding is None:
            return NO_CASE
        return case_of(self.policy, finding, hits.files, changes.ref)


class StateCheck(Struct, frozen=True):
    """The check `correspondence`: match if the policy is in one particular state."""

    judge: PolicyEvaluator
    state: PolicyState

    def test(self, view: View) -> Match | Needs | None:
        """Return what was found if the policy is in that state."""
        state, case, entry, closing = self.judge.standing(view)
        if state is not self.state:
            return None
        # A closed entry is opened again (DW-A19), so nothing was shown for it yet.
        goes_on = entry is not None and entry.status is EntryStatus.QUEUED
        return PolicyBinding(
            case=case,
            shown=entry.shown if entry is not None and goes_on else 0,
            result=entry.result if entry is not None else "",
            closing=closing,
        ).as_match()


class PromiseCheck(Struct, frozen=True):
    """The check `promise`: match if the agent acknowledges the policy that it was shown."""

    judge: PolicyEvaluator

    def test(self, view: View) -> Match | Needs | None:
        """Return the entries that the promise closes."""
        event, policy = view.event, self.judge.policy
        if not isinstance(event, Message) or event.role is not Role.ASSISTANT:
            return None
        if not has_promise(event.text, (policy.id, policy.title)):
            return None
        case = self._case(view)
        closing = tuple(self._closures(view, case))
        return PolicyBinding(case=case, closing=closing).as_match() if closing else None

    def _case(self, view: View) -> PolicyCase:
        """Return the current case. A promise is valid even if the changes cannot be read."""
        try:
            return self.judge.case(view)
        except GuardError:
            return NO_CASE

    def _closures(self, view: View, case: PolicyCase) -> Iterator[EntryClosure]:
        for hash_, entry in self.judge.open_entries(view).items():
            is_current = hash_ == case.hash
            digest = case.digest if is_current else entry.digest
            if entry.status is EntryStatus.FAILED:
                status, result = EntryStatus.SKIPPED, RESULT_ACKNOWLEDGED
                yield EntryClosure(hash_, status, digest, entry.shown, result, is_current)
            elif entry.status is EntryStatus.QUEUED and entry.shown:
                yield EntryClosure(hash_, EntryStatus.PASSED, digest, entry.shown, None, is_current)
