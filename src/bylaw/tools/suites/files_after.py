"""What a file must hold after commands → whether it does, and what the page would have to say."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.tools.suites.outcome import Edit, Outcome

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile
    from bylaw.tools.suites.page import After


def file_after(source: SourceFile, expected: After) -> Outcome:
    """Compare a file of the current folder with what the page says of it."""
    try:
        real = Path(expected.path).read_bytes().decode()
    except OSError as problem:
        return Outcome(expected.place, f"`{expected.path}` cannot be read: {problem.strerror}")
    except UnicodeDecodeError:
        return Outcome(expected.place, f"`{expected.path}` is no UTF-8 text")
    if real == expected.text:
        return Outcome(expected.place)
    names = (f"{expected.path}, expected", f"{expected.path}, real")
    diff = unified_diff(expected.text.split("\n"), real.split("\n"), *names, lineterm="")
    fits = _fits(source, expected, real)
    return Outcome(expected.place, "\n".join(diff), Edit(expected.body, real) if fits else None)


def _fits(source: SourceFile, expected: After, real: str) -> bool:
    """Whether a block between these fences can hold the text: whole lines, none of them a fence."""
    fence = source.text[expected.body.end :].split("\n", 1)[0].rstrip()
    lines = real.split("\n")
    return lines[-1] == "" and all(line.rstrip() != fence for line in lines)
