"""`actions` and `on_error` of a rule → actions as written, and findings.

A command has no placeholders, except a `cmd` that is only `{{run}}` (LD-A18). Its program must be
on the whitelist, by its exact name (LD-095).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.command_line import CommandFault, CommandTextError, split_words
from bylaw.languages.law.syntax import (
    FIELD,
    MAX_LOCK_KEY,
    OUTCOME_FIELDS,
    Field,
    ReleaseLock,
    RequestApproval,
    RunCommand,
    TakeLock,
    Template,
    TriggerKind,
    WriteBus,
    parse_template,
)
from bylaw.model.codes import law as codes
from bylaw.model.display import brief
from bylaw.model.errors import BylawError
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean, nearest_name
from bylaw.model.vocabulary import Authority, Channel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.expr.command_line import CommandWords
    from bylaw.languages.law.syntax import Action
    from bylaw.languages.yaml import YamlScalar
    from bylaw.languages.yaml_fields import Fields, YamlFindings
    from bylaw.model.codes import Code

FILE_EVENT_FIELDS = frozenset({Field.PATH, Field.TYPE})
MESSAGE_FIELDS = frozenset(
    {
        *(Field.MSG_ID, Field.MSG_TYPE, Field.COMMAND_TYPE, Field.CATEGORY, Field.TITLE),
        *(Field.TARGET_PATHS, Field.ORIGIN_REF, Field.CREATED_BY, Field.NOTES),
    }
)
_WITHOUT_VALUE = {
    TriggerKind.BUS_INPUT: (FILE_EVENT_FIELDS, "a message has no"),
    TriggerKind.FS_EVENT: (MESSAGE_FIELDS, "a file event has no"),
}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]*")
_GRAMMAR = f"write letters, digits, `_`, `.` and `-`, at most {MAX_LOCK_KEY}, and fields"


def read_template(fields: Fields, key: str, kind: TriggerKind | None) -> Template | None:
    """Read the template of a key."""
    node = fields.scalar(key)
    if node is None:
        return None
    _check_template_fields(fields, node, kind)
    return parse_template(str(node.value))


def read_lock_key(fields: Fields, kind: TriggerKind | None) -> Template | None:
    """Read the template of a lock name (LD-094, LD-A40)."""
    node, findings = fields.scalar("lock_key"), fields.findings
    if node is None:
        return None
    made = read_template(fields, "lock_key", kind)
    assert made is not None, "`lock_key` is a text"
    literal = "".join(piece for piece in made.pieces if isinstance(piece, str))
    if not str(node.value) or not _PLAIN_NAME.fullmatch(literal) or len(literal) > MAX_LOCK_KEY:
        headline = f"invalid lock name `{brief(str(node.value))}`"
        findings.refuse(codes.LAW_LOCK_KEY, headline, node.span, _GRAMMAR)
        return None
    return made


def _check_template_fields(fields: Fields, node: YamlScalar, kind: TriggerKind | None) -> None:
    for found in FIELD.finditer(str(node.value)):
        name, span = found[1], fields.findings.place(node, Span(*found.span()))
        if name not in _NAMES:
            headline = f"unknown template field `{brief(name)}`: the action fails when it runs"
            help_ = did_you_mean(name, _NAMES)
            fields.findings.warn(codes.LAW_UNKNOWN_FIELD, headline, span, help_)
        else:
            _check_value(fields, Field(name), span, kind)


_NAMES = frozenset(field.value for field in Field)


def _check_value(fields: Fields, field: Field, span: Span, kind: TriggerKind | None) -> None:
    if field in OUTCOME_FIELDS and fields.has("lock_key"):
        headline = f"`{field}` is not known when a lock is taken or released"
        help_ = "use `{{msg_id}}`, or a plain name"
        fields.findings.refuse(codes.LAW_LOCK_KEY, headline, span, help_)
        return
    absent, who = _WITHOUT_VALUE[kind] if kind else (frozenset(), "")
    if field in absent:
        headline = f"{who} `{field}`"
        help_ = "known here: " + ", ".join(f"`{one}`" for one in Field if one not in absent)
        fields.findings.warn(codes.LAW_FIELD_WITHOUT_VALUE, headline, span, help_)


WHITELIST = ("npm", "pnpm", "yarn", "python", "pytest", "node")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_CODES = {
    CommandFault.SHELL: codes.LAW_SHELL_SYNTAX,
    CommandFault.QUOTES: codes.LAW_COMMAND_QUOTES,
}


class CommandError(BylawError):
    """Why a command cannot run, the place in its text, and what to do."""

    def __init__(self, code: Code, reason: str, span: Span, help_: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.span = span
        self.help = help_


class CommandLine(Struct, frozen=True):
    """The arguments, the program first. `unexpanded` are places that a shell would expand."""

    argv: tuple[str, ...]
    unexpanded: tuple[Span, ...]


def read_command(text: str) -> CommandLine:
    """Read a command; raise CommandError if it is not allowed."""
    _check_command_fields(text)
    try:
        split = split_words(text)
    except CommandTextError as wrong:
        help_ = wrong.help if text.strip() else _PROGRAMS
        raise CommandError(_CODES[wrong.fault], wrong.reason, wrong.span, help_) from wrong
    _check_program(split)
    return CommandLine(split.words, split.unexpanded)


def _check_command_fields(text: str) -> None:
    if (at := text.find("{{")) >= 0:
        end = text.find("}}", at)
        span = Span(at, end + len("}}") if end >= 0 else len(text))
        help_ = 'write the full command; only `cmd: "{{run}}"` alone runs commands of a message'
        raise CommandError(
            codes.LAW_INTERPOLATION, "a command cannot contain placeholders", span, help_
        )


_PROGRAMS = "use one of " + ", ".join(f"`{name}`" for name in WHITELIST)


def _check_program(split: CommandWords) -> None:
    name = split.words[0]
    if name in WHITELIST:
        return
    shown, help_ = brief(name), _PROGRAMS
    if _ASSIGNMENT.match(name):
        reason, help_ = f"`{shown}` is an assignment, not a program", "begin with the program"
    elif "/" in name:
        reason = f"`{shown}` is a path, but programs are allowed by name only"
    else:
        reason = f"program `{shown}` is not allowed"
        near = nearest_name(name, WHITELIST)
        help_ = f"did you mean `{near}`?" if near else _PROGRAMS
    raise CommandError(codes.LAW_COMMAND_NOT_ALLOWED, reason, split.program, help_)


LEAST_TIMEOUT, MOST_TIMEOUT = 1, 3600
_RUN_FIELD = re.compile(r"\{\{[ \t]*run[ \t]*\}\}")


class ActionType(StrEnum):
    """All types of actions (LD-058)."""

    TAKE_LOCK = "write_processing_lock"
    RUN = "run_cmd"
    WRITE_BUS = "write_bus"
    REQUEST_APPROVAL = "request_approval"
    RELEASE_LOCK = "release_lock"


class _RequestChannel(StrEnum):
    INPUT = "input"


ACTION_KEYS: dict[ActionType, tuple[str, ...]] = {
    ActionType.TAKE_LOCK: ("lock_key",),
    ActionType.RUN: ("cmd", "cwd", "timeout_sec"),
    ActionType.WRITE_BUS: ("channel", "template"),
    ActionType.REQUEST_APPROVAL: ("channel", "to", "payload_template"),
    ActionType.RELEASE_LOCK: ("lock_key",),
}
ON_ERROR_ACTIONS = (ActionType.WRITE_BUS, ActionType.RELEASE_LOCK)


class ActionReadResult(Struct, frozen=True):
    """An action of a known type. `made` is None if the action has errors."""

    type: ActionType
    made: Action | None
    fields: Fields

    @property
    def place(self) -> Span:
        """The span of its type."""
        return self.fields.span("type")


def read_actions(rule: Fields, key: str, kind: TriggerKind | None) -> Iterator[ActionReadResult]:
    """Yield the actions of a list in order. Errors are added to the findings."""
    for fields in rule.mappings(key, "the action"):
        if not fields.has("type"):
            fields.closed(("type",), [one for keys in ACTION_KEYS.values() for one in keys])
        elif action := fields.choice("type", ActionType):
            fields.what = f"the action `{action}`"
            fields.closed(("type", *ACTION_KEYS[action]))
            yield ActionReadResult(action, _READERS[action](fields, kind), fields)


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
    if _RUN_FIELD.fullmatch(text):
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
        fields.findings.warn(codes.LAW_NOT_EXPANDED, headline, span, help_)
    return read.argv


def _place(findings: YamlFindings, node: YamlScalar, inside: Span) -> Span:
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
