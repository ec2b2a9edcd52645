"""`<rules>` elements → rules as written, and the settings for all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bylaw.dialects.chatmd.action_reader import read_action
from bylaw.dialects.chatmd.elements import ANY_TOOL
from bylaw.dialects.chatmd.formulas import read_formula
from bylaw.dialects.chatmd.written import EventName, WrittenRule
from bylaw.model.codes import chatmd_rules as codes
from bylaw.model.diagnostic import Label
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.dialects.chatmd.written import Action
    from bylaw.model.codes import Code

MAX_ACTIONS, MAX_CALLS, TRACE = "max_actions_per_event", "max_calls_per_event", "trace"
ON_ATTRIBUTES = (
    *("id", "event", "tool", "if", "priority", "once", "cooldown_turns", "cooldown_ms"),
)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
_SAME = "also set here"
Value = TypeVar("Value")


class RulesSettings(NamedTuple):
    """The settings for all rules of a file (CM-A11, CM-A12, CM-A48)."""

    max_actions: int
    max_calls: int
    trace: bool


def read_settings(blocks: Sequence[ElementReader]) -> RulesSettings:
    """Read the settings. Two different values for one setting are an error."""
    for block in blocks:
        block.close((MAX_ACTIONS, MAX_CALLS, TRACE))

    def count(name: str) -> int:
        return _agreed(blocks, name, 1, lambda one: one.integer(name, 1, least=1))

    trace = _agreed(blocks, TRACE, False, lambda one: one.boolean(TRACE, default=False))
    return RulesSettings(count(MAX_ACTIONS), count(MAX_CALLS), trace)


def _agreed(
    blocks: Sequence[ElementReader],
    name: str,
    default: Value,
    read: Callable[[ElementReader], Value],
) -> Value:
    given = [(one, read(one)) for one in blocks if one.has(name)]
    for one, value in given[1:]:
        first, said = given[0]
        if value != said:
            headline = f"`{name}` is {_written(said)} in another `<rules>` of this file"
            _refuse_second(one, codes.CONFLICTING_VALUES, headline, name, first)
    return given[0][1] if given else default


def _written(value: object) -> str:
    return f"`{str(value).lower()}`"


def read_rules(blocks: Sequence[ElementReader]) -> Iterator[WrittenRule]:
    """Yield the rules of all blocks, in source order."""
    ids: dict[str, ElementReader] = {}
    elements = [element for block in blocks for element in block.elements()]
    for number, element in enumerate(elements, 1):
        element.close(ON_ATTRIBUTES)
        yield _rule(element, _id(element, number, ids))


def _rule(on: ElementReader, rule_id: str) -> WrittenRule:
    # Instead of a wrong event, use the one that allows all actions and attributes.
    event = on.choice("event", EventName, EventName.PRE_TOOL_CALL, required=True)
    return WrittenRule(
        element=on,
        id=rule_id,
        event=event,
        tool=_tool(on, event),
        guard=read_formula(on, "if") if on.element.attribute("if") else None,
        priority=on.integer("priority", 0),
        once=on.boolean("once", default=False),
        cooldown_turns=on.integer("cooldown_turns", 0, least=0),
        cooldown_ms=on.integer("cooldown_ms", 0, least=0),
        actions=_actions(on, rule_id, event),
    )


def _actions(on: ElementReader, rule_id: str, event: EventName) -> tuple[Action, ...]:
    before = len(on.findings.found)
    actions = tuple(read_action(one, rule_id, event) for one in on.elements())
    if not actions and len(on.findings.found) == before:
        help_ = "add an action, such as `<insert>` or `<deny>`"
        on.doubt(codes.RULE_WITHOUT_EFFECT, "this rule has no action", help_=help_)
    return actions


def _tool(on: ElementReader, event: EventName) -> str:
    """Return the tool that the rule applies to; empty for any tool."""
    if on.element.attribute("tool") is None:
        return ""
    if not event.has_call:
        headline = f"`{event}` has no tool call, so `tool` never matches"
        help_ = "delete `tool`, or use `pre_tool_call` or `post_tool_response`"
        on.refuse(codes.TOOL_WITHOUT_CALL, headline, on.place("tool"), help_)
        return ""
    name = on.tool_name("tool")
    return "" if name == ANY_TOOL else name


def _id(on: ElementReader, number: int, ids: dict[str, ElementReader]) -> str:
    """Return the id of a rule. The default is its number among all rules (CM-A01)."""
    rule_id = on.element.value("id") if on.has("id") else f"rule-{number}"
    if not _ID.fullmatch(rule_id):
        headline = f"invalid rule id `{brief(rule_id)}`" if rule_id.strip() else "`id` is empty"
        help_ = "start with a letter or digit, then use letters, digits, `_`, `.` and `-`"
        on.refuse(codes.INVALID_RULE_ID, headline, on.place("id"), help_)
    first = ids.setdefault(rule_id, on)
    if first is not on:
        headline = f"duplicate rule id `{brief(rule_id)}` in this file"
        _refuse_second(on, codes.REPEATED_RULE_ID, headline, "id", first)
    return rule_id


def _refuse_second(
    one: ElementReader, code: Code, headline: str, name: str, first: ElementReader
) -> None:
    same_file = first.source is one.source
    labels = (Label(first.place(name), _SAME),) if same_file else ()
    help_ = "change one of them"
    one.refuse(code, headline, one.place(name), help_, labels)
