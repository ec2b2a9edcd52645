"""The elements in `<on>` → actions as written, and findings about them.

The body of `<call>` is JSON or an object of expressions (CM-A05). A comment in a text is part of
the text (CM-A06).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.expr.guard_environment import reserved_names
from bylaw.expr.guards import parse_object
from bylaw.languages.chatmd.elements import read_expression
from bylaw.languages.chatmd.messages import message_text
from bylaw.languages.chatmd.scanner import RAW, RAW_END
from bylaw.languages.chatmd.syntax import (
    DEFAULT_KEEP,
    DEFAULT_STRATEGY,
    CallTool,
    Compact,
    Deny,
    EventName,
    ExpressionText,
    Insert,
    InsertRole,
    InvalidBody,
    RunAgent,
    SetVariable,
    Stop,
)
from bylaw.model.codes import chatmd as codes
from bylaw.model.codes.chatmd import BAD_CALL_BODY
from bylaw.model.diagnostic import EmbeddedText
from bylaw.model.display import brief
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.model.values import JsonError, read_json
from bylaw.model.vocabulary import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.languages.chatmd.elements import ElementReader
    from bylaw.languages.chatmd.syntax import Action, Arguments

# CM-A06: a comment in a text is part of the text. Both may be open at the end of the body.
_TEXT_OR_COMMENT = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|<!--.*?(?:-->|\Z)""", re.DOTALL
)
_HELP = 'write `{"name": value}`, with JSON or expressions as values'


def read_arguments(reader: ElementReader) -> Arguments:
    """Read the arguments of a call. An invalid body gives a warning."""
    formula = _body_without_comments(reader)
    text = formula.source.text
    try:
        value = read_json(text)
    except JsonError:
        return _read_expressions(reader, formula)
    if isinstance(value, dict):
        return value
    return _invalid_body(reader, "call arguments must be an object", formula, Span(0, len(text)))


def _read_expressions(
    reader: ElementReader, formula: ExpressionText
) -> ExpressionText | InvalidBody:
    try:
        parse_object(formula.source, Span(0, len(formula.source.text)))
    except LoadError as refused:
        (why,) = refused.diagnostics
        return _invalid_body(reader, why.headline, formula, why.span)
    return formula


def _invalid_body(
    reader: ElementReader, why: str, formula: ExpressionText, span: Span
) -> InvalidBody:
    place = formula.embedded.span(span)
    if place.start == place.end:
        place = reader.element.start
    headline = f"the body of `<call>` is neither JSON nor an object of expressions: {why}"
    reader.warn(BAD_CALL_BODY, headline, place, _HELP)
    return InvalidBody(f"the body is neither JSON nor an object of expressions: {why}")


def _body_without_comments(reader: ElementReader) -> ExpressionText:
    """Return the body with a blank for each comment, and the places of its characters."""
    element, source = reader.element, reader.source
    end = element.end.start
    pieces: list[str] = []
    places: list[int] = []
    at = element.start.end
    for found in _TEXT_OR_COMMENT.finditer(source.text, at, max(at, end)):
        if found["text"] is None:
            pieces += [source.text[at : found.start()], " "]
            places += [*range(at, found.start()), found.start()]
            at = found.end()
    pieces.append(source.text[at:end])
    places += range(at, end + 1)
    return _body_without_raw("".join(pieces), places, source)


def _body_without_raw(body: str, places: list[int], source: SourceFile) -> ExpressionText:
    """Remove the marks of RAW if they enclose the complete body."""
    inner = body.strip()
    if inner.startswith(RAW) and inner.endswith(RAW_END) and len(inner) >= len(RAW + RAW_END):
        begin = body.index(RAW) + len(RAW)
        end = body.rindex(RAW_END)
        body, places = body[begin:end], places[begin : end + 1]
    return ExpressionText(SourceFile(source.path, body), EmbeddedText(source, places))


STRATEGIES = ("relevance", "summary")
_LATEST = re.compile(r"latest:[0-9]{1,9}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def read_action(reader: ElementReader, rule_id: str, event: EventName) -> Action:
    """Read one action. Errors are added to the findings of the reader."""
    if reader.name == "deny" and event is not EventName.PRE_TOOL_CALL:
        headline = f"`<deny>` is not allowed in a rule on `{event}`: there is no call to deny"
        help_ = f'use `event="{EventName.PRE_TOOL_CALL}"`'
        reader.refuse(codes.DENY_WITHOUT_CALL, headline, help_=help_)
    _check_provenance(reader, rule_id)
    return _READERS[reader.name](reader)


def _check_provenance(reader: ElementReader, rule_id: str) -> None:
    """Report provenance attributes that differ from what the engine writes (CM-A02, CM-A03)."""
    truth = {"synthetic": "true", "via_rule": rule_id}
    for name, value in truth.items():
        if reader.has(name) and reader.element.value(name) != value:
            headline = f"`{name}` can only be `{value}` here"
            help_ = "delete it; the engine writes the right value"
            reader.refuse(codes.FORGED_PROVENANCE, headline, reader.place(name), help_)


def _insert(reader: ElementReader) -> Action:
    reader.close(("role", "synthetic", "via_rule"))
    text = message_text(reader)
    if not text.strip():
        help_ = "write the text of the message between the tags"
        reader.refuse(codes.EMPTY_BODY, "`<insert>` has no text", help_=help_)
    return Insert(reader.choice("role", InsertRole, InsertRole.USER, required=True), text)


def _deny(reader: ElementReader) -> Action:
    reader.close(("reason",))
    reader.elements()
    return Deny(reader.required("reason"))


def _call(reader: ElementReader) -> Action:
    reader.close(("tool", "via_rule"))
    return CallTool(reader.tool_name("tool"), read_arguments(reader))


def _agent(reader: ElementReader) -> Action:
    reader.close(("src",), flags=("local",))
    return RunAgent(reader.required("src"), message_text(reader))


def _compact(reader: ElementReader) -> Action:
    reader.close(("keep", "strategy", "threshold_tokens"))
    reader.elements()
    threshold = reader.integer("threshold_tokens", 0, least=0)
    return Compact(
        keep=_keep(reader),
        strategy=_strategy(reader),
        threshold_tokens=threshold if reader.has("threshold_tokens") else None,
    )


def _keep(reader: ElementReader) -> str:
    parts = reader.listed("keep", ",", DEFAULT_KEEP)
    if sum(part.startswith("latest:") for part in parts) > 1:
        reader.wrong("keep", "`latest` is used twice", "keep one of them")
    wrong = next((p for p in parts if p not in ROLES and not _LATEST.fullmatch(p)), None)
    if wrong:
        help_ = f"use {_list_names(ROLES)} and `latest:N`, with commas between them"
        reader.wrong("keep", f"unknown part `{brief(wrong)}` in `keep`", help_)
    return ",".join(parts)


def _strategy(reader: ElementReader) -> str:
    parts = reader.listed("strategy", "+", DEFAULT_STRATEGY)
    wrong = next((part for part in parts if part not in STRATEGIES), None)
    if wrong:
        help_ = f"use {_list_names(STRATEGIES)}, or both with `+` between them"
        reader.wrong("strategy", f"unknown strategy `{brief(wrong)}`", help_)
    return "+".join(parts)


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _set(reader: ElementReader) -> Action:
    reader.close(("var", "value"))
    reader.elements()
    return SetVariable(_variable(reader), read_expression(reader, "value"))


def _variable(reader: ElementReader) -> str:
    name = reader.required("var")
    if not name.strip():
        return ""
    if not _VARIABLE.fullmatch(name):
        headline = f"invalid variable name `{brief(name)}`"
        help_ = "use letters, digits and `_`; do not start with a digit"
        reader.refuse(codes.UNUSABLE_VARIABLE, headline, reader.place("var"), help_)
        return ""
    if name in reserved_names():
        headline = f"the variable name `{name}` is reserved in expressions"
        reader.refuse(codes.UNUSABLE_VARIABLE, headline, reader.place("var"), "use another name")
    return name


def _stop(reader: ElementReader) -> Action:
    reader.close(())
    reader.elements()
    return Stop()


_READERS: dict[str, Callable[[ElementReader], Action]] = {
    "insert": _insert,
    "deny": _deny,
    "call": _call,
    "agent": _agent,
    "compact": _compact,
    "set": _set,
    "stop": _stop,
}
