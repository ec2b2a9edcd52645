"""`actions` and `on_error` of a rule → actions as written, and findings."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.law.command_line import CommandError, read_command
from bylaw.dialects.law.template_reader import read_lock_key, read_template
from bylaw.dialects.law.written import (
    ReleaseLock,
    RequestApproval,
    RunCommand,
    TakeLock,
    WriteBus,
)
from bylaw.model.codes import law as codes
from bylaw.model.visible import brief
from bylaw.model.vocabulary import Authority, Channel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.dialects.law.written import Action, TriggerKind
    from bylaw.dialects.yaml.fields import Fields, Findings
    from bylaw.dialects.yaml.nodes import Scalar
    from bylaw.model.source import Span

LEAST_TIMEOUT, MOST_TIMEOUT = 1, 3600
_OF_MESSAGE = re.compile(r"\{\{[ \t]*run[ \t]*\}\}")


class ActionType(StrEnum):
    """All types of actions (LD-058)."""

    TAKE_LOCK = "write_processing_lock"
    RUN = "run_cmd"
    WRITE_BUS = "write_bus"
    REQUEST_APPROVAL = "request_approval"
    RELEASE_LOCK = "release_lock"


class _RequestChannel(StrEnum):
    INPUT = "input"


KEYS: dict[ActionType, tuple[str, ...]] = {
    ActionType.TAKE_LOCK: ("lock_key",),
    ActionType.RUN: ("cmd", "cwd", "timeout_sec"),
    ActionType.WRITE_BUS: ("channel", "template"),
    ActionType.REQUEST_APPROVAL: ("channel", "to", "payload_template"),
    ActionType.RELEASE_LOCK: ("lock_key",),
}
AFTER_ERROR = (ActionType.WRITE_BUS, ActionType.RELEASE_LOCK)


class ReadAction(Struct, frozen=True):
    """An action of a known type. `made` is None if the action has errors."""

    type: ActionType
    made: Action | None
    fields: Fields

    @property
    def place(self) -> Span:
        """The span of its type."""
        return self.fields.span("type")


def read_actions(rule: Fields, key: str, kind: TriggerKind | None) -> Iterator[ReadAction]:
    """Yield the actions of a list in order. Errors are added to the findings."""
    for fields in rule.mappings(key, "the action"):
        if not fields.has("type"):
            fields.closed(("type",), [one for keys in KEYS.values() for one in keys])
        elif action := fields.choice("type", ActionType):
            fields.what = f"the action `{action}`"
            fields.closed(("type", *KEYS[action]))
            yield ReadAction(action, _READERS[action](fields, kind), fields)


def _take_lock(fields: Fields, kind: TriggerKind | None) -> Action | None:
    key = read_lock_key(fields, kind)
    return TakeLock(key) if key else None


def _release_lock(fields: Fields, kind: TriggerKind | None) -> Action | None:
    key = read_lock_key(fields, kind)
    return ReleaseLock(key) if key else None


def _write_bus(fields: Fields, kind: TriggerKind | None) -> Action | None:
    channel, text = _channel(fields), read_template(fields, "template", kind)
    return WriteBus(channel, text) if channel and text else None


def _channel(fields: Fields) -> Channel | None:
    if fields.node_of("channel") is None or fields.text("channel") != _RequestChannel.INPUT:
        return fields.choice("channel", Channel)
    headline = "`write_bus` cannot write to `input`"
    help_ = "use `request_approval` to ask, or one of `output`, `error`, `processing`"
    fields.findings.refuse(codes.LAW_NOT_A_CHOICE, headline, fields.span("channel"), help_)
    return None


def _request_approval(fields: Fields, kind: TriggerKind | None) -> Action | None:
    channel = fields.choice("channel", _RequestChannel)
    to = fields.choice("to", Authority)
    text = read_template(fields, "payload_template", kind)
    return RequestApproval(to, text) if channel and to and text else None


def _run(fields: Fields, _kind: TriggerKind | None) -> Action | None:
    argv, cwd = _argv(fields), _cwd(fields)
    timeout = fields.integer("timeout_sec", LEAST_TIMEOUT, MOST_TIMEOUT)
    if argv is None or cwd is None or timeout is None:
        return None
    return RunCommand(argv, cwd, timeout)


def _argv(fields: Fields) -> tuple[str, ...] | None:
    node = fields.scalar("cmd")
    if node is None:
        return None
    text = str(node.value)
    if _OF_MESSAGE.fullmatch(text):
        return ()
    try:
        read = read_command(text)
    except CommandError as wrong:
        span = _place(fields.findings, node, wrong.span)
        fields.findings.refuse(wrong.code, wrong.reason, span, wrong.help)
        return None
    for one in read.unexpanded[:1]:
        headline = f"`{text[one.start]}` is not expanded, because no shell runs the command"
        help_ = "put it in quotes to pass it unchanged; otherwise list the files"
        span = fields.findings.place(node, one)
        fields.findings.doubt(codes.LAW_NOT_EXPANDED, headline, span, help_)
    return read.argv


def _place(findings: Findings, node: Scalar, inside: Span) -> Span:
    return findings.place(node, inside) if inside.start < inside.end else node.span


def _cwd(fields: Fields) -> str | None:
    """Read a folder below the root. Whether it is allowed is checked before a start (LD-099)."""
    text = fields.text("cwd")
    if text is None:
        return None
    if "{{" in text:
        headline, help_ = "`cwd` cannot contain placeholders", "write the path of the folder"
        fields.findings.refuse(codes.LAW_INTERPOLATION, headline, fields.span("cwd"), help_)
        return None
    if not text.strip() or text.startswith("/") or "\0" in text:
        help_ = f"`{brief(text)}` is not one; write a path as in `cwd: src`"
        fields.wrong("cwd", "a folder, as a relative path from the root", help_)
        return None
    return text


_READERS: dict[ActionType, Callable[[Fields, TriggerKind | None], Action | None]] = {
    ActionType.TAKE_LOCK: _take_lock,
    ActionType.RUN: _run,
    ActionType.WRITE_BUS: _write_bus,
    ActionType.REQUEST_APPROVAL: _request_approval,
    ActionType.RELEASE_LOCK: _release_lock,
}
