"""Plain values: the JSON in events, steps and sessions."""

from math import isfinite
from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:
    from typing import TypeAlias

    JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None
else:
    # msgspec cannot resolve a recursive alias. What it decodes for Any is exactly JSON.
    from typing import Any as JSON  # noqa: N814 - it replaces the alias `JSON`

# Every reader of JSON keeps whole numbers up to this one exactly.
MAX_COUNT = 2**53 - 1

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]


def as_text(value: JSON) -> str:
    """Return a text for people: a string as it is, nothing for null, otherwise compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def is_finite(value: JSON) -> bool:
    """Whether every number in a value is finite, as JSON requires."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(map(is_finite, value))
    return not isinstance(value, dict) or all(map(is_finite, value.values()))


def size_of(value: JSON) -> int:
    """Return the size of a value: characters of a string, otherwise bytes as JSON."""
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
