"""The bound values of a policy rule → its steps and its reason."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.file_policies.evaluation import (
    NO_CASE,
    RESULT_NOTHING_TO_RUN,
    binding_of,
    promise_tag,
)
from bylaw.languages.file_policies.key_readers import ROOT, command_runs
from bylaw.languages.file_policies.syntax import CompareTo, fill_instructions
from bylaw.model.display import clip_text, shown_path, visible, visible_once
from bylaw.model.effects import (
    BaselineCapture,
    CommandRun,
    EntryWrite,
    EventEmit,
    Outcome,
    OutcomePart,
    PromptShow,
)
from bylaw.model.vocabulary import EntryStatus, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.file_policies.evaluation import EntryClosure, PolicyBinding, PolicyCase
    from bylaw.languages.file_policies.syntax import CommandAction, PolicySyntax
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step, Text
    from bylaw.model.rule import View
    from bylaw.model.values import JSON

EVENT_TYPE = "policy"
AS_CONFIGURED = 0  # seconds; 0 means the setting `[command] timeout_s`
MAX_REASON_FILES = 3
MAX_REASON_PATH = 120  # characters
MAX_REASON_LINE = 400


class PromptMaker(Struct, frozen=True):
    """Show the instructions with the files that they are about."""

    policy: PolicySyntax
    op: Op = Op.PROMPT_SHOW

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step with the body, filled in."""
        case, policy = binding_of(match).case, self.policy
        text = fill_instructions(policy.body, case.trigger_files, case.missing)
        shown = PromptShow(
            policy=policy.id,
            text=text,
            files=case.trigger_files,
            missing=case.missing,
            arrows=case.arrows,
            title=policy.title,
            mode=policy.mode.value,
        )
        return (shown,)


class CaptureMaker(Struct, frozen=True):
    """Capture the current state of the work tree."""

    op: Op = Op.BASELINE_CAPTURE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step. The baseline has the name that `compare_to` uses for it."""
        return (BaselineCapture(ref=CompareTo.PROMPT.value),)


class CommandMaker(Struct, frozen=True):
    """Run the command, one step for each run. Deleted files are left out (DW-A30)."""

    action: CommandAction
    op: Op = Op.COMMAND_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the runs in the order of their files."""
        return [
            CommandRun(
                argv=one.argv,
                cwd=ROOT,
                timeout_s=AS_CONFIGURED,
                check_idempotent=True,
                files=one.files,
                root_at=one.root_at,
            )
            for one in command_runs(self.action, binding_of(match).case.existing)
        ]


class EntryMaker(Struct, frozen=True):
    """Write the entry of the current case."""

    policy: PolicySyntax
    status: EntryStatus
    result: Text | None = None
    is_shown: bool = False
    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the entry with its new status."""
        bound = binding_of(match)
        shown = bound.shown + (1 if self.is_shown else 0)
        return (
            _entry(self.policy, bound.case, self.status, bound.case.digest, shown, self.result),
        )


class SkipMaker(Struct, frozen=True):
    """Write the entry as skipped, with a reason if the files alone do not show it."""

    policy: PolicySyntax
    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:
        """Return the skipped entry."""
        result = None if binding_of(match).case.is_satisfied else RESULT_NOTHING_TO_RUN
        return EntryMaker(self.policy, EntryStatus.SKIPPED, result).make(view, match)


class CloseMaker(Struct, frozen=True):
    """Close entries that a rule bound for closing."""

    policy: PolicySyntax
    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one step for each entry. Entries of earlier cases keep their lists of files."""
        bound = binding_of(match)
        return [self._closure_step(bound, one) for one in bound.closing]

    def _closure_step(self, bound: PolicyBinding, one: EntryClosure) -> EntryWrite:
        case = bound.case if one.is_current else NO_CASE
        made = _entry(self.policy, case, one.status, one.digest, one.shown, one.result)
        return replace(made, hash=one.hash)


class EmitMaker(Struct, frozen=True):
    """Emit an event for each closed entry and, with a status, for the current one."""

    policy: PolicySyntax
    status: EntryStatus | None = None
    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one event for each entry."""
        bound = binding_of(match)
        told = [
            self._event(one.hash, one.status, bound.case if one.is_current else NO_CASE)
            for one in bound.closing
        ]
        if self.status is not None:
            told.append(self._event(bound.case.hash, self.status, bound.case))
        return told

    def _event(self, hash_: str, status: EntryStatus, case: PolicyCase) -> EventEmit:
        payload: dict[str, JSON] = {
            "policy": self.policy.id,
            "hash": hash_,
            "status": status.value,
            "files": list(case.trigger_files),
            "missing": list(case.missing),
        }
        return EventEmit(type=EVENT_TYPE, payload=payload)


class PromptReason(Struct, frozen=True):
    """The reason of a policy with instructions: title, files and how to answer, on one line."""

    policy: PolicySyntax

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - signature of `ReasonMaker`
        """Return the text of the reason."""
        case = binding_of(match).case
        lines = [f"{_path(a)} → {_path(b)}" for a, b in case.arrows[:MAX_REASON_FILES]]
        lines = lines or [_path(one) for one in case.trigger_files[:MAX_REASON_FILES]]
        left = len(case.arrows or case.trigger_files) - len(lines)
        more = f" and {left} more" if left else ""
        count = len(case.trigger_files)
        files = f"{count} {'file' if count == 1 else 'files'}"
        how = f"when it is done, write {promise_tag(self.policy.id)}"
        return f"{self.policy.title} ({files}): {', '.join(lines)}{more}; {how}"


class CommandFailureReason(Struct, frozen=True):
    """The reason of a failed command: its output, and how to skip it or to run it again.

    Bylaw runs it again by itself when its files change.
    """

    policy: PolicySyntax

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - signature of `ReasonMaker`
        """Return the text of the reason."""
        first, *said = binding_of(match).result.splitlines() or ["the command gave no reason"]
        lines = [f"  {_line(one)}" for one in said if one.strip()]
        how = f"fix it, or write {promise_tag(self.policy.id)} to skip it"
        again = f"to run it again unchanged: `bylaw policies clear {quote(self.policy.id)}`"
        return "\n".join([f"{self.policy.title}: {_line(first)}", *lines, f"{how}; {again}"])


class NotRunReason(Struct, frozen=True):
    """The reason of a command that could not be started. The agent cannot skip it."""

    policy: PolicySyntax

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - signature of `ReasonMaker`
        """Return the text of the reason."""
        why = _line(binding_of(match).result)
        return f"{self.policy.title}: the command could not run and will be tried again: {why}"


class NotEvaluatedReason(Struct, frozen=True):
    """The reason of a policy that cannot be evaluated."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - signature of `ReasonMaker`
        """Return the text of the reason."""
        rule, error = (visible(str(match.values[key])) for key in ("rule", "error"))
        return f"{rule}: the policy cannot be evaluated: {error}"


FAILURE = Outcome(OutcomePart.ERROR)


def _entry(
    policy: PolicySyntax,
    case: PolicyCase,
    status: EntryStatus,
    digest: str,
    shown: int,
    result: Text | None,
) -> EntryWrite:
    return EntryWrite(
        hash=case.hash,
        status=status,
        policy=policy.id,
        baseline=case.baseline,
        trigger_files=case.trigger_files,
        expected_files=case.expected_files,
        matched_files=case.matched_files,
        digest=digest,
        shown=shown,
        command=policy.action.command if policy.action else "",
        result=result,
    )


def _line(text: str) -> str:
    return visible_once(clip_text(text, MAX_REASON_LINE))


def _path(path: str) -> str:
    return clip_text(shown_path(path), MAX_REASON_PATH)
