"""Events and decisions → the same without the secrets that `[journal] redact` names.

Patterns apply to every text that comes from outside, before anything is stored. Guards have seen
the value; what is kept, also in the session, is the redacted text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from bylaw.model.decision import Decision
from bylaw.model.event import Event

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

REDACTED = "[redacted]"
# Names that Bylaw gives or compares itself; a secret has no business there.
_OUR_OWN = frozenset(
    {
        *("kind", "session", "agent", "cause", "status", "role", "change", "op", "digest", "uid"),
        *("verdict", "file", "group", "space", "result_of", "category", "priority", "deliver_at"),
        *("level", "on_failure", "scripts", "disabled", "unknown"),
    }
)
Kept = TypeVar("Kept", Event, Decision)


class Redactor:
    """Takes secrets out of what is stored."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = ()) -> None:
        self._patterns = tuple(patterns)

    def event(self, event: Event) -> Event:
        """The event as it may be stored; the very same if there is nothing to hide."""
        if not self._patterns:
            return event
        plain = msgspec.to_builtins(event)
        clean = self._clean(plain)
        return event if clean == plain else msgspec.convert(clean, type(event))

    def decision(self, decision: Decision) -> Decision:
        """The decision as it may be stored."""
        if not self._patterns:
            return decision
        plain = msgspec.to_builtins(decision)
        clean = self._clean(plain)
        return decision if clean == plain else msgspec.convert(clean, Decision)

    def text(self, text: str) -> str:
        """A text without its secrets."""
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {
                self.text(key): item if key in _OUR_OWN else self._clean(item)
                for key, item in value.items()
            }
        return [self._clean(item) for item in value] if isinstance(value, list | tuple) else value
