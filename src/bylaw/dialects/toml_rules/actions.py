"""The action of a rule as written → the maker of its step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bylaw.dialects.toml_rules.texts import TextForm, is_template
from bylaw.dialects.toml_rules.written import (
    Action,
    EmitEvent,
    NotifySelf,
    SetState,
    WriteLog,
)
from bylaw.expr.limits import MAX_OUTPUT_CHARS, Budget
from bylaw.model.codes.templates import RENDER_TOO_LARGE
from bylaw.model.codes.toml_rules import EMPTY_NOTICE
from bylaw.model.effects import EventEmit, Log, Notify, StateSet
from bylaw.model.errors import RenderError
from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.rule import StepMaker, View
    from bylaw.model.vocabulary import DeliverAt


def step_maker(action: Action, space: str) -> StepMaker:
    """Return the maker of the step of an action. Its state is in the variable space `space`."""
    match action:
        case NotifySelf():
            return Notifies(action, TextForm(action.message, space))
        case WriteLog():
            return Logs(action, TextForm(action.message, space))
        case SetState():
            return Sets(space, action.key, _prepared(action.value, space))
        case EmitEvent():
            return Emits(action.event_type, _prepared_all(action.payload, space))


class Notifies(Struct, frozen=True):
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


class Logs(Struct, frozen=True):
    """Makes a log line."""

    action: WriteLog
    text: TextForm
    op: Op = Op.LOG

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the log line."""
        return (Log(text=self.text.make(view), level=self.action.level),)


class Sets(Struct, frozen=True):
    """Sets a key of the state. Only a text value can be a template (TR-A04)."""

    space: str
    key: str
    value: Any
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the key with its value."""
        value = self.value.make(view) if isinstance(self.value, TextForm) else self.value
        return (StateSet(space=self.space, name=self.key, value=value),)


class Emits(Struct, frozen=True):
    """Emits an event. Every text in its payload is a template, at any depth (TR-A30)."""

    type: str
    payload: dict[str, Any]
    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - names of StepMaker
        """Return the event with its payload."""
        return (EventEmit(type=self.type, payload=_Filling(view).filled(self.payload)),)


def _prepared(value: Any, space: str) -> Any:
    return TextForm(value, space) if isinstance(value, str) else value


def _prepared_all(value: Any, space: str) -> Any:
    if isinstance(value, dict):
        return {key: _prepared_all(item, space) for key, item in value.items()}
    if isinstance(value, list):
        return [_prepared_all(item, space) for item in value]
    return _prepared(value, space)


class _Filling(Struct):
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
