"""The action of a rule → the maker of its one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bylaw.dialects.toml_rules.texts import Rendered
from bylaw.dialects.toml_rules.written import (
    Action,
    EmitEvent,
    NotifySelf,
    SetState,
    WriteLog,
)
from bylaw.model.effects import EventEmit, Log, Notify, StateSet
from bylaw.model.slate import variable_space
from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.rule import StepMaker, View


def step_maker(action: Action, dialect: str, plugin: str) -> StepMaker:
    """What the rule does when it fires."""
    match action:
        case NotifySelf():
            return Notifies(action, Rendered(action.message, plugin))
        case WriteLog():
            return Logs(action, Rendered(action.message, plugin))
        case SetState():
            value = _prepared(action.value, plugin)
            return Sets(variable_space(dialect, plugin), action.key, value)
        case EmitEvent():
            return Emits(action.event_type, _prepared_all(action.payload, plugin))


@dataclass(frozen=True)
class Notifies:
    """A notice."""

    action: NotifySelf
    text: Rendered
    op: Op = Op.NOTIFY

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The notice with its text."""
        action = self.action
        return (
            Notify(
                text=self.text.make(view),
                category=action.category,
                priority=action.priority,
                deliver_at=action.deliver_at,
            ),
        )


@dataclass(frozen=True)
class Logs:
    """A line of the log."""

    action: WriteLog
    text: Rendered
    op: Op = Op.LOG

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The line with its text."""
        return (Log(text=self.text.make(view), level=self.action.level),)


@dataclass(frozen=True)
class Sets:
    """A value for a key of the state; only a text is a template (TR-A04)."""

    space: str
    key: str
    value: Any
    op: Op = Op.STATE_SET

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The key with its value."""
        value = self.value.make(view) if isinstance(self.value, Rendered) else self.value
        return (StateSet(space=self.space, name=self.key, value=value),)


@dataclass(frozen=True)
class Emits:
    """An event; every text in its payload is a template, at any depth (TR-A30)."""

    type: str
    payload: dict[str, Any]
    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """The event with its payload."""
        payload = {key: _filled(value, view) for key, value in self.payload.items()}
        return (EventEmit(type=self.type, payload=payload),)


def _prepared(value: Any, plugin: str) -> Any:
    return Rendered(value, plugin) if isinstance(value, str) else value


def _prepared_all(value: Any, plugin: str) -> Any:
    if isinstance(value, dict):
        return {key: _prepared_all(item, plugin) for key, item in value.items()}
    if isinstance(value, list):
        return [_prepared_all(item, plugin) for item in value]
    return _prepared(value, plugin)


def _filled(value: Any, view: View) -> Any:
    if isinstance(value, Rendered):
        return value.make(view)
    if isinstance(value, dict):
        return {key: _filled(item, view) for key, item in value.items()}
    return [_filled(item, view) for item in value] if isinstance(value, list) else value
