"""Build a plain map of the context paths that a template or script reads."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.expr.condition_reader import field_reader
from bylaw.expr.context_catalogue import ATTRIBUTES, FIELDS, SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.expr.expression_guard import Reader
    from bylaw.expr.template.check import Path
    from bylaw.model.rule import View

CONTEXT = "context"
_reader = lru_cache(maxsize=64)(field_reader)


class ContextValues(Struct, frozen=True):
    """Reads some paths of the context, such as `turn.number`."""

    paths: frozenset[str]
    reader: Reader

    def read(self, view: View) -> dict[str, Any]:
        """Return the values, nested by path."""
        values: Any = self.reader.read(view, frozenset(FIELDS[path] for path in self.paths))
        context: dict[str, Any] = {}
        for path in sorted(self.paths):
            section, _, name = path.partition(".")
            if name:
                context.setdefault(section, {})[name] = values[FIELDS[path]]
            else:
                context[section] = values[FIELDS[path]]
        return context


def context_values(space: str, reads: Iterable[Path]) -> ContextValues:
    """Return the reader of these paths, with the state in a space; `("context",)` reads all."""
    wanted = frozenset(path for read in reads for path in _paths_of(read))
    return ContextValues(wanted, _reader(space))


def _paths_of(read: Path) -> Iterator[str]:
    if read[0] != CONTEXT:
        return  # a loop variable
    sections = SHAPES if read[1:2] not in [(name,) for name in SHAPES] else [str(read[1])]
    for section in sections:
        names = [path for path in ATTRIBUTES if path.startswith(f"{section}.")]
        exact = f"{section}.{read[2]}" if len(read) > len((CONTEXT, section)) else ""
        if not names:
            yield section
        else:
            yield from [exact] if exact in names else names
