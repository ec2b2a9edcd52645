"""Plain values: the JSON that events, steps and sessions carry."""

from math import isfinite
from typing import TYPE_CHECKING, Annotated

import msgspec

if TYPE_CHECKING:
    from typing import TypeAlias

    JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None
else:
    # msgspec resolves no recursive alias; what it decodes for Any is exactly JSON.
    from typing import Any as JSON  # noqa: N814 - the name that it stands in for

# Every reader of JSON keeps whole numbers up to here exactly.
MAX_COUNT = 2**53 - 1

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]


def as_text(value: JSON) -> str:
    """What a person reads: a string as it is, nothing for null, else compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def is_finite(value: JSON) -> bool:
    """Whether every number in a value is one that JSON can say."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(map(is_finite, value))
    return not isinstance(value, dict) or all(map(is_finite, value.values()))


def size_of(value: JSON) -> int:
    """How many bytes a value takes as JSON."""
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value))
