"""Read one value from the arguments of a call: `arg("a.b.0")` and `jsonpath("$.a.b[0]")`."""

from __future__ import annotations

import re
from typing import Any

_JSONPATH_STEP = re.compile(
    r"""\.(?P<name>[^\W\d]\w*) | \[(?P<index>-?(?:0|[1-9]\d{0,8}))\]
      | \[(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)')\]""",
    re.VERBOSE,
)

_INDEX = re.compile(r"[0-9]{1,9}")


def split_path(path: str) -> tuple[str, ...]:
    """Return the segments of a dot path."""
    return tuple(path.split("."))


def parse_jsonpath(path: str) -> tuple[str | int, ...] | None:
    """Return the steps of a JSONPath that has exactly one result (CM-A24), else None."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _JSONPATH_STEP.match(path, at)
        if match is None:
            return None
        index, name = match["index"], match["name"] or match["double"] or match["single"] or ""
        steps.append(int(index) if index is not None else name)
        at = match.end()
    return tuple(steps)


def dig(value: Any, segments: tuple[str, ...]) -> Any:
    """Follow a dot path; a segment of digits indexes a list; missing values are null (CM-A19)."""
    for segment in segments:
        if value.__class__ is dict:
            value = value.get(segment)
        elif value.__class__ is list and _INDEX.fullmatch(segment):
            at = int(segment)
            value = value[at] if at < len(value) else None
        else:
            return None
    return value


def follow(value: Any, steps: tuple[str | int, ...]) -> Any:
    """Follow the steps of a JSONPath; missing values are null."""
    for step in steps:
        if value.__class__ is dict and step.__class__ is str:
            value = value.get(step)
        elif value.__class__ is list and step.__class__ is int and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
