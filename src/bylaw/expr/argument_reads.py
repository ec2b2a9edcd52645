"""A guard → the arguments of the tool call that it reads, each as a separate expression.

So Bylaw can report which argument is missing, even in a part that short circuit skips.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.expr.expression import Expression
from bylaw.expr.expression_guard import ExpressionGuard
from bylaw.expr.tree import Call, Const, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.expr.check import Checked
    from bylaw.expr.tree import Node
    from bylaw.model.rule import View


class ArgumentRead(Struct, frozen=True):
    """One argument: its path, or the text that computes it; and the expression that reads it."""

    name: str
    reading: ExpressionGuard


def argument_reads(guard: ExpressionGuard) -> tuple[ArgumentRead, ...]:
    """Return all arguments that a guard reads, in source order, each once."""
    checked = guard.expression.checked
    found = sorted(_reads(checked), key=lambda node: node.span)
    unique = dict.fromkeys(found)  # equal nodes read the same
    return tuple(_read(guard, checked, node) for node in unique)


def missing_argument(reads: tuple[ArgumentRead, ...], view: View) -> str | None:
    """Return the first missing argument (CM-A19); raise GuardError if a path cannot be computed."""
    return next((read.name for read in reads if read.reading.value(view) is None), None)


def _reads(checked: Checked) -> Iterator[Call]:
    functions = checked.environment.functions
    for node in walk(checked.tree):
        if isinstance(node, Call) and functions[node.function].reads_call:
            yield node


def _read(guard: ExpressionGuard, checked: Checked, node: Call) -> ArgumentRead:
    part = replace(checked, tree=node)
    reading = ExpressionGuard(Expression(lambda: part, node.span), guard.reader)
    return ArgumentRead(_name(checked, node), reading)


def _name(checked: Checked, node: Call) -> str:
    path: Node = node.args[0]
    return str(path.value) if isinstance(path, Const) else checked.source.slice(node.span)
