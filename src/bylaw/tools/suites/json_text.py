"""JSON that people write → its value, or what is wrong with it and where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from bylaw.model.visible import visible_in_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.values import JSON

# Deep enough for the arguments of any tool, far below where a parser gives up.
MAX_DEPTH = 100


class JsonTextError(ValueError):
    """What is wrong, in words for people, and at which character (None: no single place)."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


def read_json(text: str) -> JSON:
    """The value of a text that is JSON, without duplicate keys and not too deep."""
    try:
        value: JSON = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        raise JsonTextError(f"this is not JSON: {problem.msg.lower()}", problem.pos) from None
    except RecursionError:
        raise _too_deep() from None
    except JsonTextError:
        raise
    except ValueError:  # a number of thousands of digits
        raise JsonTextError("this is not JSON that can be read") from None
    if _is_too_deep(value):
        raise _too_deep()
    return value


def write_json(value: JSON, *, indent: int | None = None) -> str:
    """JSON that people read, with unseen characters as escapes."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return "\n".join(visible_in_json(line) for line in lines)


def _no_constant(name: str) -> NoReturn:
    raise JsonTextError(f"`{name}` is not JSON")


def _without_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for key, value in pairs:
        if key in found:
            raise JsonTextError(f"the key `{key}` is there twice")
        found[key] = value
    return found


def _too_deep() -> JsonTextError:
    return JsonTextError(f"this is nested more than {MAX_DEPTH} deep")


def _is_too_deep(value: JSON) -> bool:
    level = [value]
    depth = 0
    while level and depth < MAX_DEPTH:
        level = [part for whole in level for part in _parts(whole)]
        depth += 1
    return bool(level)


def _parts(value: JSON) -> Iterable[JSON]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
