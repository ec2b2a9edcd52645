"""A policy as written → adjacent rules with the same uid, one for each state.

At a stop, commands run in the first round. Failures and instructions are shown in the last round,
when the files are as the commands left them (DW-A47). A promise takes effect at its message.

One more rule skips the open entries of policies that are removed or disabled: their own rules do
not exist or are not evaluated. A policy whose file does not load still counts as existing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, convert, to_builtins

from bylaw.languages.base import Launch, LaunchKind, LoadResult, VisitOrder
from bylaw.languages.file_policies.evaluation import (
    NO_CONTENT_DIGEST,
    RESULT_INTERRUPTED,
    OpenEntries,
    PolicyEvaluator,
    PolicyState,
    PromiseCheck,
    StateCheck,
    promise_name,
)
from bylaw.languages.file_policies.key_readers import script_of
from bylaw.languages.file_policies.reader import first_line, policy_id, read_with_note
from bylaw.languages.file_policies.steps import (
    EVENT_TYPE,
    FAILURE,
    CaptureMaker,
    CloseMaker,
    CommandFailureReason,
    CommandMaker,
    EmitMaker,
    EntryMaker,
    NotEvaluatedReason,
    NotRunReason,
    PromptMaker,
    PromptReason,
    SkipMaker,
)
from bylaw.languages.file_policies.syntax import (
    ABANDONED,
    COMMAND_RANK,
    GROUP,
    NAME,
    PROMPT_RANK,
    CompareTo,
)
from bylaw.languages.file_policies.triggers import TriggerIndex
from bylaw.model.codes.policies import POLICY_DUPLICATE_ID, POLICY_SAME_TITLE
from bylaw.model.decision import OPEN_ENTRIES, Match, Need, NeedName, OnFailure
from bylaw.model.diagnostic import error, warning
from bylaw.model.effects import EntryWrite, EventEmit
from bylaw.model.facts import Entry
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import (
    BUILT_IN,
    Origin,
    PlanForm,
    Rounds,
    Rule,
    RuleVerdict,
    Trigger,
    built_in_uid,
    uid_of,
)
from bylaw.model.vocabulary import OPEN_STATUSES, EntryStatus, Kind, Op, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.languages.base import RuleFile
    from bylaw.languages.file_policies.syntax import CommandAction, PolicySyntax
    from bylaw.model.decision import Needs
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.effects import Step
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Guard, StepMaker, View

    Policies = Sequence[tuple[PolicySyntax, RuleFile]]


RESULT_REMOVED = "the policy was removed"
RESULT_DISABLED = "the policy is disabled"
ABANDONED_NEEDS = (Need(NeedName.ENTRIES, OPEN_ENTRIES),)


class AbandonedEntry(Struct, frozen=True):
    """An open entry whose policy cannot close it, and why."""

    hash: str
    policy: str
    shown: int
    why: str


class _AbandonedBinding(Struct, frozen=True):
    entries: tuple[AbandonedEntry, ...]


class AbandonedCheck(Struct, frozen=True):
    """Match if entries are open that belong to none of these policies, or to a disabled one.

    `policies` are the uids by identifier.
    """

    policies: Mapping[str, str]

    def test(self, view: View) -> Match | Needs | None:
        """Return the entries in the order of their hashes."""
        entries = view.fact(ABANDONED_NEEDS[0])
        assert isinstance(entries, dict)
        off = frozenset(view.event.facts.disabled or ())
        found = tuple(
            AbandonedEntry(hash_, entry.policy, entry.shown, why)
            for hash_, entry in sorted(entries.items())
            if isinstance(entry, Entry) and entry.status in OPEN_STATUSES
            if (why := self._why(entry.policy, off))
        )
        return Match(to_builtins(_AbandonedBinding(found))) if found else None

    def _why(self, policy: str, off: frozenset[str]) -> str:
        if policy not in self.policies:
            return RESULT_REMOVED
        return RESULT_DISABLED if self.policies[policy] in off else ""


class AbandonedSkipMaker(Struct, frozen=True):
    """Write each of the entries as skipped."""

    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one step for each entry. The entry keeps its lists of files."""
        return [
            EntryWrite(
                hash=one.hash,
                status=EntryStatus.SKIPPED,
                policy=one.policy,
                baseline="",
                digest=NO_CONTENT_DIGEST,
                shown=one.shown,
                result=one.why,
            )
            for one in _abandoned_entries(match)
        ]


class AbandonedEmitMaker(Struct, frozen=True):
    """Emit the event of each entry, as for all other entries."""

    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one event for each entry."""
        return [
            EventEmit(
                type=EVENT_TYPE,
                payload={
                    "policy": one.policy,
                    "hash": one.hash,
                    "status": EntryStatus.SKIPPED.value,
                    "files": [],
                    "missing": [],
                },
            )
            for one in _abandoned_entries(match)
        ]


def _abandoned_entries(match: Match) -> tuple[AbandonedEntry, ...]:
    return convert(match.values, _AbandonedBinding).entries


PROCEDURE = Procedure(
    order=(SortKey.RANK, SortKey.ID),
    flow=Flow.ALL,
    # A policy that cannot be evaluated denies as well; the host releases the stop after a while.
    guard_error=GuardFault.SKIP_WITH_NOTE,
    failed_step=StepFault.MARK_ENTRY,
    fault_reason=NotEvaluatedReason(),
)
_LAST_ROUND = Trigger(kinds=(Kind.AGENT_STOP,), rounds=Rounds.LAST)
_FIRST_ROUND = Trigger(kinds=(Kind.AGENT_STOP,), rounds=Rounds.FIRST)
_ON_MESSAGE = Trigger(kinds=(Kind.MESSAGE,))
# DW-123: capture the work tree at each prompt, for policies that compare to it.
_CAPTURE_RULE = Rule(
    uid=built_in_uid(NAME, "baseline"),
    id="baseline",
    origin=Origin(BUILT_IN, 1, 1, ""),
    on=Trigger(kinds=(Kind.PROMPT,), main_agent=True),
    plan=PlanForm(steps=(CaptureMaker(),)),
    free=True,
    core=True,
)


def lower_policies(
    policies: Sequence[tuple[PolicySyntax, RuleFile]], others: Sequence[Rule] = ()
) -> Group:
    """Return the rules of all policies of a book, and `others`.

    All policies share one index of patterns and one list of open entries.
    """
    sieve, entries = TriggerIndex(policy for policy, _ in policies), OpenEntries()
    rules = [
        rule
        for policy, file in policies
        for rule in _Lowerer(policy, file, PolicyEvaluator(policy, sieve, entries)).rules()
    ]
    if any(policy.compare_to is CompareTo.PROMPT for policy, _ in policies):
        rules.append(_CAPTURE_RULE)
    return Group(GROUP, VisitOrder.FILE_POLICIES, PROCEDURE, (*rules, *others))


def abandoned_rule(files: Sequence[RuleFile]) -> Rule:
    """Return the rule that skips entries of policies that are not in these files, or disabled."""
    known = {(name := policy_id(file.path)): uid_of(NAME, file.path, name) for file in files}
    return Rule(
        uid=ABANDONED,
        id="abandoned",
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=_LAST_ROUND,
        needs=ABANDONED_NEEDS,
        guard=AbandonedCheck(known),
        plan=PlanForm(steps=(AbandonedSkipMaker(), AbandonedEmitMaker())),
        free=True,
        core=True,
    )


class _Lowerer:
    """Makes the rules of one policy."""

    def __init__(self, policy: PolicySyntax, file: RuleFile, judge: PolicyEvaluator) -> None:
        self.policy = policy
        self.judge = judge
        # All rules of the policy share these: a repository may have hundreds of policies.
        self._uid = uid_of(NAME, file.path, policy.id)
        self._origin = Origin(file.path, 1, 1, file.digest, policy.last_line)
        self._about = _about(policy)
        self._closes = CloseMaker(policy)

    def rules(self) -> Iterator[Rule]:
        if self.policy.action is None:
            yield self._violated_rule()
            yield self._answered_rule()
        else:
            yield self._run_rule(self.policy.action)
            yield self._interrupted_rule()
            yield self._failed_rule()
            yield self._not_run_rule()
        yield self._satisfied_rule()
        yield self._gone_rule()
        yield self._promise_rule()

    def _violated_rule(self) -> Rule:
        queued = EntryMaker(self.policy, EntryStatus.QUEUED, is_shown=True)
        steps = (
            self._closes,
            PromptMaker(self.policy),
            queued,
            EmitMaker(self.policy, EntryStatus.QUEUED),
        )
        reason = PromptReason(self.policy)
        return self._state_rule(
            PolicyState.VIOLATED, _LAST_ROUND, steps, RuleVerdict(Verdict.DENY, reason)
        )

    def _answered_rule(self) -> Rule:
        """A promise covers the files as commands of the same stop left them."""
        passed = EntryMaker(self.policy, EntryStatus.PASSED)
        steps = (self._closes, passed, EmitMaker(self.policy, EntryStatus.PASSED))
        return self._state_rule(PolicyState.ANSWERED, _LAST_ROUND, steps)

    def _run_rule(self, action: CommandAction) -> Rule:
        """The entry is written before anything runs; its result is written at the end."""
        plan = PlanForm(
            steps=(
                self._closes,
                EntryMaker(self.policy, EntryStatus.QUEUED),
                CommandMaker(action),
                EntryMaker(self.policy, EntryStatus.PASSED, FAILURE),
                EmitMaker(self.policy, EntryStatus.PASSED),
            ),
            on_failure=OnFailure.MARK_ENTRY,
            on_error=(EmitMaker(self.policy, EntryStatus.FAILED),),
            again=True,
        )
        return self._rule(_FIRST_ROUND, StateCheck(self.judge, PolicyState.VIOLATED), plan)

    def _interrupted_rule(self) -> Rule:
        """An entry of a process that died is marked failed, and then reported as failed."""
        failed = EntryMaker(self.policy, EntryStatus.FAILED, RESULT_INTERRUPTED)
        steps = (self._closes, failed, EmitMaker(self.policy, EntryStatus.FAILED))
        plan = PlanForm(steps=steps, again=True)
        return self._rule(_FIRST_ROUND, StateCheck(self.judge, PolicyState.INTERRUPTED), plan)

    def _failed_rule(self) -> Rule:
        steps = (self._closes, EmitMaker(self.policy))
        reason = CommandFailureReason(self.policy)
        return self._state_rule(
            PolicyState.FAILED, _LAST_ROUND, steps, RuleVerdict(Verdict.DENY, reason)
        )

    def _not_run_rule(self) -> Rule:
        """The entry stays queued, so the next stop tries it again."""
        steps = (self._closes, EmitMaker(self.policy))
        reason = NotRunReason(self.policy)
        return self._state_rule(
            PolicyState.NOT_RUN, _LAST_ROUND, steps, RuleVerdict(Verdict.DENY, reason)
        )

    def _satisfied_rule(self) -> Rule:
        steps = (self._closes, SkipMaker(self.policy), EmitMaker(self.policy, EntryStatus.SKIPPED))
        return self._state_rule(PolicyState.SATISFIED, _LAST_ROUND, steps)

    def _gone_rule(self) -> Rule:
        return self._state_rule(
            PolicyState.GONE, _LAST_ROUND, (self._closes, EmitMaker(self.policy))
        )

    def _promise_rule(self) -> Rule:
        plan = PlanForm(steps=(self._closes, EmitMaker(self.policy)))
        return self._rule(_ON_MESSAGE, PromiseCheck(self.judge), plan)

    def _state_rule(
        self,
        state: PolicyState,
        on: Trigger,
        steps: tuple[StepMaker, ...],
        judgement: RuleVerdict | None = None,
    ) -> Rule:
        return self._rule(on, StateCheck(self.judge, state), PlanForm(steps=steps), judgement)

    def _rule(
        self, on: Trigger, guard: Guard, plan: PlanForm, judgement: RuleVerdict | None = None
    ) -> Rule:
        policy = self.policy
        return Rule(
            uid=self._uid,
            id=policy.id,
            origin=self._origin,
            on=on,
            needs=() if on is _ON_MESSAGE else self.judge.needs,
            guard=guard,
            siblings=None if on is _ON_MESSAGE else self.judge,
            judgement=judgement,
            plan=plan,
            rank=PROMPT_RANK if policy.action is None else COMMAND_RANK,
            about=self._about,
        )


def _about(policy: PolicySyntax) -> dict[str, str]:
    return {
        "title": policy.title,
        "mode": policy.mode.value,
        "compare_to": policy.compare_to.value,
    }


def starts(book: Book) -> Sequence[Launch]:
    """Return the commands of all policies."""
    found = [
        Launch(LaunchKind.PROGRAM, maker.action.command, rule.uid, script_of(maker.action.words))
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, CommandMaker)
    ]
    return list(dict.fromkeys(found))


def duplicate_ids(policies: Policies) -> list[Diagnostic]:
    """Return an error for each file that has the same name as another file."""
    by_id: dict[str, list[RuleFile]] = {}
    for policy, file in policies:
        by_id.setdefault(policy.id, []).append(file)
    return [
        error(
            POLICY_DUPLICATE_ID,
            f"duplicate policy identifier `{identifier}`: `{_other(files, file).path}` has it too",
            file.source,
            first_line(file.source),
            help="rename one of the two files",
        )
        for identifier, files in by_id.items()
        for file in files
        if len(files) > 1
    ]


def same_titles(policies: Policies) -> list[Diagnostic]:
    """Return a warning for each policy that shares a promise name with an earlier one."""
    return list(_same_titles(policies))


def _same_titles(policies: Policies) -> Iterator[Diagnostic]:
    taken: dict[str, str] = {}
    for policy, file in policies:
        names = {promise_name(policy.id), promise_name(policy.title)}
        other = next((taken[one] for one in sorted(names) if one in taken), "")
        if other:
            headline = f"a promise for `{policy.title}` also acknowledges the policy `{other}`"
            help_ = "give each policy a different `name`"
            span = first_line(file.source)
            yield warning(POLICY_SAME_TITLE, headline, file.source, span, help=help_)
        for one in names:
            taken.setdefault(one, policy.id)


def _other(files: Sequence[RuleFile], file: RuleFile) -> RuleFile:
    return next(one for one in files if one is not file)


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the policies of all files; an error in one file does not affect the others.

    The built-in file has no policy. It adds the rule about removed and disabled policies.
    """
    written = [file for file in files if file.path != BUILT_IN]
    others = [abandoned_rule(written)] if len(written) < len(files) else []
    read = [(file, read_with_note(file.source, file.known)) for file in written]
    sound = [(one.policy, file) for file, one in read if one.policy is not None]
    duplicates = duplicate_ids(sound)
    refused = {id(one.source) for one in duplicates}
    in_force = [(policy, file) for policy, file in sound if id(file.source) not in refused]
    findings = [finding for _, one in read for finding in one.findings]
    return LoadResult(
        groups=(lower_policies(in_force, others),),
        diagnostics=(*findings, *duplicates, *same_titles(in_force)),
        notes={file.digest: one.note for file, one in read if one.note},
    )
