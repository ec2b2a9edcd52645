"""A key in a table of settings: its allowed values, its meaning, and its value while untrusted.

All classes are Structs, because they are fast to create and every start of Bylaw creates them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.dialects.toml import Node
    from bylaw.runtime.settings.problems import Problems


class Untrusted(Enum):
    """Which value applies while the settings are not trusted; the values are shown to people."""

    COUNTS = "applies"  # no value is laxer than the default
    DEFAULT = "the default applies"  # no value is stricter, or strictness does not matter here
    SMALLER = "applies if it is smaller than the default"
    LARGER = "applies if it is larger than the default"

    def restrain(self, value: Any, default: Any) -> Any:
        """Return the value that applies while it is not trusted."""
        match self:
            case Untrusted.COUNTS:
                return value
            case Untrusted.DEFAULT:
                return default
            case Untrusted.SMALLER:
                return min(value, default)
            case Untrusted.LARGER:
                return max(value, default)


class Form(Protocol):
    """The type of a setting."""

    @property
    def words(self) -> str:
        """The allowed values, in words."""

    def read(self, key: str, node: Node, problems: Problems) -> Any:
        """Return the value. A refused value is added to `problems`; then the result is unused."""


class Key(Struct, frozen=True):
    """One key of a table."""

    name: str
    form: Form
    meaning: str
    untrusted: Untrusted = Untrusted.COUNTS


class Table(Struct, frozen=True):
    """A table: a field with a default for each key, and the keys in the same order."""

    keys: ClassVar[tuple[Key, ...]] = ()
