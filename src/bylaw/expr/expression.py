"""Text → a loaded expression, which returns a value for an event or raises GuardError."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from bylaw.expr.check import Checked, check
from bylaw.expr.compile import Compiled, Emitted, compile_checked, emit_condition
from bylaw.expr.condition_environment import CONDITIONS
from bylaw.expr.conditions import parse_condition
from bylaw.expr.emit import Emitter
from bylaw.expr.faults import Fault, describe
from bylaw.expr.guards import parse_guard
from bylaw.expr.limits import MAX_STEPS, OverBudget
from bylaw.model.codes import expressions as codes
from bylaw.model.diagnostic import Diagnostic, warning
from bylaw.model.errors import GuardError
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.expr.environment import Environment
    from bylaw.expr.tree import Node
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span


class Expression:
    """An expression that is checked and compiled when it is first used."""

    def __init__(self, checked: Callable[[], Checked], span: Span) -> None:
        self._check = checked
        self.span = span

    @cached_property
    def checked(self) -> Checked:
        """The checked tree."""
        return self._check()

    @cached_property
    def _compiled(self) -> Compiled:
        return compile_checked(self.checked)

    @cached_property
    def function(self) -> Callable[[Any], Any]:
        """The compiled function, for callers that handle its faults."""
        return self._compiled.function

    @property
    def tree(self) -> Node:
        """The tree that was compiled."""
        return self.checked.tree

    @property
    def code(self) -> str:
        """The Python source that it was compiled to."""
        return self._compiled.code

    @property
    def warnings(self) -> list[Diagnostic]:
        """The warnings of the check."""
        return self.checked.warnings

    def emit(self, view: str) -> Emitted:
        """Return the code of this guard for a function of many; `view` is the prefix of fields."""
        return emit_condition(self.checked, view)

    def emit_part(self, node: Node, view: str) -> str:
        """Return the code of one part."""
        return Emitter(self.checked, view).emit(node)

    def evaluate(self, view: object) -> Any:
        """Return the value for this view, or raise GuardError."""
        try:
            return self.function(view)
        except Fault as fault:
            raise self.explain(fault) from None
        except OverBudget:
            message = f"the evaluation took more than {MAX_STEPS:,} steps"
            raise self._failure(codes.GUARD_BUDGET, message) from None

    def test(self, view: object) -> bool:
        """Whether it holds for this view; raise GuardError if the value is not a boolean."""
        value = self.evaluate(view)
        if value is True or value is False:
            return bool(value)
        message = f"the condition is {describe(value)}, not true or false"
        raise self._failure(codes.GUARD_NOT_BOOLEAN, message)

    def explain(self, fault: Fault) -> GuardError:
        """Return an error with the text of the failed part, the problem, and the values there."""
        site = self._compiled.sites[fault.site]
        part = self._text(site.span)
        values = [describe(value) for value in fault.values_met]
        if fault.of_operands and len(values) == len(site.operands):
            names = [self._text(operand) for operand in site.operands]
            values = [f"`{name}` is {v}" for name, v in zip(names, values, strict=True)]
        else:  # elements, or some of the operands: it is unknown which
            values = [f"found {value}" for value in values]
        message = f"in `{part}`: {fault.problem}" + (f"; {', '.join(values)}" if values else "")
        return GuardError(fault.code.name, message, part)

    def _failure(self, code: Code, problem: str) -> GuardError:
        """Return an error about the complete expression."""
        text = self._text(self.span)
        return GuardError(code.name, f"in `{text}`: {problem}", text)

    def _text(self, span: Span) -> str:
        """Return a part as written, on one line and short enough for a message."""
        return brief(self.checked.source.slice(span))


def load_guard(source: SourceFile, span: Span, environment: Environment) -> Expression:
    """Parse and check a ChatMD guard, or raise LoadError."""
    return expression_of(source, parse_guard(source, span), span, environment)


def load_condition(source: SourceFile, span: Span) -> Expression:
    """Parse and check a TOML condition, or raise LoadError."""
    return expression_of(source, parse_condition(source, span), span, CONDITIONS)


def known_condition(source: SourceFile, span: Span) -> Expression:
    """Return a TOML condition that was checked before; it is parsed when it is first used."""
    return Expression(lambda: check(source, parse_condition(source, span), CONDITIONS), span)


def expression_of(
    source: SourceFile, tree: Node, span: Span, environment: Environment
) -> Expression:
    """Check a tree that was parsed from a span of a source, or raise LoadError."""
    checked = check(source, tree, environment)
    return Expression(lambda: checked, span)


def check_condition(source: SourceFile, span: Span) -> list[Diagnostic]:
    """Return the warnings about the TOML condition of a rule; raise LoadError if it is wrong."""
    checked = check(source, parse_condition(source, span), CONDITIONS)
    return [*checked.warnings, *_never_boolean(checked)]


def warn_if_not_boolean(expression: Expression) -> list[Diagnostic]:
    """Return a warning if the value of a rule's guard can never be true or false."""
    return _never_boolean(expression.checked)


def _never_boolean(checked: Checked) -> list[Diagnostic]:
    if not checked.type_of(checked.tree).never("bool"):
        return []
    headline = "this is never true or false"
    help_ = "compare it with something"
    return [warning(codes.NOT_BOOLEAN, headline, checked.source, checked.tree.span, help=help_)]
