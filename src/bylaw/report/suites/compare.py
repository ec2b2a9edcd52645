"""Compare expected values, lines and files with the real ones, and make the edits that fix a page.

An expected object is a subset: other keys may have any value. An expected list is compared
completely, element by element. Other values must be equal and of the same type.
"""

from __future__ import annotations

import json
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.display import clip_text, visible_in_json
from bylaw.model.source import Span
from bylaw.model.values import JsonError, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON
    from bylaw.report.suites.page import (
        ExpectedLines,
        ExpectedValue,
        FileExpectation,
        FolderExpectation,
        JsonExpectation,
    )


class Edit(Struct, frozen=True):
    """A text that replaces `span`."""

    span: Span
    text: str


class Outcome(Struct, frozen=True):
    """One expectation: its place, its failure, and the edit that makes the page right.

    `failure` is empty if the result is as expected. There is no edit if the page need not change,
    or if no text at that place can make it right.
    """

    place: Span
    failure: str = ""
    edit: Edit | None = None


def update_page(source: SourceFile, outcomes: Iterable[Outcome]) -> str:
    """Return the text of the page with the real results."""
    pieces, at = [], 0
    edits = [outcome.edit for outcome in outcomes if outcome.edit is not None]
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [source.text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*pieces, source.text[at:]])


class LineKind(Struct, frozen=True):
    """How lines of one kind are named, compared (expected, real), rewritten and shown."""

    noun: str
    differences: Callable[[JSON, JSON], Iterable[str]]
    rewritten: Callable[[JSON, JSON], str]
    shown: Callable[[JSON], str]


def compare_lines(
    kind: LineKind, source: SourceFile, blocks: Sequence[ExpectedLines], real: Sequence[JSON]
) -> Iterator[Outcome]:
    """Yield one outcome for each line of the blocks, and one for each surplus real line."""
    lines = [line for block in blocks for line in block.lines]
    for number, (wanted, given) in enumerate(zip_longest(lines, real), start=1):
        name = f"{kind.noun} {number}"
        if wanted is None:
            yield _surplus(kind, name, blocks[-1].end, given)
        elif number > len(real):
            yield _missing(kind, name, source, wanted)
        else:
            yield _compare_line(kind, name, wanted, given)


def _surplus(kind: LineKind, name: str, end: int, given: JSON) -> Outcome:
    place = Span(end, end)
    failure = f"{name} is not expected: {kind.shown(given)}"
    return Outcome(place, failure, Edit(place, kind.rewritten({}, given) + "\n"))


def _missing(kind: LineKind, name: str, source: SourceFile, wanted: ExpectedValue) -> Outcome:
    whole_line = Span(wanted.place.start, source.text.index("\n", wanted.place.end) + 1)
    failure = f"{name} is missing, expected {kind.shown(wanted.value)}"
    return Outcome(wanted.place, failure, Edit(whole_line, ""))


def _compare_line(kind: LineKind, name: str, wanted: ExpectedValue, given: JSON) -> Outcome:
    wrong = [f"{name}: {sentence}" for sentence in kind.differences(wanted.value, given)]
    # An empty object always matches. An update of the page fills it in.
    if not wrong and wanted.value != {}:
        return Outcome(wanted.place)
    edit = Edit(wanted.place, kind.rewritten(wanted.value, given))
    return Outcome(wanted.place, "\n".join(wrong), edit)


def write_json(value: JSON, *, indent: int | None = None) -> str:
    """Return readable JSON with invisible characters escaped."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return "\n".join(visible_in_json(line) for line in lines)


MAX_SHOWN = 2_000


def differences(expected: JSON, real: JSON, path: str = "") -> Iterator[str]:
    """Yield one sentence for each difference."""
    if isinstance(expected, dict) and isinstance(real, dict):
        yield from _differing_keys(expected, real, path)
    elif isinstance(expected, list) and isinstance(real, list) and len(expected) == len(real):
        for index, (wanted, given) in enumerate(zip(expected, real, strict=True)):
            yield from differences(wanted, given, f"{path}[{index}]")
    elif type(expected) is not type(real) or expected != real:
        yield f"{_subject(path)} is {short_value(real)}, expected {short_value(expected)}"


def reshape(expected: JSON, real: JSON) -> JSON:
    """Return the real value, but of objects only the keys that are expected."""
    if isinstance(expected, dict) and isinstance(real, dict):
        return {key: reshape(expected[key], real[key]) for key in expected if key in real}
    if isinstance(expected, list) and isinstance(real, list) and expected:
        # Further elements get the shape of the last expected one.
        shapes = expected + expected[-1:] * (len(real) - len(expected))
        return [reshape(shape, one) for shape, one in zip(shapes, real, strict=False)]
    return real


def short_value(value: JSON) -> str:
    """Return a value as JSON of bounded length."""
    return clip_text(write_json(value), MAX_SHOWN)


def _differing_keys(expected: dict[str, JSON], real: dict[str, JSON], path: str) -> Iterator[str]:
    for key, wanted in expected.items():
        inner = f"{path}.{key}" if path else key
        if key in real:
            yield from differences(wanted, real[key], inner)
        else:
            yield f"{_subject(inner)} is missing, expected {short_value(wanted)}"


def _subject(path: str) -> str:
    return f"`{path}`" if path else "the value"


def compare_file(source: SourceFile, expected: FileExpectation) -> Outcome:
    """Compare a file of the current folder with its block byte for byte."""
    try:
        real = _text(expected.path)
    except ValueError as problem:
        return Outcome(expected.place, str(problem))
    if real == expected.text:
        return Outcome(expected.place)
    diff = _diff(expected.path, expected.text.split("\n"), real.split("\n"))
    fits = _fits_block(source, expected, real)
    return Outcome(expected.place, diff, Edit(expected.body, real) if fits else None)


def compare_json_file(source: SourceFile, holds: JsonExpectation) -> Outcome:
    """Compare a JSON file with the part of it that the page shows."""
    try:
        real = read_json(_text(holds.path))
    except ValueError as problem:
        return Outcome(holds.place, str(problem))
    except JsonError as problem:
        return Outcome(holds.place, f"`{holds.path}`: {problem.sentence_about('it is')}")
    expected = holds.expected
    wrong = list(differences(expected.value, real))
    if not wrong:
        return Outcome(holds.place)
    lines = "\n" in source.slice(expected.place)
    told = _format_object(reshape(expected.value, real), in_lines=lines)
    failure = "\n".join(f"`{holds.path}`: {sentence}" for sentence in wrong)
    return Outcome(holds.place, failure, Edit(expected.place, told))


def compare_folder(tree: FolderExpectation) -> Outcome:
    """Compare the paths below a folder with the page. A missing folder counts as empty."""
    real = sorted(_paths_below(Path(tree.path)))
    if real == list(tree.names):
        return Outcome(tree.place)
    text = "".join(f"{name}\n" for name in real)
    return Outcome(tree.place, _diff(tree.path, tree.names, real), Edit(tree.body, text))


def _paths_below(top: Path) -> Iterator[str]:
    """Yield the paths of files and empty folders. Folders end with a slash."""
    for one in top.rglob("*"):
        path = one.relative_to(top).as_posix()
        if one.is_symlink() or not one.is_dir():
            yield path
        elif not any(one.iterdir()):
            yield f"{path}/"


def _format_object(value: JSON, *, in_lines: bool) -> str:
    """Write JSON, with `in_lines` one line per key, because evidence files are long."""
    if not in_lines or not isinstance(value, dict):
        return write_json(value)
    pairs = (f"  {write_json(key)}: {write_json(one)}" for key, one in value.items())
    return "{\n" + ",\n".join(pairs) + "\n}"


def _text(path: str) -> str:
    try:
        return Path(path).read_bytes().decode()
    except OSError as problem:
        raise ValueError(f"`{path}` cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"`{path}` is not UTF-8 text") from None


def _diff(path: str, expected: Sequence[str], real: Sequence[str]) -> str:
    names = (f"{path}, expected", f"{path}, real")
    return "\n".join(unified_diff(expected, real, *names, lineterm=""))


def _fits_block(source: SourceFile, expected: FileExpectation, real: str) -> bool:
    """Whether the block can hold the text: complete lines, none of them its closing fence."""
    fence = source.text[expected.body.end :].split("\n", 1)[0].rstrip()
    lines = real.split("\n")
    return lines[-1] == "" and all(line.rstrip() != fence for line in lines)
