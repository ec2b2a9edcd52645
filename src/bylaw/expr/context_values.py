"""The paths that a template or script reads → a plain map of just these parts of the context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bylaw.expr.condition_environment import PARTS, SHAPES
from bylaw.expr.condition_reader import part_reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.expr.expression_guard import Reader
    from bylaw.expr.template.check import Path
    from bylaw.model.rule import View

CONTEXT = "context"
# Sections that are made part by part: `turn`, `history`.
_IN_PARTS = frozenset(path.partition(".")[0] for path in PARTS if "." in path)
_reader = lru_cache(maxsize=64)(part_reader)


@dataclass(frozen=True)
class ContextValues:
    """Reads some parts of the context of a plugin; a part is a path such as `turn.number`."""

    parts: frozenset[str]
    reader: Reader

    def read(self, view: View) -> dict[str, Any]:
        """The parts, nested as their paths say."""
        values: Any = self.reader.read(view, frozenset(PARTS[part] for part in self.parts))
        context: dict[str, Any] = {}
        for part in sorted(self.parts):
            section, _, name = part.partition(".")
            if name:
                context.setdefault(section, {})[name] = values[PARTS[part]]
            else:
                context[section] = values[PARTS[part]]
        return context


def context_values(plugin: str, paths: Iterable[Path]) -> ContextValues:
    """What reads these paths for rules of a plugin; a path `("context",)` is all of it."""
    wanted = frozenset(part for path in paths for part in _parts_of(path))
    return ContextValues(wanted, _reader(plugin))


def _parts_of(path: Path) -> Iterator[str]:
    if path[0] != CONTEXT:
        return  # a name of a loop
    sections = SHAPES if path[1:2] not in [(name,) for name in SHAPES] else [str(path[1])]
    for section in sections:
        names = [name for name in PARTS if name.startswith(f"{section}.")]
        exact = f"{section}.{path[2]}" if len(path) > len((CONTEXT, section)) else ""
        if section not in _IN_PARTS:
            yield section
        else:
            yield from [exact] if exact in names else names
