"""A compiled expression as the guard of a rule: how its view is read from session and event.

A `Reader` says, field by field, where a language's view comes from, as Python over `s` (the
session), `e` (the event), `l` (the slate) and `n` (the time). The slow path builds the view from
that, the fast path reads the same code into locals.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from msgspec import Struct, field

from bylaw.model.decision import Match

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.expr.expression import Expression
    from bylaw.model.rule import View
    from bylaw.model.vocabulary import Kind

_MATCHED = Match()


class Reader(Struct, frozen=True):
    """Where the fields of a view come from, for each kind of event."""

    view: Callable[..., object]
    codes: Callable[[Kind], Mapping[str, str]]
    names: Mapping[str, Any] = field(default_factory=dict)
    _built: dict[tuple[Kind, frozenset[str]], Callable[..., object]] = field(default_factory=dict)

    def mentioned(self, code: str, view: str, kind: Kind) -> dict[str, str]:
        """The fields that a code reads, `view` standing before each, and their own code."""
        codes = self.codes(kind)
        # A literal that looks like a field only adds a field: reading more is harmless.
        names = set(re.findall(rf"\b{re.escape(view)}(\w+)", code))
        return {name: codes[name] for name in sorted(names & codes.keys())}

    def read(self, view: View, fields: frozenset[str]) -> object:
        """The view with these fields filled in."""
        kind = view.event.kind
        build = self._built.get((kind, fields))
        if build is None:
            build = self._built[kind, fields] = self._compile(kind, fields)
        return build(view.session, view.event, view.slate, view.now)

    def _compile(self, kind: Kind, fields: frozenset[str]) -> Callable[..., object]:
        codes = self.codes(kind)
        given = ", ".join(f"{name}={codes[name]}" for name in sorted(fields))
        namespace = {"__builtins__": {}, "make": self.view, **self.names}
        exec(f"def build(s, e, l, n):\n    return make({given})\n", namespace)  # noqa: S102 - our own table
        return cast("Callable[..., object]", namespace["build"])


@runtime_checkable
class OfConditions(Protocol):
    """A check of a language that goes by expressions, so that their values can be told."""

    @property
    def conditions(self) -> tuple[ExpressionGuard, ...]:
        """The expressions, in their order."""


class ExpressionGuard(Struct, frozen=True, dict=True):
    """Holds for an event when its expression is true of the event's view."""

    expression: Expression
    reader: Reader

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the view that it reads."""
        from bylaw.model.vocabulary import Kind  # noqa: PLC0415 - only the names are needed here

        return frozenset(self.reader.mentioned(self.expression.code, "v.", Kind.TOOL_BEFORE))

    def test(self, view: View) -> Match | None:
        """A match without values, or none; GuardError if it cannot be evaluated."""
        return _MATCHED if self.expression.test(self.reader.read(view, self.fields)) else None

    def value(self, view: View) -> Any:
        """What the expression is for an event, for those that are no guards; or GuardError."""
        return self.expression.evaluate(self.reader.read(view, self.fields))
