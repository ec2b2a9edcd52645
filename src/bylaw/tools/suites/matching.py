"""Compare an expected JSON value with the real one, and write the real one in the same shape.

An expected object is a subset: other keys may have any value. An expected list is compared
completely, element by element. Other values must be equal and of the same type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.visible import clipped
from bylaw.tools.suites.json_text import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.values import JSON

MAX_SHOWN = 2_000


def differences(expected: JSON, real: JSON, path: str = "") -> Iterator[str]:
    """Yield one sentence for each difference."""
    if isinstance(expected, dict) and isinstance(real, dict):
        yield from _differing_keys(expected, real, path)
    elif isinstance(expected, list) and isinstance(real, list) and len(expected) == len(real):
        for index, (wanted, given) in enumerate(zip(expected, real, strict=True)):
            yield from differences(wanted, given, f"{path}[{index}]")
    elif type(expected) is not type(real) or expected != real:
        yield f"{_subject(path)} is {shown(real)}, expected {shown(expected)}"


def reshaped(expected: JSON, real: JSON) -> JSON:
    """Return the real value, but of objects only the keys that are expected."""
    if isinstance(expected, dict) and isinstance(real, dict):
        return {key: reshaped(expected[key], real[key]) for key in expected if key in real}
    if isinstance(expected, list) and isinstance(real, list) and expected:
        # Further elements get the shape of the last expected one.
        shapes = expected + expected[-1:] * (len(real) - len(expected))
        return [reshaped(shape, one) for shape, one in zip(shapes, real, strict=False)]
    return real


def shown(value: JSON) -> str:
    """Return a value as JSON of bounded length."""
    return clipped(write_json(value), MAX_SHOWN)


def _differing_keys(expected: dict[str, JSON], real: dict[str, JSON], path: str) -> Iterator[str]:
    for key, wanted in expected.items():
        inner = f"{path}.{key}" if path else key
        if key in real:
            yield from differences(wanted, real[key], inner)
        else:
            yield f"{_subject(inner)} is missing, expected {shown(wanted)}"


def _subject(path: str) -> str:
    return f"`{path}`" if path else "the value"
