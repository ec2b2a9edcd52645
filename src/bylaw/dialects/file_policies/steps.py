"""What a rule of a policy bound → its steps and its reason."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects.file_policies.cases import NO_CASE, bound_of
from bylaw.dialects.file_policies.commands import ROOT, runs
from bylaw.dialects.file_policies.instructions import instructions
from bylaw.dialects.file_policies.judging import NOTHING_TO_RUN
from bylaw.dialects.file_policies.promises import promise_of
from bylaw.dialects.file_policies.written import CompareTo
from bylaw.model.effects import (
    BaselineCapture,
    CommandRun,
    EntryWrite,
    EventEmit,
    Outcome,
    OutcomePart,
    PromptShow,
)
from bylaw.model.fact_paths import shown_path
from bylaw.model.visible import clipped, visible, visible_once
from bylaw.model.vocabulary import EntryStatus, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.file_policies.cases import Bound, Case, Closing
    from bylaw.dialects.file_policies.written import CommandAction, WrittenPolicy
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step, Text
    from bylaw.model.rule import View
    from bylaw.model.values import JSON

EVENT_TYPE = "policy"
AS_CONFIGURED = 0  # seconds: `[command] timeout_s` says how long a command may take
MAX_REASON_FILES = 3
MAX_REASON_PATH = 120  # characters
MAX_REASON_LINE = 400


class Shows(Struct, frozen=True):
    """Shows the instructions with the files that they are about."""

    policy: WrittenPolicy
    op: Op = Op.PROMPT_SHOW

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The filled body."""
        case, policy = bound_of(match).case, self.policy
        text = instructions(policy.body, case.trigger_files, case.missing)
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


class CapturesBaseline(Struct, frozen=True):
    """Remembers what the work tree is now."""

    op: Op = Op.BASELINE_CAPTURE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """Under the name that `compare_to` has for it."""
        return (BaselineCapture(ref=CompareTo.PROMPT.value),)


class Runs(Struct, frozen=True):
    """Runs the command, one step a run; deleted files have none (DW-A30)."""

    action: CommandAction
    op: Op = Op.COMMAND_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The runs in the order of their files."""
        return [
            CommandRun(
                argv=one.argv,
                cwd=ROOT,
                timeout_s=AS_CONFIGURED,
                check_idempotent=True,
                files=one.files,
                root_at=one.root_at,
            )
            for one in runs(self.action, bound_of(match).case.existing)
        ]


class WritesEntry(Struct, frozen=True):
    """Writes the entry of what was found."""

    policy: WrittenPolicy
    status: EntryStatus
    result: Text | None = None
    is_shown: bool = False
    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The entry in its new state."""
        bound = bound_of(match)
        shown = bound.shown + (1 if self.is_shown else 0)
        return (
            _entry(self.policy, bound.case, self.status, bound.case.digest, shown, self.result),
        )


class Skips(Struct, frozen=True):
    """Writes that nothing has to be done, and why if that cannot be seen from the files."""

    policy: WrittenPolicy
    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:
        """The skipped entry."""
        result = None if bound_of(match).case.is_satisfied else NOTHING_TO_RUN
        return WritesEntry(self.policy, EntryStatus.SKIPPED, result).make(view, match)


class Closes(Struct, frozen=True):
    """Finishes entries that wait for nothing any more."""

    policy: WrittenPolicy
    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """One step an entry; one that is not about the files of now keeps its lists."""
        bound = bound_of(match)
        return [self._closed(bound, one) for one in bound.closing]

    def _closed(self, bound: Bound, one: Closing) -> EntryWrite:
        case = bound.case if one.is_current else NO_CASE
        made = _entry(self.policy, case, one.status, one.digest, one.shown, one.result)
        return replace(made, hash=one.hash)


class Emits(Struct, frozen=True):
    """Tells what became of each entry; without a status only of those that are finished."""

    policy: WrittenPolicy
    status: EntryStatus | None = None
    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """One event an entry."""
        bound = bound_of(match)
        told = [
            self._event(one.hash, one.status, bound.case if one.is_current else NO_CASE)
            for one in bound.closing
        ]
        if self.status is not None:
            told.append(self._event(bound.case.hash, self.status, bound.case))
        return told

    def _event(self, hash_: str, status: EntryStatus, case: Case) -> EventEmit:
        payload: dict[str, JSON] = {
            "policy": self.policy.id,
            "hash": hash_,
            "status": status.value,
            "files": list(case.trigger_files),
            "missing": list(case.missing),
        }
        return EventEmit(type=EVENT_TYPE, payload=payload)


class AsksForIt(Struct, frozen=True):
    """The reason of a prompt policy: title, files, and how to answer, on one line."""

    policy: WrittenPolicy

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The finished text."""
        case = bound_of(match).case
        lines = [f"{_path(a)} → {_path(b)}" for a, b in case.arrows[:MAX_REASON_FILES]]
        lines = lines or [_path(one) for one in case.trigger_files[:MAX_REASON_FILES]]
        left = len(case.arrows or case.trigger_files) - len(lines)
        more = f" and {left} more" if left else ""
        count = len(case.trigger_files)
        files = f"{count} {'file' if count == 1 else 'files'}"
        how = f"when it is done, say {promise_of(self.policy.id)}"
        return f"{self.policy.title} ({files}): {', '.join(lines)}{more}; {how}"


class TellsFailure(Struct, frozen=True):
    """The reason of a command that failed: which, what it said, how to skip it or to try it again.

    When its files change, it is tried again by itself.
    """

    policy: WrittenPolicy

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The finished text."""
        first, *said = bound_of(match).result.splitlines() or ["its command did not say why"]
        lines = [f"  {_line(one)}" for one in said if one.strip()]
        how = f"mend it, or say {promise_of(self.policy.id)} to skip it"
        again = f"`bylaw policies clear {quote(self.policy.id)}` lets it run again as it is"
        return "\n".join([f"{self.policy.title}: {_line(first)}", *lines, f"{how}; {again}"])


class TellsNotRun(Struct, frozen=True):
    """The reason of a command that could not even be run: nothing that an agent says helps."""

    policy: WrittenPolicy

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The finished text."""
        why = _line(bound_of(match).result)
        return f"{self.policy.title}: its command could not be run, and is tried again: {why}"


class TellsUnknown(Struct, frozen=True):
    """The reason of a policy that cannot be judged."""

    def make(self, view: View, match: Match) -> str:  # noqa: ARG002 - the names of ReasonMaker
        """The finished text."""
        rule, error = (visible(str(match.values[key])) for key in ("rule", "error"))
        return f"{rule}: it cannot be told whether it holds: {error}"


FAILURE = Outcome(OutcomePart.ERROR)


def _entry(
    policy: WrittenPolicy,
    case: Case,
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
    return visible_once(clipped(text, MAX_REASON_LINE))


def _path(path: str) -> str:
    return clipped(shown_path(path), MAX_REASON_PATH)
