"""Run a case and return the outcome of each expectation.

`make spec-update` sets BYLAW_SPEC_UPDATE: then the expectations of the pages are rewritten instead
of compared, and the difference is reviewed in git.
"""

from __future__ import annotations

import sys
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from difflib import unified_diff
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from msgspec import Struct

from bylaw.tools.suites.commands import FROM_FILE, GIT
from bylaw.tools.suites.deciding import Decider, try_decisions
from bylaw.tools.suites.files_after import file_after, file_holds, files_below
from bylaw.tools.suites.outcome import Edit, Outcome
from bylaw.tools.suites.page import After, Edited, Holds, Removed, Step, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.model.source import SourceFile
    from bylaw.tools.suites.page import AnyStep, Case, File

JOURNAL = "journal"
# Takes a path and events, one per line, and writes a journal.
Recorder: TypeAlias = "Callable[[str, str], None]"
# The words of a command → standard output, standard error, exit code.
Process: TypeAlias = "Callable[[Sequence[str]], tuple[str, str, int]]"
UPDATE_VARIABLE = "BYLAW_SPEC_UPDATE"


def run_case(
    source: SourceFile,
    case: Case,
    folder: Path,
    *,
    beside: Path,
    decider: Decider,
    main: Callable[[], int],
    record: Recorder | None = None,
    process: Process | None = None,
) -> list[Outcome]:
    """Write the files of a case into an empty folder, decide its events, run its commands.

    `beside` is the folder of the page: a file block without text is a copy of the file there. A
    `journal` block has events, and `record` writes the journal from them. `main` runs commands of
    Bylaw. `process` runs commands that need a process: git, and commands with a file as standard
    input.
    """
    for file in case.files:
        if file.word in decider.dialects and not _has_text(file, beside):
            return [Outcome(file.place, f"`{file.path}` is not in the folder of the page")]
    journals = [file for file in case.files if file.word == JOURNAL]
    if journals and record is None:
        return [Outcome(journals[0].place, "cannot create a journal here")]
    if process is None and (asked := next(filter(_needs_process, case.steps), None)):
        return [Outcome(asked.expectation, "cannot start a process here")]
    texts = [file for file in case.files if file.word != JOURNAL]
    unwritten = [outcome for file in texts for outcome in _write(file, folder, beside)]
    if unwritten:
        return unwritten
    with chdir(folder):
        for file in journals:
            assert record is not None
            record(file.path, file.text)
        decided = list(try_decisions(source, case, decider))
        run = _Programs(main, process)
        return decided + [out for step in case.steps for out in _step(source, step, run)]


def _step(source: SourceFile, step: AnyStep, programs: _Programs) -> Iterator[Outcome]:
    match step:
        case Step():
            yield _run_step(source, step, programs)
        case After():
            yield file_after(source, step)
        case Holds():
            yield file_holds(source, step)
        case Tree():
            yield files_below(step)
        case Edited(file):
            yield from _write(file, Path())
        case Removed():
            yield from _remove(step)


def _has_text(file: File, beside: Path) -> bool:
    return bool(file.text.strip()) or (beside / file.path).is_file()


def _write(file: File, folder: Path, beside: Path | None = None) -> Iterator[Outcome]:
    path = folder / file.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_text_beside(file, beside) or file.text.encode())
    except OSError as problem:  # the name is too long, or is the folder of another file
        yield Outcome(file.place, f"`{file.path}` cannot be written: {problem.strerror}")


def _remove(removed: Removed) -> Iterator[Outcome]:
    try:
        Path(removed.path).unlink()
    except OSError as problem:
        why = f"`{removed.path}` cannot be removed: {problem.strerror}"
        yield Outcome(removed.place, why)


def _text_beside(file: File, beside: Path | None) -> bytes:
    if beside is None or file.text.strip() or not (beside / file.path).is_file():
        return b""
    return (beside / file.path).read_bytes()


def _run_step(source: SourceFile, step: Step, programs: _Programs) -> Outcome:
    output, errors, exit_code = programs.run(step.words)
    told, expected = _told(output, exit_code), _told(step.output, step.exit_code)
    if told == expected:
        return Outcome(step.expectation)
    diff = unified_diff(expected.split("\n"), told.split("\n"), "expected", "real", lineterm="")
    failure = "\n".join([f"$ {source.slice(step.command)}", *diff, errors])
    return Outcome(step.expectation, failure, Edit(step.expectation, told))


def _needs_process(step: AnyStep) -> TypeGuard[Step]:
    return isinstance(step, Step) and _in_process(step.words)


def _in_process(words: Sequence[str]) -> bool:
    return words[0] == GIT or FROM_FILE in words[-2:-1]


class _Programs(Struct, frozen=True):
    """Runs the commands of a page, in this process or in a new one."""

    main: Callable[[], int]
    process: Process | None

    def run(self, words: Sequence[str]) -> tuple[str, str, int]:
        return self.process(words) if self.process and _in_process(words) else self._bylaw(words)

    def _bylaw(self, words: Sequence[str]) -> tuple[str, str, int]:
        output, errors = _stream(), _stream()
        with redirect_stdout(output), redirect_stderr(errors), _arguments(words):
            exit_code = self.main()
        return _text(output), _text(errors), exit_code


def _told(output: str, exit_code: int) -> str:
    return f"{output}[exit {exit_code}]"


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
