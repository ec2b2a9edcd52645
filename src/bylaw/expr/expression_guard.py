"""A compiled expression as the guard of a rule, and the reader that fills in its view.

A `Reader` has Python code for each field of a language's view, over `s` (the session), `e` (the
event), `l` (the slate) and `n` (the time). The slow path builds the view with that code. The fast
path assigns the same code to local variables.
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
    """The code of each field of a view, for each kind of event."""

    view: Callable[..., object]
    codes: Callable[[Kind], Mapping[str, str]]
    names: Mapping[str, Any] = field(default_factory=dict)
    _built: dict[tuple[Kind, frozenset[str]], Callable[..., object]] = field(default_factory=dict)

    def mentioned(self, code: str, view: str, kind: Kind) -> dict[str, str]:
        """Return the fields that a code reads, with their code; `view` is the prefix of fields."""
        codes = self.codes(kind)
        # A literal that looks like a field only adds a field, which is harmless.
        names = set(re.findall(rf"\b{re.escape(view)}(\w+)", code))
        return {name: codes[name] for name in sorted(names & codes.keys())}

    def read(self, view: View, fields: frozenset[str]) -> object:
        """Return the view with these fields filled in."""
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
    """A check of a language that uses expressions, so that their values can be shown."""

    @property
    def conditions(self) -> tuple[ExpressionGuard, ...]:
        """The expressions, in order."""


class ExpressionGuard(Struct, frozen=True, dict=True):
    """A guard that holds for an event if its expression is true for the event's view."""

    expression: Expression
    reader: Reader

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the view that it reads."""
        from bylaw.model.vocabulary import Kind  # noqa: PLC0415 - used only here, to list fields

        return frozenset(self.reader.mentioned(self.expression.code, "v.", Kind.TOOL_BEFORE))

    def test(self, view: View) -> Match | None:
        """Return a match without values, or None; raise GuardError if the evaluation fails."""
        return _MATCHED if self.expression.test(self.reader.read(view, self.fields)) else None

    def value(self, view: View) -> Any:
        """Return the value of an expression that is not a guard, or raise GuardError."""
        return self.expression.evaluate(self.reader.read(view, self.fields))
