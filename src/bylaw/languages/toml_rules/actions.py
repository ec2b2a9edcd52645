"""The `[action]` table of a rule file → the action as written → the maker of its step.

Texts of actions are plain texts, or templates that read the context of the rule.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from functools import cached_property
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct, field

from bylaw.expr.condition_environment import SHAPES
from bylaw.expr.limits import MAX_OUTPUT_CHARS, Budget
from bylaw.languages.toml_rules.syntax import (
    Action,
    EmitEvent,
    NotifySelf,
    SetState,
    WriteLog,
    required_fields,
    type_of,
)
from bylaw.model.codes import toml_rules as codes
from bylaw.model.codes.templates import RENDER_TOO_LARGE
from bylaw.model.codes.toml_rules import EMPTY_NOTICE
from bylaw.model.display import brief
from bylaw.model.effects import EventEmit, Log, Notify, StateSet
from bylaw.model.errors import LoadError, RenderError
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Category, DeliverAt, Level, Op, Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.expr.template import Template
    from bylaw.expr.views import ContextValues
    from bylaw.languages.toml_rules.reader import Path, Section, TomlFindings
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.rule import StepMaker, View

_NAMES = {
    "context": {
        section: None if shape.fields is None else dict.fromkeys(shape.fields)
        for section, shape in SHAPES.items()
    }
}
_NULL_BELOW = frozenset(
    ("context", name) for name, shape in SHAPES.items() if shape.missing_is_null
)
_TAG = re.compile(r"\{[{%#]")


def is_template(text: str) -> bool:
    """Return whether the text contains a tag of a template."""
    return _TAG.search(text) is not None


def check_templates(findings: TomlFindings) -> None:
    """Add findings about the templates of a document."""
    for path, text in findings.templates:
        try:
            findings.relocate(_load(findings.document.source.path, text).warnings, path)
        except LoadError as refused:
            findings.relocate(refused.diagnostics, path)


def _load(path: str, text: str) -> Template:
    # Importing Jinja is slow, and many rules have no template.
    from bylaw.expr.template import TemplateNames, load_template  # noqa: PLC0415 - see above

    names = TemplateNames(_NAMES, _NULL_BELOW)
    return load_template(SourceFile(path, text), Span(0, len(text)), names)


class TextForm(Struct, frozen=True, dict=True):
    """A text that is rendered when its rule fires. It reads the state in `space`."""

    text: str
    space: str

    def make(self, view: View, budget: Budget | None = None) -> str:
        """Return the text for this event. Raises `RenderError` if the template fails."""
        if not is_template(self.text):
            return self.text
        return self._template.render({"context": self._context(view)}, budget)

    @cached_property
    def _template(self) -> Template:
        return _load("<template>", self.text)

    @cached_property
    def _values(self) -> ContextValues:
        from bylaw.expr.views import context_values  # noqa: PLC0415 - for templates only

        return context_values(self.space, self._template.reads)

    def _context(self, view: View) -> dict[str, Any]:
        """Return what the template reads, without null ids, so that none is printed (TR-066)."""
        context = self._values.read(view)
        for party in ("user", "project"):
            if party in context and context[party]["id"] is None:
                context[party] = {"settings": context[party]["settings"]}
        return context


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
    return SetState(key=section.text("key", "-"), value=_json_value(section, value, ("value",)))


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
        section.add_template(text, path)
    return EmitEvent(
        event_type=section.text("event_type", "-"),
        payload=_json_value(section, payload, ("payload",)),
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
        section.add_template(text, (key,))
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


def _json_value(section: Section, value: Any, path: tuple[str, ...]) -> Any:
    """Return the value as JSON can store it. A date or time becomes its ISO text."""
    if isinstance(value, dict):
        return {key: _json_value(section, item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_value(section, item, path) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    too_large = isinstance(value, int) and not -_MAX_INT <= value < _MAX_INT
    if too_large or (isinstance(value, float) and not isfinite(value)):
        headline = "this number cannot be stored"
        help_ = "write a finite number of at most 64 bits"
        section.findings.refuse(codes.WRONG_VALUE, headline, section.place(path[0]), help_)
        return None
    return value


def step_maker(action: Action, space: str) -> StepMaker:
    """Return the maker of the step of an action. Its state is in the variable space `space`."""
    match action:
        case NotifySelf():
            return NotifyMaker(action, TextForm(action.message, space))
        case WriteLog():
            return LogMaker(action, TextForm(action.message, space))
        case SetState():
            return SetMaker(space, action.key, _prepare_value(action.value, space))
        case EmitEvent():
            return EmitMaker(action.event_type, _prepare_values(action.payload, space))


class NotifyMaker(Struct, frozen=True):
    """Makes a notice."""

    action: NotifySelf
    text: TextForm
    op: Op = Op.NOTIFY

    @property
    def deliver_at(self) -> DeliverAt:
        """When the notice is delivered."""
        return self.action.deliver_at

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the notice. Fails without a text, which would be inserted as an empty message."""
        action, text = self.action, self.text.make(view)
        if not text.strip():
            raise RenderError(EMPTY_NOTICE.name, "the notice would have no text")
        return (
            Notify(
                text=text,
                category=action.category,
                priority=action.priority,
                deliver_at=self.deliver_at,
            ),
        )


class LogMaker(Struct, frozen=True):
    """Makes a log line."""

    action: WriteLog
    text: TextForm
    op: Op = Op.LOG

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the log line."""
        return (Log(text=self.text.make(view), level=self.action.level),)


class SetMaker(Struct, frozen=True):
    """Sets a key of the state. Only a text value can be a template (TR-A04)."""

    space: str
    key: str
    value: Any
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the key with its value."""
        value = self.value.make(view) if isinstance(self.value, TextForm) else self.value
        return (StateSet(space=self.space, name=self.key, value=value),)


class EmitMaker(Struct, frozen=True):
    """Emits an event. Every text in its payload is a template, at any depth (TR-A30)."""

    type: str
    payload: dict[str, Any]
    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the event with its payload."""
        return (EventEmit(type=self.type, payload=_PayloadRenderer(view).filled(self.payload)),)


def _prepare_value(value: Any, space: str) -> Any:
    return TextForm(value, space) if isinstance(value, str) else value


def _prepare_values(value: Any, space: str) -> Any:
    if isinstance(value, dict):
        return {key: _prepare_values(item, space) for key, item in value.items()}
    if isinstance(value, list):
        return [_prepare_values(item, space) for item in value]
    return _prepare_value(value, space)


class _PayloadRenderer(Struct):
    """Renders one payload. The limits of one template apply to all its texts together."""

    view: View
    budget: Budget = field(default_factory=lambda: Budget(0))
    chars: int = 0

    def filled(self, value: Any) -> Any:
        if isinstance(value, TextForm):
            return self._text(value)
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        return [self.filled(item) for item in value] if isinstance(value, list) else value

    def _text(self, form: TextForm) -> str:
        text = form.make(self.view, self.budget)
        self.chars += len(text) if is_template(form.text) else 0
        if self.chars > MAX_OUTPUT_CHARS:
            most = f"{MAX_OUTPUT_CHARS:,} characters"
            reason = f"the texts of the payload would have more than {most}"
            raise RenderError(RENDER_TOO_LARGE.name, reason)
        return text
