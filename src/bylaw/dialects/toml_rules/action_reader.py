"""The `[action]` table of a rule file → the action as written, and the findings about it."""

from __future__ import annotations

from datetime import date, datetime, time
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

from bylaw.dialects.toml_rules.texts import is_template
from bylaw.dialects.toml_rules.written import (
    Action,
    EmitEvent,
    NotifySelf,
    SetState,
    WriteLog,
    required_fields,
    type_of,
)
from bylaw.model.codes import toml_rules as codes
from bylaw.model.visible import brief
from bylaw.model.vocabulary import Category, DeliverAt, Level, Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.dialects.toml_rules.section import Path, Section

TYPE = "type"
ACTIONS: dict[str, type[Action]] = {type_of(action): action for action in get_args(Action)}
FIELDS = {name: action.__struct_fields__ for name, action in ACTIONS.items()}
_REQUIRED = {name: required_fields(action) for name, action in ACTIONS.items()}
_ALL_FIELDS = tuple(dict.fromkeys(field for fields in FIELDS.values() for field in fields))
_KEYS = (TYPE, *_ALL_FIELDS)
# The defaults of missing fields.
_NOTICE, _LOG = NotifySelf(message=""), WriteLog()
_MAX_INT = 2**63
MAX_TEMPLATES = 100


def read_action(section: Section) -> Action:
    """Read the action. Errors are added to the findings of the section."""
    findings = section.findings
    findings.close(_KEYS, section.name)
    section.require(TYPE)
    kind = section.text(TYPE, type_of(WriteLog))
    if kind not in ACTIONS:
        listed = ", ".join(f"`{one}`" for one in ACTIONS)
        headline = f"unknown action type `{brief(kind)}`"
        findings.refuse(codes.NOT_A_CHOICE, headline, section.place(TYPE), f"use one of {listed}")
        return _LOG
    if isinstance(section.values.get(TYPE), str):  # otherwise the allowed fields are not known
        _check_fields(section, kind)
    return _READERS[ACTIONS[kind]](section)


def _check_fields(section: Section, kind: str) -> None:
    for key in section.values:
        if key in _ALL_FIELDS and key not in FIELDS[kind]:
            headline = f"`{key}` does not belong to an action of type `{kind}`"
            owners = " or ".join(f"`{one}`" for one, fields in FIELDS.items() if key in fields)
            span = section.findings.document.key_span(section.name, key)
            help_ = f"it belongs to {owners}"
            section.findings.refuse(codes.FOREIGN_ACTION_FIELD, headline, span, help_)
    for required in _REQUIRED[kind]:
        if _is_blank(section.values.get(required, "")):
            _refuse_blank(section, kind, required)


def _refuse_blank(section: Section, kind: str, field: str) -> None:
    is_empty = field in section.values
    headline = f"an action of type `{kind}` has {'an empty' if is_empty else 'no'} `{field}`"
    span = section.place(field) if is_empty else section.span
    help_ = "write a value between the quotes" if is_empty else f"add `{field}`"
    section.findings.refuse(codes.MISSING_ACTION_FIELD, headline, span, help_)


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _notify_self(section: Section) -> Action:
    return NotifySelf(
        message=_template(section, "message", ""),
        category=section.choice("category", Category, _NOTICE.category),
        priority=section.choice("priority", Priority, _NOTICE.priority),
        deliver_at=section.choice("deliver_at", DeliverAt, _NOTICE.deliver_at),
    )


def _log(section: Section) -> Action:
    return WriteLog(
        message=_template(section, "message", _LOG.message),
        level=section.choice("level", Level, _LOG.level),
    )


def _set_state(section: Section) -> Action:
    value = section.values.get("value")
    if isinstance(value, str):
        value = _template(section, "value", "")
    return SetState(key=section.text("key", "-"), value=_plain(section, value, ("value",)))


def _emit_event(section: Section) -> Action:
    payload = section.values.get("payload", {})
    if not isinstance(payload, dict):
        headline = "`payload` must be a table"
        help_ = 'write `payload = { key = "value" }`'
        section.findings.refuse(codes.WRONG_VALUE, headline, section.place("payload"), help_)
        payload = {}
    templates = list(islice(_templates(payload, ("payload",)), MAX_TEMPLATES + 1))
    if len(templates) > MAX_TEMPLATES:
        headline = f"`payload` has more than {MAX_TEMPLATES} templates"
        section.findings.refuse(codes.WRONG_VALUE, headline, section.place("payload"), "use fewer")
        return EmitEvent(event_type="-")
    for path, text in templates:
        section.fill_in(text, path)
    return EmitEvent(
        event_type=section.text("event_type", "-"), payload=_plain(section, payload, ("payload",))
    )


_READERS: dict[type[Action], Callable[[Section], Action]] = {
    NotifySelf: _notify_self,
    WriteLog: _log,
    SetState: _set_state,
    EmitEvent: _emit_event,
}


def _template(section: Section, key: str, default: str) -> str:
    text = section.text(key, default)
    if isinstance(section.values.get(key), str) and is_template(text):
        section.fill_in(text, (key,))
    return text


def _templates(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield every template of a payload, at any depth. Keys are not templates."""
    if isinstance(value, str) and is_template(value):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _templates(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _templates(item, (*path, place))


def _plain(section: Section, value: Any, path: tuple[str, ...]) -> Any:
    """Return the value as JSON can store it. A date or time becomes its ISO text."""
    if isinstance(value, dict):
        return {key: _plain(section, item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(section, item, path) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    too_large = isinstance(value, int) and not -_MAX_INT <= value < _MAX_INT
    if too_large or (isinstance(value, float) and not isfinite(value)):
        headline = "this number cannot be stored"
        help_ = "write a finite number of at most 64 bits"
        section.findings.refuse(codes.WRONG_VALUE, headline, section.place(path[0]), help_)
        return None
    return value
