"""A case → what its commands really print, and a page with these outputs written in.

`make spec-update` sets BYLAW_SPEC_UPDATE: then the expected outputs are rewritten instead
of compared, and the difference is reviewed in git.
"""

from __future__ import annotations

import sys
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from bylaw.model.source import SourceFile
    from bylaw.tools.suites.page import Case, Step

UPDATE_VARIABLE = "BYLAW_SPEC_UPDATE"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step really did; standard error is kept for the reader of a failure."""

    step: Step
    output: str
    exit_code: int
    errors: str

    @property
    def as_expected(self) -> bool:
        """Whether output and exit code are those of the page."""
        return (self.output, self.exit_code) == (self.step.output, self.step.exit_code)


def run_case(case: Case, folder: Path, main: Callable[[], int]) -> list[Outcome]:
    """Write the files of a case into an empty folder and call `main` for each command in it."""
    for file in case.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.text.encode())
    with chdir(folder):
        return [_run_step(step, main) for step in case.steps]


def updated(source: SourceFile, outcomes: Iterable[Outcome]) -> str:
    """The text of the page with what the commands really printed."""
    text = source.text
    # From the last to the first, so that the places before stay where they are.
    for outcome in sorted(outcomes, key=lambda o: o.step.expectation, reverse=True):
        place = outcome.step.expectation
        told = f"{outcome.output}[exit {outcome.exit_code}]"
        text = text[: place.start] + told + text[place.end :]
    return text


def _run_step(step: Step, main: Callable[[], int]) -> Outcome:
    output, errors = _stream(), _stream()
    with redirect_stdout(output), redirect_stderr(errors), _arguments(step.words):
        exit_code = main()
    return Outcome(step, _text(output), exit_code, _text(errors))


@contextmanager
def _arguments(words: Sequence[str]) -> Iterator[None]:
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = list(words), _stream()
    try:
        yield
    finally:
        sys.argv, sys.stdin = before


def _stream() -> TextIOWrapper:
    return TextIOWrapper(BytesIO(), encoding="utf-8", newline="")


def _text(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
