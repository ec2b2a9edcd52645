"""A key of a table of settings: what may stand there, what it means, what counts while untrusted.

Structs throughout: they are made in a moment, and every start of Bylaw makes them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.dialects.toml import Node
    from bylaw.runtime.settings.problems import Problems


class Untrusted(Enum):
    """What counts of a value while nobody has trusted it; the words are for people."""

    COUNTS = "counts"  # no value is laxer than the default
    DEFAULT = "the default counts"  # no value is stricter, or it is no question of strictness
    SMALLER = "counts if it is smaller than the default"
    LARGER = "counts if it is larger than the default"

    def restrain(self, value: Any, default: Any) -> Any:
        """The stricter of a value and its default."""
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
    """What may stand behind a key."""

    @property
    def words(self) -> str:
        """As it is told to people."""

    def read(self, key: str, node: Node, problems: Problems) -> Any:
        """The value; one that is refused is in `problems`, and the result means nothing."""


class Key(Struct, frozen=True):
    """One key of a table."""

    name: str
    form: Form
    meaning: str
    untrusted: Untrusted = Untrusted.COUNTS


class Table(Struct, frozen=True):
    """A table: a field for each key, with its default, and the keys in the same order."""

    keys: ClassVar[tuple[Key, ...]] = ()
