"""Attributes with expressions → checked expressions, with findings at the right places."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.chatmd.written import Formula
from bylaw.expr.expression import expression_of, warn_if_not_boolean
from bylaw.expr.expression_guard import ExpressionGuard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.guards import parse_guard, parse_object
from bylaw.model.embedded import Embedded
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.expr.environment import Environment
    from bylaw.expr.expression_guard import Reader
    from bylaw.expr.tree import Node
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.findings import FindingList


# Replaces a wrong expression. A file with an error is not used, so its value does not matter.
_STAND_IN = "true"


def read_formula(reader: ElementReader, name: str) -> Formula:
    """Read the expression in a required attribute."""
    attribute = reader.element.attribute(name)
    if not reader.required(name).strip() or attribute is None:
        return _stand_in(Embedded(reader.source, (reader.element.start.start,)))
    source = SourceFile(reader.source.path, reader.element.value(name))
    return Formula(source, Embedded(reader.source, attribute.places(reader.source)))


def _stand_in(embedded: Embedded) -> Formula:
    return Formula(SourceFile(embedded.source.path, _STAND_IN), embedded)


class Formulas(Struct, frozen=True, dict=True):
    """Checks the expressions of one file: knows their names and how they read an event."""

    findings: FindingList
    variables: frozenset[str]
    rule_ids: frozenset[str]
    reader: Reader

    def guard(self, formula: Formula, *, has_call: bool) -> ExpressionGuard:
        """Check an expression that must be true or false."""
        loaded = self.value(formula, has_call=has_call)
        self._note(formula, warn_if_not_boolean(loaded.expression))
        return loaded

    def value(self, formula: Formula, *, has_call: bool) -> ExpressionGuard:
        """Check an expression of any type."""
        return self._load(formula, parse_guard, has_call=has_call)

    def arguments(self, formula: Formula, *, has_call: bool) -> ExpressionGuard:
        """Check an object of expressions."""
        return self._load(formula, parse_object, has_call=has_call)

    def _load(
        self, formula: Formula, parse: Callable[[SourceFile, Span], Node], *, has_call: bool
    ) -> ExpressionGuard:
        if self.findings.are_many:  # more findings are not shown
            formula, parse = _stand_in(formula.embedded), parse_guard
        source, span = formula.source, Span(0, len(formula.source.text))
        environment = self._environments[has_call]
        try:
            expression = expression_of(source, parse(source, span), span, environment)
        except LoadError as refused:
            self._note(formula, refused.diagnostics)
            return self.value(_stand_in(formula.embedded), has_call=has_call)
        self._note(formula, expression.warnings)
        return ExpressionGuard(expression, self.reader)

    def _note(self, formula: Formula, found: list[Diagnostic]) -> None:
        for one in found:
            self.findings.add(formula.embedded.relocated(one))

    @cached_property
    def _environments(self) -> dict[bool, Environment]:
        return {
            has_call: guard_environment(self.variables, has_call=has_call, rule_ids=self.rule_ids)
            for has_call in (True, False)
        }
