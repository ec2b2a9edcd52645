"""Text → a loaded expression, which returns a value for an event or raises GuardError.

Also here: a guard → the arguments of the tool call that it reads, each as a separate expression. So
Bylaw can report which argument is missing, even in a part that short circuit skips.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bylaw.expr.check import CheckedTree, check
from bylaw.expr.compile import CompiledExpression, GuardCode, compile_checked, emit_condition
from bylaw.expr.condition_environment import CONDITIONS
from bylaw.expr.conditions import parse_condition
from bylaw.expr.emit import Emitter
from bylaw.expr.guards import parse_guard
from bylaw.expr.limits import MAX_STEPS, Fault, OverBudget, describe
from bylaw.expr.tree import Call, Const, walk
from bylaw.expr.views import ExpressionGuard
from bylaw.model.codes import expressions as codes
from bylaw.model.diagnostic import Diagnostic, warning
from bylaw.model.display import brief
from bylaw.model.errors import GuardError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.expr.tree import Node
    from bylaw.expr.types import Environment
    from bylaw.model.codes import Code
    from bylaw.model.rule import View
    from bylaw.model.source import SourceFile, Span


class Expression:
    """An expression that is checked and compiled when it is first used."""

    def __init__(self, checked: Callable[[], CheckedTree], span: Span) -> None:
        self._check = checked
        self.span = span

    @cached_property
    def checked(self) -> CheckedTree:
        """The checked tree."""
        return self._check()

    @cached_property
    def _compiled(self) -> CompiledExpression:
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

    def emit(self, view: str) -> GuardCode:
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
    return check_expression(source, parse_guard(source, span), span, environment)


def load_condition(source: SourceFile, span: Span) -> Expression:
    """Parse and check a TOML condition, or raise LoadError."""
    return check_expression(source, parse_condition(source, span), span, CONDITIONS)


def load_checked_condition(source: SourceFile, span: Span) -> Expression:
    """Return a TOML condition that was checked before; it is parsed when it is first used."""
    return Expression(lambda: check(source, parse_condition(source, span), CONDITIONS), span)


def check_expression(
    source: SourceFile, tree: Node, span: Span, environment: Environment
) -> Expression:
    """Check a tree that was parsed from a span of a source, or raise LoadError."""
    checked = check(source, tree, environment)
    return Expression(lambda: checked, span)


def check_condition(source: SourceFile, span: Span) -> list[Diagnostic]:
    """Return the warnings about the TOML condition of a rule; raise LoadError if it is wrong."""
    checked = check(source, parse_condition(source, span), CONDITIONS)
    return [*checked.warnings, *_boolean_warnings(checked)]


def warn_if_not_boolean(expression: Expression) -> list[Diagnostic]:
    """Return a warning if the value of a rule's guard can never be true or false."""
    return _boolean_warnings(expression.checked)


def _boolean_warnings(checked: CheckedTree) -> list[Diagnostic]:
    if not checked.type_of(checked.tree).never("bool"):
        return []
    headline = "this is never true or false"
    help_ = "compare it with something"
    return [warning(codes.NOT_BOOLEAN, headline, checked.source, checked.tree.span, help=help_)]


class ArgumentRead(Struct, frozen=True):
    """One argument: its path, or the text that computes it; and the expression that reads it."""

    name: str
    reading: ExpressionGuard


def argument_reads(guard: ExpressionGuard) -> tuple[ArgumentRead, ...]:
    """Return all arguments that a guard reads, in source order, each once."""
    checked = guard.expression.checked
    found = sorted(_find_reads(checked), key=lambda node: node.span)
    unique = dict.fromkeys(found)  # equal nodes read the same
    return tuple(_argument_read(guard, checked, node) for node in unique)


def missing_argument(reads: tuple[ArgumentRead, ...], view: View) -> str | None:
    """Return the first missing argument (CM-A19); raise GuardError if a path cannot be computed."""
    return next((read.name for read in reads if read.reading.value(view) is None), None)


def _find_reads(checked: CheckedTree) -> Iterator[Call]:
    functions = checked.environment.functions
    for node in walk(checked.tree):
        if isinstance(node, Call) and functions[node.function].reads_call:
            yield node


def _argument_read(guard: ExpressionGuard, checked: CheckedTree, node: Call) -> ArgumentRead:
    part = replace(checked, tree=node)
    reading = ExpressionGuard(Expression(lambda: part, node.span), guard.reader)
    return ArgumentRead(_argument_name(checked, node), reading)


def _argument_name(checked: CheckedTree, node: Call) -> str:
    path: Node = node.args[0]
    return str(path.value) if isinstance(path, Const) else checked.source.slice(node.span)
