"""Events and decisions → the same without the secrets that `[journal] redact` names.

Patterns apply to every text that comes from outside, keys and numbers of plain values included,
before anything is stored. Guards have seen the value; what is kept, also in the session, is the
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
# Fields with names that rules and hosts give and that Bylaw compares: a secret has no business
# there, and a session in which they were changed would count wrongly.
_NAMES = frozenset(
    {
        *("session", "agent", "call", "cause", "uid", "rule", "group", "fired", "space", "name"),
        *("file", "digest", "hash", "disabled", "enabled", "unknown"),
    }
)
# Fields that hold any plain value; a number elsewhere is one of ours.
_PLAIN = frozenset({"result", "value", "message"})


class Redactor:
    """Takes secrets out of what is stored."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = tuple(patterns)

    def event(self, event: Event) -> Event:
        """The event as it may be stored; the very same if there is nothing to hide."""
        clean: Event = self._clean(event) if self._patterns else event
        return clean

    def decision(self, decision: Decision) -> Decision:
        """The decision as it may be stored; the very same if there is nothing to hide."""
        if not self._patterns:
            return decision
        told = telling(decision)
        clean: Decision = self._clean(told)
        return decision if clean is told else clean

    def text(self, text: str) -> str:
        """A text without its secrets."""
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def _clean(self, value: Any, *, plain: bool = False) -> Any:
        """The value without secrets; the very same object if it has none."""
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
