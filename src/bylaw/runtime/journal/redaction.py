"""Remove the secrets that `[journal] redact` matches from events and decisions.

Patterns apply to every text that comes from outside, including keys and numbers of plain values,
before anything is stored. Guards see the original value. The journal and the session keep only the
redacted text.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bylaw.runtime.journal.telling import telling

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from bylaw.model.decision import Decision
    from bylaw.model.event import Event

REDACTED = "[redacted]"
# Fields with names that rules and hosts choose and that Bylaw compares. They must not hold secrets,
# and a session with changed names would count wrongly.
_NAMES = frozenset(
    {
        *("session", "agent", "call", "cause", "uid", "rule", "group", "fired", "space", "name"),
        *("file", "digest", "hash", "disabled", "enabled", "unknown"),
    }
)
# Fields that may hold any plain value. Numbers in other fields are Bylaw's own.
_PLAIN = frozenset({"result", "value", "message"})


class Redactor:
    """Removes secrets from what is stored."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = tuple(patterns)

    def event(self, event: Event) -> Event:
        """Return the event as it may be stored; the same object if nothing is redacted."""
        clean: Event = self._clean(event) if self._patterns else event
        return clean

    def decision(self, decision: Decision) -> Decision:
        """Return the decision as it may be stored; the same object if nothing is redacted."""
        if not self._patterns:
            return decision
        told = telling(decision)
        clean: Decision = self._clean(told)
        return decision if clean is told else clean

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def _clean(self, value: Any, *, plain: bool = False) -> Any:
        """Return the value without secrets; the same object if it has none."""
        match value:
            case Enum() | bool():
                return value
            case str():
                text = self.text(value)
                return value if text == value else text
            case int() | float():
                written = msgspec.json.encode(value).decode() if plain else ""
                return value if self.text(written) == written else REDACTED
            case Struct():
                return self._clean_fields(value)
            case dict():
                items = {
                    self.text(key): self._clean(item, plain=True) for key, item in value.items()
                }
                return value if _same(items, value) else items
            case list() | tuple():
                kept = [self._clean(item, plain=plain) for item in value]
                same = all(new is old for new, old in zip(kept, value, strict=True))
                return value if same else type(value)(kept)
        return value

    def _clean_fields(self, value: Struct) -> Struct:
        changed = {}
        for name in value.__struct_fields__:
            if name not in _NAMES:
                before = getattr(value, name)
                after = self._clean(before, plain=name in _PLAIN)
                if after is not before:
                    changed[name] = after
        return msgspec.structs.replace(value, **changed) if changed else value


def _same(items: dict[str, Any], before: dict[str, Any]) -> bool:
    return items.keys() == before.keys() and all(items[key] is before[key] for key in before)
