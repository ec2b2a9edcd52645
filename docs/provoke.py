"""An example of a code → what Bylaw really says about it.

The table `READERS` maps the kind of an example to the function that asks the right part of
Bylaw. A function raises what that part raises, or returns the diagnostics it was given.
"""

from __future__ import annotations

import tempfile
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.cli.reading import read_source
from bylaw.dialects.yaml import load_yaml
from bylaw.expr.paths import (
    Pattern,
    check_resolvable,
    check_same_variables,
    parse_pattern,
    pattern,
)
from bylaw.model.errors import GuardError, LoadError, RenderError
from bylaw.model.source import SourceFile, Span
from bylaw.model.visible import visible
from bylaw.model.wire import EventError, decode_event
from bylaw.tools.printers import text
from bylaw.tools.suites.reader import read_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic


@dataclass(frozen=True)
class Answer:
    """The codes that an example provoked, and how they are shown."""

    codes: list[str]
    shown: str


def provoke(example: Example) -> Answer:
    """Ask the reader of the example's kind."""
    try:
        found = READERS[example.kind](example)
    except LoadError as refused:
        found = refused.diagnostics
    except (EventError, GuardError, RenderError) as failed:
        line = f"error[{failed.code}]: {visible(failed.message)}\n"
        return Answer([failed.code], line)
    return Answer([diagnostic.code for diagnostic in found], text.render(found))


def _suite(example: Example) -> list[Diagnostic]:
    read_page(SourceFile("spec/page.md", example.text))
    return []


def _input_path(example: Example) -> list[Diagnostic]:
    return _read_in_empty_folder(example.text)


def _input_bytes(example: Example) -> list[Diagnostic]:
    return _read_in_empty_folder("facts.json", example.text.encode("latin-1"))


def _input_size(example: Example) -> list[Diagnostic]:
    return _read_in_empty_folder("facts.json", b" " * int(example.text))


def _read_in_empty_folder(path: str, data: bytes | None = None) -> list[Diagnostic]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        if data is not None:
            Path(path).write_bytes(data)
        read_source(path)
    return []


def _event(example: Example) -> list[Diagnostic]:
    decode_event(example.text.encode())
    return []


def _pattern(example: Example) -> list[Diagnostic]:
    pattern(example.text)
    return []


def _pattern_pair(example: Example) -> list[Diagnostic]:
    given, wanted = _patterns(example)
    return check_resolvable(wanted, given)


def _pattern_set(example: Example) -> list[Diagnostic]:
    return check_same_variables(_patterns(example))


def _patterns(example: Example) -> list[Pattern]:
    source = SourceFile("policy.md", example.text)
    starts = [0, example.text.index("\n") + 1]
    return [
        parse_pattern(source, Span(start, start + len(line)))
        for start, line in zip(starts, example.text.split("\n"), strict=True)
    ]


def _yaml(example: Example) -> list[Diagnostic]:
    load_yaml(SourceFile("rules.yaml", example.text))
    return []


READERS: dict[str, Callable[[Example], list[Diagnostic]]] = {
    "event": _event,
    "input-bytes": _input_bytes,
    "input-path": _input_path,
    "input-size": _input_size,
    "pattern": _pattern,
    "pattern-pair": _pattern_pair,
    "pattern-set": _pattern_set,
    "suite": _suite,
    "yaml": _yaml,
}
