"""A policy as written → adjacent rules with the same uid, one for each state.

At a stop, commands run in the first round. Failures and instructions are shown in the last round,
when the files are as the commands left them (DW-A47). A promise takes effect at its message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Visit
from bylaw.dialects.file_policies import abandoned
from bylaw.dialects.file_policies.judging import (
    INTERRUPTED,
    IsPromised,
    Judge,
    OpenEntries,
    PolicyState,
    StandsSo,
)
from bylaw.dialects.file_policies.names import ABANDONED, COMMAND_RANK, GROUP, NAME, PROMPT_RANK
from bylaw.dialects.file_policies.reader import policy_id
from bylaw.dialects.file_policies.sieve import Sieve
from bylaw.dialects.file_policies.steps import (
    FAILURE,
    AsksForIt,
    CapturesBaseline,
    Closes,
    Emits,
    Runs,
    Shows,
    Skips,
    TellsFailure,
    TellsNotRun,
    TellsUnknown,
    WritesEntry,
)
from bylaw.dialects.file_policies.written import CompareTo
from bylaw.model.decision import OnFailure
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Judgement, Origin, PlanForm, Rounds, Rule, Trigger
from bylaw.model.uid import BUILT_IN, built_in_uid, uid_of
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import EntryStatus, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.file_policies.written import CommandAction, WrittenPolicy
    from bylaw.model.rule import Guard, StepMaker

PROCEDURE = Procedure(
    order=(SortKey.RANK, SortKey.ID),
    flow=Flow.ALL,
    # A policy that cannot be evaluated denies as well; the host releases the stop after a while.
    guard_error=GuardFault.SKIP_WITH_NOTE,
    failed_step=StepFault.MARK_ENTRY,
    fault_reason=TellsUnknown(),
)
_LAST = Trigger(kinds=(Kind.AGENT_STOP,), rounds=Rounds.LAST)
_FIRST = Trigger(kinds=(Kind.AGENT_STOP,), rounds=Rounds.FIRST)
_SAID = Trigger(kinds=(Kind.MESSAGE,))
# DW-123: capture the work tree at each prompt, for policies that compare to it.
_CAPTURES = Rule(
    uid=built_in_uid(NAME, "baseline"),
    id="baseline",
    origin=Origin(BUILT_IN, 1, 1, ""),
    on=Trigger(kinds=(Kind.PROMPT,), main_agent=True),
    plan=PlanForm(steps=(CapturesBaseline(),)),
    free=True,
    core=True,
)


def lowered(
    policies: Sequence[tuple[WrittenPolicy, RuleFile]], others: Sequence[Rule] = ()
) -> Group:
    """Return the rules of all policies of a book, and `others`.

    All policies share one index of patterns and one list of open entries.
    """
    sieve, entries = Sieve(policy for policy, _ in policies), OpenEntries()
    rules = [
        rule
        for policy, file in policies
        for rule in _Lowering(policy, file, Judge(policy, sieve, entries)).rules()
    ]
    if any(policy.compare_to is CompareTo.PROMPT for policy, _ in policies):
        rules.append(_CAPTURES)
    return Group(GROUP, Visit.FILE_POLICIES, PROCEDURE, (*rules, *others))


def skips_abandoned(files: Sequence[RuleFile]) -> Rule:
    """Return the rule that skips entries of policies that are not in these files, or disabled."""
    known = {(name := policy_id(file.path)): uid_of(NAME, file.path, name) for file in files}
    return Rule(
        uid=ABANDONED,
        id="abandoned",
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=_LAST,
        needs=abandoned.NEEDS,
        guard=abandoned.IsAbandoned(known),
        plan=PlanForm(steps=(abandoned.SkipsAbandoned(), abandoned.EmitsAbandoned())),
        free=True,
        core=True,
    )


class _Lowering:
    """Makes the rules of one policy."""

    def __init__(self, policy: WrittenPolicy, file: RuleFile, judge: Judge) -> None:
        self.policy = policy
        self.judge = judge
        # All rules of the policy share these: a repository may have hundreds of policies.
        self._uid = uid_of(NAME, file.path, policy.id)
        self._origin = Origin(file.path, 1, 1, file.digest, policy.last_line)
        self._about = _about(policy)
        self._closes = Closes(policy)

    def rules(self) -> Iterator[Rule]:
        if self.policy.action is None:
            yield self._shown()
            yield self._answered()
        else:
            yield self._run(self.policy.action)
            yield self._interrupted()
            yield self._failed()
            yield self._not_run()
        yield self._satisfied()
        yield self._gone()
        yield self._promised()

    def _shown(self) -> Rule:
        queued = WritesEntry(self.policy, EntryStatus.QUEUED, is_shown=True)
        steps = (
            self._closes,
            Shows(self.policy),
            queued,
            Emits(self.policy, EntryStatus.QUEUED),
        )
        reason = AsksForIt(self.policy)
        return self._stands(PolicyState.VIOLATED, _LAST, steps, Judgement(Verdict.DENY, reason))

    def _answered(self) -> Rule:
        """A promise covers the files as commands of the same stop left them."""
        passed = WritesEntry(self.policy, EntryStatus.PASSED)
        steps = (self._closes, passed, Emits(self.policy, EntryStatus.PASSED))
        return self._stands(PolicyState.ANSWERED, _LAST, steps)

    def _run(self, action: CommandAction) -> Rule:
        """The entry is written before anything runs; its result is written at the end."""
        plan = PlanForm(
            steps=(
                self._closes,
                WritesEntry(self.policy, EntryStatus.QUEUED),
                Runs(action),
                WritesEntry(self.policy, EntryStatus.PASSED, FAILURE),
                Emits(self.policy, EntryStatus.PASSED),
            ),
            on_failure=OnFailure.MARK_ENTRY,
            on_error=(Emits(self.policy, EntryStatus.FAILED),),
            again=True,
        )
        return self._rule(_FIRST, StandsSo(self.judge, PolicyState.VIOLATED), plan)

    def _interrupted(self) -> Rule:
        """An entry of a process that died is marked failed, and then reported as failed."""
        failed = WritesEntry(self.policy, EntryStatus.FAILED, INTERRUPTED)
        steps = (self._closes, failed, Emits(self.policy, EntryStatus.FAILED))
        plan = PlanForm(steps=steps, again=True)
        return self._rule(_FIRST, StandsSo(self.judge, PolicyState.INTERRUPTED), plan)

    def _failed(self) -> Rule:
        steps = (self._closes, Emits(self.policy))
        reason = TellsFailure(self.policy)
        return self._stands(PolicyState.FAILED, _LAST, steps, Judgement(Verdict.DENY, reason))

    def _not_run(self) -> Rule:
        """The entry stays queued, so the next stop tries it again."""
        steps = (self._closes, Emits(self.policy))
        reason = TellsNotRun(self.policy)
        return self._stands(PolicyState.NOT_RUN, _LAST, steps, Judgement(Verdict.DENY, reason))

    def _satisfied(self) -> Rule:
        steps = (self._closes, Skips(self.policy), Emits(self.policy, EntryStatus.SKIPPED))
        return self._stands(PolicyState.SATISFIED, _LAST, steps)

    def _gone(self) -> Rule:
        return self._stands(PolicyState.GONE, _LAST, (self._closes, Emits(self.policy)))

    def _promised(self) -> Rule:
        plan = PlanForm(steps=(self._closes, Emits(self.policy)))
        return self._rule(_SAID, IsPromised(self.judge), plan)

    def _stands(
        self,
        state: PolicyState,
        on: Trigger,
        steps: tuple[StepMaker, ...],
        judgement: Judgement | None = None,
    ) -> Rule:
        return self._rule(on, StandsSo(self.judge, state), PlanForm(steps=steps), judgement)

    def _rule(
        self, on: Trigger, guard: Guard, plan: PlanForm, judgement: Judgement | None = None
    ) -> Rule:
        policy = self.policy
        return Rule(
            uid=self._uid,
            id=policy.id,
            origin=self._origin,
            on=on,
            needs=() if on is _SAID else self.judge.needs,
            guard=guard,
            siblings=None if on is _SAID else self.judge,
            judgement=judgement,
            plan=plan,
            rank=PROMPT_RANK if policy.action is None else COMMAND_RANK,
            about=self._about,
        )


def _about(policy: WrittenPolicy) -> dict[str, str]:
    return {
        "title": policy.title,
        "mode": policy.mode.value,
        "compare_to": policy.compare_to.value,
    }
