"""Compare files after commands with the page, and return the edits that make it right."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.model.strict_json import JsonError, read_json
from bylaw.tools.suites.json_text import write_json
from bylaw.tools.suites.matching import differences, reshaped
from bylaw.tools.suites.outcome import Edit, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON
    from bylaw.tools.suites.page import After, Holds, Tree


def file_after(source: SourceFile, expected: After) -> Outcome:
    """Compare a file of the current folder with its block byte for byte."""
    try:
        real = _text(expected.path)
    except ValueError as problem:
        return Outcome(expected.place, str(problem))
    if real == expected.text:
        return Outcome(expected.place)
    diff = _diff(expected.path, expected.text.split("\n"), real.split("\n"))
    fits = _fits(source, expected, real)
    return Outcome(expected.place, diff, Edit(expected.body, real) if fits else None)


def file_holds(source: SourceFile, holds: Holds) -> Outcome:
    """Compare a JSON file with the part of it that the page shows."""
    try:
        real = read_json(_text(holds.path))
    except ValueError as problem:
        return Outcome(holds.place, str(problem))
    except JsonError as problem:
        return Outcome(holds.place, f"`{holds.path}`: {problem.told_of('it is')}")
    expected = holds.expected
    wrong = list(differences(expected.value, real))
    if not wrong:
        return Outcome(holds.place)
    lines = "\n" in source.slice(expected.place)
    told = _laid_out(reshaped(expected.value, real), in_lines=lines)
    failure = "\n".join(f"`{holds.path}`: {sentence}" for sentence in wrong)
    return Outcome(holds.place, failure, Edit(expected.place, told))


def files_below(tree: Tree) -> Outcome:
    """Compare the paths below a folder with the page. A missing folder counts as empty."""
    real = sorted(_below(Path(tree.path)))
    if real == list(tree.names):
        return Outcome(tree.place)
    text = "".join(f"{name}\n" for name in real)
    return Outcome(tree.place, _diff(tree.path, tree.names, real), Edit(tree.body, text))


def _below(top: Path) -> Iterator[str]:
    """Yield the paths of files and empty folders. Folders end with a slash."""
    for one in top.rglob("*"):
        path = one.relative_to(top).as_posix()
        if one.is_symlink() or not one.is_dir():
            yield path
        elif not any(one.iterdir()):
            yield f"{path}/"


def _laid_out(value: JSON, *, in_lines: bool) -> str:
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


def _fits(source: SourceFile, expected: After, real: str) -> bool:
    """Whether the block can hold the text: complete lines, none of them its closing fence."""
    fence = source.text[expected.body.end :].split("\n", 1)[0].rstrip()
    lines = real.split("\n")
    return lines[-1] == "" and all(line.rstrip() != fence for line in lines)
