"""A ChatMD file with its imports → rules and policies as written, and all findings.

Also checks the messages at the top of the file: a message that cannot be sent is an error.
Expressions are checked later, when rules are lowered.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bylaw.languages.chatmd.action_reader import read_action
from bylaw.languages.chatmd.elements import ANY_TOOL, ElementReader, read_expression
from bylaw.languages.chatmd.header import ImportPlaces, expand_imports, read_declarations
from bylaw.languages.chatmd.parser import parse_cached
from bylaw.languages.chatmd.scanner import Element
from bylaw.languages.chatmd.syntax import (
    Check,
    ConstraintSyntax,
    Cooldown,
    EventName,
    FileSyntax,
    Level,
    Mode,
    Quota,
    Requires,
    RuleSyntax,
    Validate,
)
from bylaw.model.codes import chatmd as codes
from bylaw.model.codes.chatmd import CHATMD_BAD_MESSAGE
from bylaw.model.diagnostic import FindingList, Label, error
from bylaw.model.display import brief
from bylaw.model.suggest import did_you_mean
from bylaw.model.vocabulary import ROLES, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.languages.base import RuleFile
    from bylaw.languages.chatmd.header import Declarations, PlacedElement
    from bylaw.languages.chatmd.syntax import Action, Constraint
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic

MAX_ACTIONS, MAX_CALLS, TRACE = "max_actions_per_event", "max_calls_per_event", "trace"
ON_ATTRIBUTES = (
    *("id", "event", "tool", "if", "priority", "once", "cooldown_turns", "cooldown_ms"),
)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
_OTHER_LABEL = "also set here"
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
        return _read_setting(blocks, name, 1, lambda one: one.integer(name, 1, least=1))

    trace = _read_setting(blocks, TRACE, False, lambda one: one.boolean(TRACE, default=False))
    return RulesSettings(count(MAX_ACTIONS), count(MAX_CALLS), trace)


def _read_setting(
    blocks: Sequence[ElementReader],
    name: str,
    default: Value,
    read: Callable[[ElementReader], Value],
) -> Value:
    given = [(one, read(one)) for one in blocks if one.has(name)]
    for one, value in given[1:]:
        first, said = given[0]
        if value != said:
            headline = f"`{name}` is {_as_written(said)} in another `<rules>` of this file"
            _refuse_second(one, codes.CONFLICTING_VALUES, headline, name, first)
    return given[0][1] if given else default


def _as_written(value: object) -> str:
    return f"`{str(value).lower()}`"


def read_rules(blocks: Sequence[ElementReader]) -> Iterator[RuleSyntax]:
    """Yield the rules of all blocks, in source order."""
    ids: dict[str, ElementReader] = {}
    elements = [element for block in blocks for element in block.elements()]
    for number, element in enumerate(elements, 1):
        element.close(ON_ATTRIBUTES)
        yield _rule(element, _id(element, number, ids))


def _rule(on: ElementReader, rule_id: str) -> RuleSyntax:
    # Instead of a wrong event, use the one that allows all actions and attributes.
    event = on.choice("event", EventName, EventName.PRE_TOOL_CALL, required=True)
    return RuleSyntax(
        element=on,
        id=rule_id,
        event=event,
        tool=_rules_tool(on, event),
        guard=read_expression(on, "if") if on.element.attribute("if") else None,
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
        on.warn(codes.RULE_WITHOUT_EFFECT, "this rule has no action", help_=help_)
    return actions


def _rules_tool(on: ElementReader, event: EventName) -> str:
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
    labels = (Label(first.place(name), _OTHER_LABEL),) if same_file else ()
    help_ = "change one of them"
    one.refuse(code, headline, one.place(name), help_, labels)


def read_policies(blocks: Sequence[ElementReader]) -> Iterator[ConstraintSyntax]:
    """Yield the constraints of all blocks, in source order. All of them apply (CM-A41)."""
    names: Counter[str] = Counter()
    for block in blocks:
        block.close(())
        for tool in block.elements():
            name, elements = _policy_tool(tool), tool.elements()
            if not elements:
                _warn_empty(tool, "add a constraint, such as `<requires>` or `<quota>`")
            for one in elements:
                kind = f"policy:{name}/{one.name}"
                names[kind] += 1
                constraint_id = kind if names[kind] == 1 else f"{kind}.{names[kind]}"
                yield ConstraintSyntax(one, constraint_id, name, _READERS[one.name](one))


def _policy_tool(tool: ElementReader) -> str:
    tool.close(("name",))
    name = tool.tool_name("name")
    if name == ANY_TOOL:
        headline = "the wildcard `*` is not allowed in `<policy>`"
        help_ = 'name the tool, or write a rule on `event="pre_tool_call"`'
        tool.refuse(codes.WILDCARD_IN_POLICY, headline, tool.place("name"), help_)
    return name


def _warn_empty(reader: ElementReader, help_: str) -> None:
    holds_something = any(isinstance(node, Element) for node in reader.element.children)
    if not holds_something:  # otherwise its content was reported
        headline = f"this `<{reader.name}>` has no effect"
        reader.warn(codes.RULE_WITHOUT_EFFECT, headline, help_=help_)


def _requires(reader: ElementReader) -> Constraint:
    reader.close(("tools", "mode"))
    reader.elements()
    tools = reader.listed("tools", ",") if reader.required("tools").strip() else []
    return Requires(tuple(tools), reader.choice("mode", Mode, Mode.ENFORCE))


def _validate(reader: ElementReader) -> Constraint:
    reader.close(("level",))
    checks = tuple(map(_check, reader.elements()))
    if not checks:
        _warn_empty(reader, "add a `<check>`")
    return Validate(reader.choice("level", Level, Level.ERROR), checks)


def _check(reader: ElementReader) -> Check:
    reader.close(("if", "message"))
    reader.elements()
    return Check(read_expression(reader, "if"), reader.required("message"))


def _quota(reader: ElementReader) -> Constraint:
    reader.close(("per_turn", "per_session"))
    reader.elements()
    if not reader.element.attributes:
        headline = "`<quota>` has neither `per_turn` nor `per_session`"
        help_ = 'add one of them, as in `per_turn="1"`'
        reader.refuse(codes.MISSING_ATTRIBUTE, headline, help_=help_)
    return Quota(_limit(reader, "per_turn"), _limit(reader, "per_session"))


def _limit(reader: ElementReader, name: str) -> int | None:
    return reader.integer(name, 0, least=0) if reader.has(name) else None


def _cooldown(reader: ElementReader) -> Constraint:
    reader.close(("turns",))
    reader.elements()
    is_there = reader.required("turns").strip()
    return Cooldown(reader.integer("turns", 0, least=0) if is_there else 0)


_READERS: dict[str, Callable[[ElementReader], Constraint]] = {
    "requires": _requires,
    "validate": _validate,
    "quota": _quota,
    "cooldown": _cooldown,
}


_CALL = ("function_name", "tool_call_id")
_REQUIRED = {"tool_call": _CALL, "tool_response": ("tool_call_id",)}
_OLD_CALLS = {"tool_call", "function_call"}


def check_messages(placed: Iterable[PlacedElement]) -> Iterator[Diagnostic]:
    """Yield the findings about all messages."""
    for element, source in placed:
        role = element.value("role").lower()
        if element.name == "msg" and role not in ROLES:
            headline = f"unknown role `{brief(role)}`" if role else "`<msg>` needs a `role`"
            span, help_ = element.start, did_you_mean(role, ROLES)
            yield error(CHATMD_BAD_MESSAGE, headline, source, span, help=help_)
        for name in _required_attributes(element, role):
            if not element.value(name):
                headline, help_ = f"`<{element.name}>` needs `{name}`", f'write `{name}="…"`'
                yield error(CHATMD_BAD_MESSAGE, headline, source, element.start, help=help_)


def _required_attributes(element: Element, role: str) -> tuple[str, ...]:
    """Return the attributes that identify a call. Old transcripts store calls as `<msg>`."""
    if element.name != "msg":
        return _REQUIRED.get(element.name, ())
    if role == Role.TOOL:
        return _REQUIRED["tool_response"]
    is_call = any(one.name in _OLD_CALLS for one in element.attributes)
    return _CALL if is_call else ()


class ReadResult(NamedTuple):
    """The content of a file, the findings so far, and the places of its parts."""

    written: FileSyntax
    declared: Declarations
    findings: FindingList
    places: ImportPlaces


def read_file(file: RuleFile) -> ReadResult:
    """Read everything except expressions, which are checked when rules are lowered."""
    document, found = parse_cached(file.source)
    placed, wrong_imports = expand_imports(document, file.beside)
    declared, wrong_tools = read_declarations(placed)
    wrong_messages = check_messages(placed)
    findings = FindingList([*found, *wrong_imports, *wrong_tools, *wrong_messages])
    written = _read_syntax(placed, findings)
    return ReadResult(written, declared, findings, ImportPlaces(document, placed))


def _read_syntax(placed: list[PlacedElement], findings: FindingList) -> FileSyntax:
    def blocks(name: str) -> list[ElementReader]:
        return [ElementReader(findings, *one) for one in placed if one[0].name == name]

    rules = blocks("rules")
    settings = read_settings(rules)
    return FileSyntax(
        rules=tuple(read_rules(rules)),
        constraints=tuple(read_policies(blocks("policy"))),
        max_actions=settings.max_actions,
        max_calls=settings.max_calls,
        trace=settings.trace,
    )
