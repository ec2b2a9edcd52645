"""An action of a rule → the maker of its steps. All checks are made before anything runs.

Values inserted into a template are not parsed again (LD-A20). The `cwd` of a command must be
inside an allowed folder (LD-099). Only the text of the paths is compared here; links are resolved
before the command starts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from bylaw.languages.law.action_reader import CommandError, read_command
from bylaw.languages.law.messages import is_request
from bylaw.languages.law.syntax import (
    MAX_LOCK_KEY,
    Field,
    FieldReference,
    ReleaseLock,
    RequestApproval,
    RunCommand,
    TakeLock,
    WriteBus,
)
from bylaw.model.codes.law import (
    LAW_FOLDER_NOT_ALLOWED,
    LAW_LOCK_KEY,
    LAW_NOTHING_TO_RUN,
    LAW_UNKNOWN_FIELD,
)
from bylaw.model.codes.templates import RENDER_TOO_LARGE
from bylaw.model.display import brief, iso_time, list_limited, shown_path, visible
from bylaw.model.effects import (
    ApprovalRequest,
    BusWrite,
    CommandRun,
    LockAcquire,
    LockRelease,
    Outcome,
    OutcomePart,
)
from bylaw.model.errors import RenderError
from bylaw.model.event import Bus, File
from bylaw.model.facts import LawFacts
from bylaw.model.rule import message_field
from bylaw.model.values import as_text
from bylaw.model.vocabulary import Channel, Op
from bylaw.paths import normalise, normalise_event_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.law.syntax import Action, Template
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step, Text
    from bylaw.model.rule import StepMaker, View
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Authority

MAX_FILLED = 500_000  # characters

_OUTCOMES = {Field.EXIT_CODE: OutcomePart.EXIT_CODE, Field.ERROR: OutcomePart.ERROR}


def fill_template(template: Template, rule_id: str, view: View) -> Text:
    """Return the text for this event; raise RenderError for an unknown field or a long text."""
    pieces = [_piece(piece, rule_id, view) for piece in template.pieces]
    if sum(len(piece) for piece in pieces if isinstance(piece, str)) > MAX_FILLED:
        reason = f"the text is longer than {MAX_FILLED:,} characters"
        raise RenderError(RENDER_TOO_LARGE.name, reason)
    if any(isinstance(piece, Outcome) for piece in pieces):
        return tuple(pieces)
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _piece(piece: str | FieldReference, rule_id: str, view: View) -> str | Outcome:
    if isinstance(piece, str):
        return piece
    field = piece.field
    if field is None:
        reason = f"unknown template field `{visible(brief(piece.name))}`"
        raise RenderError(LAW_UNKNOWN_FIELD.name, reason)
    return Outcome(_OUTCOMES[field]) if field in _OUTCOMES else _value(field, rule_id, view)


def _value(field: Field, rule_id: str, view: View) -> str:
    """Return the value of a field; empty if this kind of event does not have it."""
    event = view.event
    match field:
        case Field.RULE_ID:
            return rule_id
        case Field.TS:
            return iso_time(view.now)
        case Field.PATH:
            return _path(event) if isinstance(event, File) else ""
        case Field.TYPE:
            return event.change.value if isinstance(event, File) else ""
        case Field.PHASE if isinstance(event, File):
            return str(event.facts.phase) if isinstance(event.facts.phase, int) else ""
        case Field.TARGET_PATHS:
            return _join(message_field(event, field.value))
    return as_text(message_field(event, field.value))


def _path(event: File) -> str:
    """Return the path of a file. Unusual characters are escaped, so that it stays on one line."""
    if event.facts.literal:
        return shown_path(event.path)
    return normalise_event_path(event.path, literal=False) or ""


def _join(targets: JSON) -> str:
    return ", ".join(map(as_text, targets)) if isinstance(targets, list) else as_text(targets)


TOP = "."
_MAX_SHOWN = 5


def allowed_folder(cwd: str, view: View) -> str:
    """Return the normal form of the folder; raise RenderError if it is not allowed."""
    facts = view.event.facts
    given = facts.allowed_roots if isinstance(facts, LawFacts) else UNSET
    roots = [root for one in given or () if (root := _normal_folder(one))]
    if not roots:
        raise _folder_error("no folder is allowed for commands: `allowed_roots` is empty")
    folder = _normal_folder(cwd)
    if folder and any(_is_within(folder, root) for root in roots):
        return folder
    allowed = list_limited(roots, _MAX_SHOWN, lambda root: f"`{visible(brief(root))}`")
    raise _folder_error(f"`{visible(brief(cwd))}` is not within the allowed folders: {allowed}")


def _normal_folder(path: str) -> str | None:
    """Return the normal form of a path; None with `..`, which may lead elsewhere after a link."""
    names = set(path.split("/"))
    if ".." in names:
        return None
    is_top = path.startswith(TOP) and names <= {"", TOP}
    return TOP if is_top else normalise(path)


def _is_within(folder: str, root: str) -> bool:
    return root in {TOP, folder} or folder.startswith(f"{root}/")


def _folder_error(reason: str) -> RenderError:
    return RenderError(LAW_FOLDER_NOT_ALLOWED.name, reason)


_LOCK_KEY = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_LOCK_KEY}}}")


def step_maker(action: Action, rule_id: str) -> StepMaker:
    """Return the step maker of an action."""
    match action:
        case TakeLock():
            return LockMaker(rule_id, action.key)
        case ReleaseLock():
            return UnlockMaker(rule_id, action.key)
        case RunCommand():
            return CommandMaker(action)
        case WriteBus():
            return EvidenceMaker(rule_id, action.channel, action.template)
        case RequestApproval():
            return ApprovalRequestMaker(rule_id, action.to, action.template)


def is_approval_request(view: View) -> bool:
    """Return whether the message is an approval request."""
    return isinstance(view.event, Bus) and is_request(view.event.message)


def is_retry(view: View) -> bool:
    """Return whether a message was handled before; then no request is repeated (LD-A39)."""
    return isinstance(view.event, Bus) and view.event.retry > 0


class LockMaker(Struct, frozen=True):
    """Take a lock, or fail."""

    rule_id: str
    key: Template
    op: Op = Op.LOCK_ACQUIRE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step with the name of the lock."""
        return (LockAcquire(key=_lock_name(self.key, self.rule_id, view)),)


class UnlockMaker(Struct, frozen=True):
    """Release a lock."""

    rule_id: str
    key: Template
    op: Op = Op.LOCK_RELEASE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step with the name of the lock."""
        return (LockRelease(key=_lock_name(self.key, self.rule_id, view)),)


class CommandMaker(Struct, frozen=True):
    """Run the command of the rule, or the commands in `run` of the message (LD-A18)."""

    action: RunCommand
    op: Op = Op.COMMAND_RUN

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one step for each command; all are checked before the first one starts."""
        action = self.action
        commands = _message_commands(view) if action.of_message else [action.argv]
        cwd = allowed_folder(action.cwd, view)
        return [CommandRun(argv=argv, cwd=cwd, timeout_s=action.timeout_s) for argv in commands]


class EvidenceMaker(Struct, frozen=True):
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
        if is_approval_request(view) and is_retry(view):
            return ()
        return (BusWrite(channel=self.channel, text=self._text(view)),)

    def _text(self, view: View) -> Text:
        return fill_template(self.template, self.rule_id, view)


class ApprovalRequestMaker(Struct, frozen=True):
    """Request approval from an authority, once; in an emergency before each run (LD-075)."""

    rule_id: str
    to: Authority
    template: Template
    emergency: bool = False
    op: Op = Op.APPROVAL_REQUEST

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the request with its text, or nothing; the rule has fired in both cases."""
        if is_retry(view) and not self.emergency:
            return ()
        return (ApprovalRequest(to=self.to, text=fill_template(self.template, self.rule_id, view)),)


def _lock_name(template: Template, rule_id: str, view: View) -> str:
    key = fill_template(template, rule_id, view)
    if isinstance(key, str) and _LOCK_KEY.fullmatch(key):
        return key
    shown = f"`{visible(brief(key))}`" if isinstance(key, str) else "a result"
    raise RenderError(LAW_LOCK_KEY.name, f"invalid lock name: {shown}")


def _message_commands(view: View) -> list[tuple[str, ...]]:
    run = message_field(view.event, "run")
    if not isinstance(run, list) or not run:
        raise RenderError(LAW_NOTHING_TO_RUN.name, "the message has no `run`, so nothing can run")
    return [_split_command(number, command) for number, command in enumerate(map(str, run), 1)]


def _split_command(number: int, command: str) -> tuple[str, ...]:
    try:
        return read_command(command).argv
    except CommandError as wrong:
        reason = f"command {number} of `run`: {visible(wrong.reason)}"
        raise RenderError(wrong.code.name, reason) from wrong
