"""An element of `<rules>` or `<policy>` → attributes, expressions, children, and findings.

For a wrong value the reader adds a finding and returns a default, so that one run reports every
problem of a file.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from bylaw.expr.expression import check_expression, warn_if_not_boolean
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.guards import parse_guard, parse_object
from bylaw.expr.views import ExpressionGuard
from bylaw.languages.chatmd.scanner import CommentNode, Element
from bylaw.languages.chatmd.syntax import ExpressionText
from bylaw.model.codes import chatmd as codes
from bylaw.model.diagnostic import EmbeddedText, Label, error, warning
from bylaw.model.display import brief
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bylaw.expr.tree import Node
    from bylaw.expr.types import Environment
    from bylaw.expr.views import ViewReader
    from bylaw.languages.chatmd.scanner import Attribute, ChatmdNode
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic, FindingList

MAX_DIGITS = 15  # so that every JSON reader keeps numbers exact
# The parent of each element.
PARENTS = {
    "on": "rules",
    **dict.fromkeys(("insert", "deny", "call", "agent", "compact", "set", "stop"), "on"),
    "tool": "policy",
    **dict.fromkeys(("requires", "validate", "quota", "cooldown"), "tool"),
    "check": "validate",
}
ANY_TOOL = "*"
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_BOOLEANS = {"true": True, "false": False}
Choice = TypeVar("Choice", bound=StrEnum)


class ElementReader:
    """Reads one element of a source, and collects findings about it."""

    def __init__(self, findings: FindingList, element: Element, source: SourceFile) -> None:
        self.findings = findings
        self.element = element
        self.source = source

    @property
    def name(self) -> str:
        """The name of the element."""
        return self.element.name

    def refuse(
        self,
        code: Code,
        headline: str,
        span: Span | None = None,
        help_: str = "",
        labels: tuple[Label, ...] = (),
    ) -> None:
        """Add an error: the file will not load. The default place is the start tag."""
        place = span or self.element.start
        self.findings.add(error(code, headline, self.source, place, help=help_, labels=labels))

    def warn(self, code: Code, headline: str, span: Span | None = None, help_: str = "") -> None:
        """Add a warning: the file loads, but probably contains a mistake."""
        place = span or self.element.start
        self.findings.add(warning(code, headline, self.source, place, help=help_))

    def place(self, name: str) -> Span:
        """Return the place of a value; the place of the attribute if the value is empty."""
        attribute = self.element.attribute(name)
        if attribute is None:
            return self.element.start
        span = attribute.value_span
        return span if span.start < span.end else attribute.span

    def close(self, known: Collection[str], flags: Collection[str] = ()) -> None:
        """Report attributes that are unknown, duplicate or without a quoted value."""
        seen: set[str] = set()
        for one in self.element.attributes:
            if one.name not in known and one.name not in flags:
                self._refuse_unknown(one, known)
            elif one.name in seen:
                headline = f"duplicate attribute `{one.name}`"
                self.refuse(codes.REPEATED_ATTRIBUTE, headline, one.span, "keep one of them")
            elif not one.quoted and one.name not in flags:
                self._refuse_unquoted(one)
            seen.add(one.name)

    def _refuse_unknown(self, one: Attribute, known: Collection[str]) -> None:
        headline = f"unknown attribute `{brief(one.name)}` in `<{self.name}>`"
        help_ = did_you_mean(one.name, known) or f"`<{self.name}>` has no attributes"
        span = Span(one.span.start, one.span.start + len(one.name))
        self.refuse(codes.UNKNOWN_ELEMENT_ATTRIBUTE, headline, span, help_)

    def _refuse_unquoted(self, one: Attribute) -> None:
        what = "has no value" if one.value is None else "has a value without quotes"
        help_ = f'write `{one.name}="…"`'
        self.refuse(codes.UNQUOTED_ATTRIBUTE, f"`{one.name}` {what}", one.span, help_)

    def has(self, name: str) -> bool:
        """Return whether an attribute exists and has a value."""
        attribute = self.element.attribute(name)
        return attribute is not None and attribute.value is not None

    def required(self, name: str) -> str:
        """Return a required text. Reports one that is missing or blank."""
        if self.element.attribute(name) is None:
            headline = f"`<{self.name}>` has no `{name}`"
            self.refuse(codes.MISSING_ATTRIBUTE, headline, help_=f'add `{name}="…"`')
        elif self.has(name) and not self.element.value(name).strip():
            self.wrong(name, f"`{name}` is empty", "write a value between the quotes")
        return self.element.value(name)

    def wrong(self, name: str, headline: str, help_: str = "") -> None:
        """Report an attribute with an invalid value."""
        self.refuse(codes.WRONG_ATTRIBUTE_VALUE, headline, self.place(name), help_)

    def integer(self, name: str, default: int, least: int | None = None) -> int:
        """Return a whole number that is at least `least`."""
        if not self.has(name):
            return default
        text = self.element.value(name)
        if _INTEGER.fullmatch(text) and (least is None or int(text) >= least):
            return int(text)
        bound = "" if least is None else f" of at least {least}"
        help_ = f'use at most {MAX_DIGITS} digits, as in `{name}="{max(default, least or 0)}"`'
        self.wrong(name, f"`{name}` must be a whole number{bound}", help_)
        return default

    def boolean(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        text = self.element.value(name)
        if not self.has(name) or text in _BOOLEANS:
            return _BOOLEANS.get(text, default)
        self.wrong(name, f"`{name}` must be `true` or `false`", f'write `{name}="true"`')
        return default

    def choice(
        self, name: str, choices: type[Choice], default: Choice, *, required: bool = False
    ) -> Choice:
        """Return one of the members of an enum; the default if the value is missing or wrong."""
        if required and self.element.attribute(name) is None:
            self.required(name)
        if not self.has(name):
            return default
        text = self.element.value(name)
        try:
            return choices(text)
        except ValueError:
            self._refuse_choice(name, text, choices)
            return default

    def _refuse_choice(self, name: str, text: str, choices: type[StrEnum]) -> None:
        values = [one.value for one in choices]
        if text.strip() in values:
            self.wrong(name, f"`{name}` has blanks around its value", "delete the blanks")
            return
        listed = ", ".join(f"`{value}`" for value in values)
        headline = (
            f"invalid value `{brief(text)}` for `{name}`" if text.strip() else f"`{name}` is empty"
        )
        help_ = f"use one of {listed}"
        self.refuse(codes.UNKNOWN_ATTRIBUTE_VALUE, headline, self.place(name), help_)

    def tool_name(self, name: str) -> str:
        """Return the name of a tool. Names are compared exactly, so outer blanks are an error."""
        text = self.required(name)
        if text.strip() and text != text.strip():
            self.wrong(name, f"`{name}` has blanks around the tool name", "delete the blanks")
        return text

    def listed(self, name: str, separator: str, default: str = "") -> list[str]:
        """Return a list without duplicates. Blanks around its parts are ignored."""
        text = self.element.value(name, default)
        parts = [part.strip() for part in text.split(separator)]
        if not all(parts):
            what = "is empty" if not text.strip() else f"has an empty part next to a `{separator}`"
            self.wrong(name, f"`{name}` {what}", f"write names with `{separator}` between them")
        counted = Counter(filter(None, parts))
        twice = next((part for part, count in counted.items() if count > 1), None)
        if twice:
            self.wrong(name, f"`{brief(twice)}` is used twice", "keep one of them")
        return list(counted)

    def elements(self) -> list[ElementReader]:
        """Return the allowed child elements. Reports everything else except comments."""
        found = []
        for node in self.element.children:
            if isinstance(node, Element):
                one = ElementReader(self.findings, node, self.source)
                if PARENTS.get(one.name) == self.name:
                    found.append(one)
                else:
                    self._refuse_element(one)
            elif not isinstance(node, CommentNode):
                self._refuse_text(node)
        return found

    def _refuse_element(self, one: ElementReader) -> None:
        home = PARENTS.get(one.name)
        known = [name for name, parent in PARENTS.items() if parent == self.name]
        headline = f"`<{brief(one.name)}>` is not allowed in `<{self.name}>`"
        help_ = did_you_mean(one.name, known) or f"`<{self.name}>` has no child elements"
        one.refuse(
            codes.UNKNOWN_ELEMENT, headline, help_=f"move it into `<{home}>`" if home else help_
        )

    def _refuse_text(self, node: ChatmdNode) -> None:
        span = self._first_line(node)
        if span is not None:
            headline = f"text is not allowed in `<{self.name}>`"
            help_ = "delete it, or make it a comment: `<!-- … -->`"
            self.refuse(codes.TEXT_IN_RULES, headline, span, help_)

    def _first_line(self, node: ChatmdNode) -> Span | None:
        """Return the place of the first line that is not blank."""
        text = self.source.slice(node.span)
        if not text.strip():
            return None
        start = node.span.start + len(text) - len(text.lstrip())
        line = text.lstrip().splitlines()[0].rstrip()
        return Span(start, start + len(line))


# Replaces a wrong expression. A file with an error is not used, so its value does not matter.
_PLACEHOLDER = "true"


def read_expression(reader: ElementReader, name: str) -> ExpressionText:
    """Read the expression in a required attribute."""
    attribute = reader.element.attribute(name)
    if not reader.required(name).strip() or attribute is None:
        return _placeholder(EmbeddedText(reader.source, (reader.element.start.start,)))
    source = SourceFile(reader.source.path, reader.element.value(name))
    return ExpressionText(source, EmbeddedText(reader.source, attribute.places(reader.source)))


def _placeholder(embedded: EmbeddedText) -> ExpressionText:
    return ExpressionText(SourceFile(embedded.source.path, _PLACEHOLDER), embedded)


class ExpressionReader(Struct, frozen=True, dict=True):
    """Checks the expressions of one file: knows their names and how they read an event."""

    findings: FindingList
    variables: frozenset[str]
    rule_ids: frozenset[str]
    reader: ViewReader

    def guard(self, formula: ExpressionText, *, has_call: bool) -> ExpressionGuard:
        """Check an expression that must be true or false."""
        loaded = self.value(formula, has_call=has_call)
        self._note(formula, warn_if_not_boolean(loaded.expression))
        return loaded

    def value(self, formula: ExpressionText, *, has_call: bool) -> ExpressionGuard:
        """Check an expression of any type."""
        return self._load(formula, parse_guard, has_call=has_call)

    def arguments(self, formula: ExpressionText, *, has_call: bool) -> ExpressionGuard:
        """Check an object of expressions."""
        return self._load(formula, parse_object, has_call=has_call)

    def _load(
        self, formula: ExpressionText, parse: Callable[[SourceFile, Span], Node], *, has_call: bool
    ) -> ExpressionGuard:
        if self.findings.has_too_many:  # more findings are not shown
            formula, parse = _placeholder(formula.embedded), parse_guard
        source, span = formula.source, Span(0, len(formula.source.text))
        environment = self._environments[has_call]
        try:
            expression = check_expression(source, parse(source, span), span, environment)
        except LoadError as refused:
            self._note(formula, refused.diagnostics)
            return self.value(_placeholder(formula.embedded), has_call=has_call)
        self._note(formula, expression.warnings)
        return ExpressionGuard(expression, self.reader)

    def _note(self, formula: ExpressionText, found: list[Diagnostic]) -> None:
        for one in found:
            self.findings.add(formula.embedded.relocated(one))

    @cached_property
    def _environments(self) -> dict[bool, Environment]:
        return {
            has_call: guard_environment(self.variables, has_call=has_call, rule_ids=self.rule_ids)
            for has_call in (True, False)
        }
