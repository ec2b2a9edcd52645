"""A key of a table of settings: what may stand there, its default, its meaning.

A table is a frozen dataclass whose fields are made by `setting`; reader, documentation and
restraint all go by these.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from bylaw.dialects.toml import Node
    from bylaw.runtime.settings.problems import Problems

T = TypeVar("T")
_KEY = "key"


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


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    name: str
    form: Form
    default: Any
    meaning: str
    untrusted: Untrusted


def setting(default: T, form: Form, meaning: str, untrusted: Untrusted = Untrusted.COUNTS) -> T:
    """The field of a table."""
    return field(default=default, metadata={_KEY: (form, meaning, untrusted)})


def keys_of(table: type[Any]) -> tuple[Key, ...]:
    """The keys of a table, in the order in which they are explained."""
    return tuple(
        Key(one.name, form, one.default, meaning, untrusted)
        for one in fields(table)
        for form, meaning, untrusted in [one.metadata[_KEY]]
    )
