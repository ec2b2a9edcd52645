"""An action of a rule → the maker of its steps: what it needs is checked before anything runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.law.command_line import CommandError, read_command
from bylaw.dialects.law.filling import filled
from bylaw.dialects.law.messages import is_request
from bylaw.dialects.law.working_folder import allowed_folder
from bylaw.dialects.law.written import (
    MAX_LOCK_KEY,
    ReleaseLock,
    RequestApproval,
    RunCommand,
    TakeLock,
    WriteBus,
)
from bylaw.model.approvals import message_field
from bylaw.model.codes.law import LAW_LOCK_KEY
from bylaw.model.codes.law_actions import LAW_NOTHING_TO_RUN
from bylaw.model.effects import (
    ApprovalRequest,
    BusWrite,
    CommandRun,
    LockAcquire,
    LockRelease,
)
from bylaw.model.errors import RenderError
from bylaw.model.event import Bus
from bylaw.model.visible import brief, visible
from bylaw.model.vocabulary import Channel, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.law.templates import Template
    from bylaw.dialects.law.written import Action
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step, Text
    from bylaw.model.rule import StepMaker, View
    from bylaw.model.vocabulary import Authority

_LOCK_KEY = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_LOCK_KEY}}}")


def step_maker(action: Action, rule_id: str) -> StepMaker:
    """What the rule does when it fires."""
    match action:
        case TakeLock():
            return TakesLock(rule_id, action.key)
        case ReleaseLock():
            return ReleasesLock(rule_id, action.key)
        case RunCommand():
            return Runs(action)
        case WriteBus():
            return Tells(rule_id, action.channel, action.template)
        case RequestApproval():
            return Asks(rule_id, action.to, action.template)


def asks(view: View) -> bool:
    """Whether the message is an approval request."""
    return isinstance(view.event, Bus) and is_request(view.event.message)


def is_tried_again(view: View) -> bool:
    """Whether a message was looked at before: nobody is asked or told twice (LD-A39)."""
    return isinstance(view.event, Bus) and view.event.retry > 0


class TakesLock(Struct, frozen=True):
    """Takes a lock, or fails."""

    rule_id: str
    key: Template
    op: Op = Op.LOCK_ACQUIRE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The lock with its name."""
        return (LockAcquire(key=_key(self.key, self.rule_id, view)),)


class ReleasesLock(Struct, frozen=True):
    """Gives a lock back."""

    rule_id: str
    key: Template
    op: Op = Op.LOCK_RELEASE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The lock with its name."""
        return (LockRelease(key=_key(self.key, self.rule_id, view)),)


class Runs(Struct, frozen=True):
    """Runs the command of the rule, or those that the message brings (LD-A18)."""

    action: RunCommand
    op: Op = Op.COMMAND_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """One step a command; all are checked before the first one starts."""
        action = self.action
        commands = _brought(view) if action.of_message else [action.argv]
        cwd = allowed_folder(action.cwd, view)
        return [CommandRun(argv=argv, cwd=cwd, timeout_s=action.timeout_s) for argv in commands]


class Tells(Struct, frozen=True):
    """Writes evidence; about a request that waits, once."""

    rule_id: str
    channel: Channel
    template: Template
    op: Op = Op.BUS_WRITE

    @property
    def is_evidence(self) -> bool:
        """What lies in `processing` is no evidence of what became of a message (LD-003)."""
        return self.channel is not Channel.PROCESSING

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The evidence with its text."""
        if asks(view) and is_tried_again(view):
            return ()
        return (BusWrite(channel=self.channel, text=self._text(view)),)

    def _text(self, view: View) -> Text:
        return filled(self.template, self.rule_id, view)


class Asks(Struct, frozen=True):
    """Asks an authority, once; in an emergency whenever something is about to run (LD-075)."""

    rule_id: str
    to: Authority
    template: Template
    emergency: bool = False
    op: Op = Op.APPROVAL_REQUEST

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The request with its text; without one the rule has fired all the same."""
        if is_tried_again(view) and not self.emergency:
            return ()
        return (ApprovalRequest(to=self.to, text=filled(self.template, self.rule_id, view)),)


def _key(template: Template, rule_id: str, view: View) -> str:
    key = filled(template, rule_id, view)
    if isinstance(key, str) and _LOCK_KEY.fullmatch(key):
        return key
    shown = f"`{visible(brief(key))}`" if isinstance(key, str) else "a result"
    raise RenderError(LAW_LOCK_KEY.name, f"{shown} cannot be the name of a lock")


def _brought(view: View) -> list[tuple[str, ...]]:
    run = message_field(view.event, "run")
    if not isinstance(run, list) or not run:
        raise RenderError(LAW_NOTHING_TO_RUN.name, "the message has no `run`, which the rule runs")
    return [_split(number, command) for number, command in enumerate(map(str, run), 1)]


def _split(number: int, command: str) -> tuple[str, ...]:
    try:
        return read_command(command).argv
    except CommandError as wrong:
        reason = f"command {number} of `run`: {visible(wrong.reason)}"
        raise RenderError(wrong.code.name, reason) from wrong
