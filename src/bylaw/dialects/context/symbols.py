"""Tables of the symbols of all modules. No order affects how a reference resolves (AC-A17)."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from msgspec import Struct

from bylaw.model.codes.context import AMBIGUOUS_ID, REFERENCE_ERROR, UNKNOWN_ID
from bylaw.model.suggest import meant
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bylaw.dialects.context.declared import Name
    from bylaw.dialects.context.problems import Phase
    from bylaw.model.codes import Code

T = TypeVar("T")
MAX_HINTED = 3
# An unknown name and the known ones → the nearest known name, or an empty text.
Near: TypeAlias = "Callable[[str, Iterable[str]], str]"


def _not_asked(wrong: str, known: Iterable[str]) -> str:  # noqa: ARG001 - signature of `Near`
    return ""


class SymbolKind(StrEnum):
    """The kinds of things that a reference can name."""

    ENUM = "enum"
    STATE = "state"
    COMMAND = "command"
    RESPONSE = "response"
    WORKFLOW = "workflow"
    PROTOCOL = "protocol"


class Symbol(Struct, Generic[T], frozen=True):
    """A declaration with its name and module."""

    module: str
    name: str
    what: T

    @property
    def qualified(self) -> str:
        """`module.name`."""
        return f"{self.module}.{self.name}"


class Unresolved(Struct, frozen=True):
    """Why a reference cannot be resolved: code, message, hint and candidates."""

    code: Code
    message: str
    hint: str = ""
    candidates: tuple[str, ...] = ()


class Table(Generic[T]):
    """All symbols of one kind."""

    def __init__(self, kind: SymbolKind, symbols: Iterable[Symbol[T]]) -> None:
        self.kind = kind
        self.by_qualified: dict[str, Symbol[T]] = {}
        self._by_name: dict[str, list[Symbol[T]]] = {}
        for symbol in symbols:
            self.by_qualified[symbol.qualified] = symbol
            self._by_name.setdefault(symbol.name, []).append(symbol)

    def find(
        self, reference: str, module: str = "", near: Near = _not_asked, what: str = ""
    ) -> Symbol[T] | Unresolved:
        """Resolve a reference inside a module or, without a module, in a call.

        `near` suggests a known name for an unknown one. This takes time, so the default is none.
        `what` names the thing in messages; without it, the kind does.
        """
        what = what or self.kind
        known = self.by_qualified if "." in reference else self._by_name
        if reference not in known:
            message = f"unknown {what} `{brief(reference)}`"
            return Unresolved(UNKNOWN_ID, message, meant(near(reference, known)))
        if "." in reference:
            return self.by_qualified[reference]
        same = self._by_name[reference]
        if module and all(symbol.module != module for symbol in same):
            message = f"{what} `{brief(reference)}` is defined in another module"
            return Unresolved(REFERENCE_ERROR, message, _one_of(_candidates(same)))
        if len(same) > 1:
            message = f"{what} `{brief(reference)}` is defined in several modules"
            candidates = _candidates(same)
            return Unresolved(AMBIGUOUS_ID, message, _one_of(candidates), candidates)
        return same[0]

    def resolve(
        self, name: Name, module: str, phase: Phase, what: str = "", built_in: Sequence[str] = ()
    ) -> Symbol[T] | None:
        """Resolve a reference as `find` does; report a failure at the place of the reference.

        `what` names the thing in messages; without it, the kind does. `built_in` are more known
        names to suggest.
        """

        def near(wrong: str, known: Iterable[str]) -> str:
            return phase.nearest(wrong, chain(known, built_in))

        found = self.find(name.text, module, near, what)
        if isinstance(found, Symbol):
            return found
        phase.add(found.code, found.message, name.place, found.hint, found.candidates)
        return None


def _candidates(symbols: Iterable[Symbol[T]]) -> tuple[str, ...]:
    """Sort the names, so that the order of modules and files does not matter (AC-103)."""
    return tuple(sorted(symbol.qualified for symbol in symbols))


def _one_of(candidates: tuple[str, ...]) -> str:
    shown = " or ".join(f"`{name}`" for name in candidates[:MAX_HINTED])
    return f"write {shown}" + (" …" if len(candidates) > MAX_HINTED else "")
