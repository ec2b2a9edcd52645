"""An action of a rule → the maker of its steps. All checks are made before anything runs."""

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
    """Return the step maker of an action."""
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
    """Return whether the message is an approval request."""
    return isinstance(view.event, Bus) and is_request(view.event.message)


def is_tried_again(view: View) -> bool:
    """Return whether a message was handled before; then no request is repeated (LD-A39)."""
    return isinstance(view.event, Bus) and view.event.retry > 0


class TakesLock(Struct, frozen=True):
    """Take a lock, or fail."""

    rule_id: str
    key: Template
    op: Op = Op.LOCK_ACQUIRE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step with the name of the lock."""
        return (LockAcquire(key=_key(self.key, self.rule_id, view)),)


class ReleasesLock(Struct, frozen=True):
    """Release a lock."""

    rule_id: str
    key: Template
    op: Op = Op.LOCK_RELEASE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step with the name of the lock."""
        return (LockRelease(key=_key(self.key, self.rule_id, view)),)


class Runs(Struct, frozen=True):
    """Run the command of the rule, or the commands in `run` of the message (LD-A18)."""

    action: RunCommand
    op: Op = Op.COMMAND_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one step for each command; all are checked before the first one starts."""
        action = self.action
        commands = _brought(view) if action.of_message else [action.argv]
        cwd = allowed_folder(action.cwd, view)
        return [CommandRun(argv=argv, cwd=cwd, timeout_s=action.timeout_s) for argv in commands]


class Tells(Struct, frozen=True):
    """Write evidence; for an open approval request only once."""

    rule_id: str
    channel: Channel
    template: Template
    op: Op = Op.BUS_WRITE

    @property
    def is_evidence(self) -> bool:
        """Return False for `processing`: files there do not say how a message ended (LD-003)."""
        return self.channel is not Channel.PROCESSING

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the evidence with its text."""
        if asks(view) and is_tried_again(view):
            return ()
        return (BusWrite(channel=self.channel, text=self._text(view)),)

    def _text(self, view: View) -> Text:
        return filled(self.template, self.rule_id, view)


class Asks(Struct, frozen=True):
    """Request approval from an authority, once; in an emergency before each run (LD-075)."""

    rule_id: str
    to: Authority
    template: Template
    emergency: bool = False
    op: Op = Op.APPROVAL_REQUEST

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the request with its text, or nothing; the rule has fired in both cases."""
        if is_tried_again(view) and not self.emergency:
            return ()
        return (ApprovalRequest(to=self.to, text=filled(self.template, self.rule_id, view)),)


def _key(template: Template, rule_id: str, view: View) -> str:
    key = filled(template, rule_id, view)
    if isinstance(key, str) and _LOCK_KEY.fullmatch(key):
        return key
    shown = f"`{visible(brief(key))}`" if isinstance(key, str) else "a result"
    raise RenderError(LAW_LOCK_KEY.name, f"invalid lock name: {shown}")


def _brought(view: View) -> list[tuple[str, ...]]:
    run = message_field(view.event, "run")
    if not isinstance(run, list) or not run:
        raise RenderError(LAW_NOTHING_TO_RUN.name, "the message has no `run`, so nothing can run")
    return [_split(number, command) for number, command in enumerate(map(str, run), 1)]


def _split(number: int, command: str) -> tuple[str, ...]:
    try:
        return read_command(command).argv
    except CommandError as wrong:
        reason = f"command {number} of `run`: {visible(wrong.reason)}"
        raise RenderError(wrong.code.name, reason) from wrong
