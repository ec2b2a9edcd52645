"""Run a case: write its files, decide its events, run its commands, and return the outcomes.

Events are decided like `bylaw decide --rules FILE… --state`. `make spec-update` sets
BYLAW_SPEC_UPDATE: then the expectations of the pages are rewritten instead of compared, and the
difference is reviewed in git.
"""

from __future__ import annotations

import sys
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from difflib import unified_diff
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from msgspec import Struct

from bylaw.engine.index import RuleSet
from bylaw.languages import language_names
from bylaw.model import diagnostic_text
from bylaw.model.decision import NeedName
from bylaw.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from bylaw.model.suggest import did_you_mean
from bylaw.report.decide import EventDecider
from bylaw.report.suites.compare import (
    Edit,
    LineKind,
    Outcome,
    compare_file,
    compare_folder,
    compare_json_file,
    compare_lines,
    differences,
    reshape,
    short_value,
    write_json,
)
from bylaw.report.suites.page import (
    CommandStep,
    FileEdit,
    FileExpectation,
    FileRemoval,
    FolderExpectation,
    JsonExpectation,
)
from bylaw.report.suites.reader import FROM_FILE, GIT, diagnostic_line
from bylaw.runtime.loader import load_paths
from bylaw.runtime.scripts import ScriptRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON
    from bylaw.report.suites.page import AnyStep, Case, ExpectedValue, PageFile

INDENT = 2


class DecideOutput(Struct, frozen=True):
    """The lines of `bylaw decide --state`, and the diagnostics of the rule files."""

    lines: Sequence[Mapping[str, JSON]]
    diagnostics: Sequence[Diagnostic]


class Decider(Struct, frozen=True):
    """Decides events (JSON Lines) with rule files (paths, in order) of the given languages."""

    decide: Callable[[Sequence[str], bytes], DecideOutput]
    dialects: Collection[str]


def check_decisions(source: SourceFile, case: Case, decider: Decider) -> Iterator[Outcome]:
    """Compare the expectations of a case with the decisions made in the current folder."""
    if not (case.decisions or case.states or case.diagnostics):
        return
    paths = [file.path for file in case.files if file.word in decider.dialects]
    if not paths:
        yield Outcome(case.place, _no_rule_file(case, decider.dialects))
        return
    decided = decider.decide(paths, "".join(case.events).encode())
    yield from _check_diagnostics(source, case, sort_diagnostics(decided.diagnostics))
    lines = [dict(line) for line in decided.lines]
    if case.decisions:
        yield from compare_lines(_DECISION, source, case.decisions, lines)
    for state in case.states:
        yield _check_state(source, state, lines)


def _no_rule_file(case: Case, dialects: Collection[str]) -> str:
    first = case.files[0].word if case.files else ""
    help_ = did_you_mean(first, dialects)
    return f"this case has no rule file: the first word of a file block names its language; {help_}"


def _check_diagnostics(
    source: SourceFile, case: Case, found: Sequence[Diagnostic]
) -> Iterator[Outcome]:
    if case.diagnostics:
        told: list[JSON] = [diagnostic_line(d.severity, d.code, d.underlined) for d in found]
        yield from compare_lines(_DIAGNOSTIC, source, case.diagnostics, told)
    elif errors := [one for one in found if one.severity is Severity.ERROR]:
        # Without the refused file, the decisions would not be those of the rules on the page.
        why = "a rule file has errors, but no `diagnostics` block expects them"
        yield Outcome(case.place, f"{why}\n{diagnostic_text.render(errors)}")


def _decision_differences(expected: JSON, real: JSON) -> Iterator[str]:
    wrong = list(differences(expected, real))
    yield from wrong
    if wrong:
        yield f"in full {short_value(real)}"


def _rewrite_decision(expected: JSON, real: JSON) -> str:
    # `{}`, or a shape without a key of the line, is filled with the most important keys.
    return write_json(reshape(expected, real) or reshape(_KEY_FIELDS, real))


def _diagnostic_differences(expected: JSON, real: JSON) -> Iterator[str]:
    if expected != real:
        yield f"it is {_quote(real)}, expected {_quote(expected)}"


def _quote(line: JSON) -> str:
    return f"`{line}`"


_KEY_FIELDS: JSON = {"verdict": "", "error": {"code": ""}}
_DECISION = LineKind("decision", _decision_differences, _rewrite_decision, short_value)
_DIAGNOSTIC = LineKind("diagnostic", _diagnostic_differences, lambda _, real: str(real), _quote)


def _check_state(
    source: SourceFile, expected: ExpectedValue, lines: Sequence[Mapping[str, JSON]]
) -> Outcome:
    states = [line["state"] for line in lines if "state" in line]
    if not states:
        return Outcome(expected.place, "no state: no event was decided")
    wrong = list(differences(expected.value, states[-1]))
    if not wrong:
        return Outcome(expected.place)
    indent = INDENT if "\n" in source.slice(expected.place) else None
    told = write_json(reshape(expected.value, states[-1]), indent=indent)
    failure = "\n".join(f"last state: {sentence}" for sentence in wrong)
    return Outcome(expected.place, failure, Edit(expected.place, told))


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
        decided = list(check_decisions(source, case, decider))
        run = _Programs(main, process)
        return decided + [out for step in case.steps for out in _run_any_step(source, step, run)]


def _run_any_step(source: SourceFile, step: AnyStep, programs: _Programs) -> Iterator[Outcome]:
    match step:
        case CommandStep():
            yield _run_step(source, step, programs)
        case FileExpectation():
            yield compare_file(source, step)
        case JsonExpectation():
            yield compare_json_file(source, step)
        case FolderExpectation():
            yield compare_folder(step)
        case FileEdit(file):
            yield from _write(file, Path())
        case FileRemoval():
            yield from _remove(step)


def _has_text(file: PageFile, beside: Path) -> bool:
    return bool(file.text.strip()) or (beside / file.path).is_file()


def _write(file: PageFile, folder: Path, beside: Path | None = None) -> Iterator[Outcome]:
    path = folder / file.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_text_beside(file, beside) or file.text.encode())
    except OSError as problem:  # the name is too long, or is the folder of another file
        yield Outcome(file.place, f"`{file.path}` cannot be written: {problem.strerror}")


def _remove(removed: FileRemoval) -> Iterator[Outcome]:
    try:
        Path(removed.path).unlink()
    except OSError as problem:
        why = f"`{removed.path}` cannot be removed: {problem.strerror}"
        yield Outcome(removed.place, why)


def _text_beside(file: PageFile, beside: Path | None) -> bytes:
    if beside is None or file.text.strip() or not (beside / file.path).is_file():
        return b""
    return (beside / file.path).read_bytes()


def _run_step(source: SourceFile, step: CommandStep, programs: _Programs) -> Outcome:
    output, errors, exit_code = programs.run(step.words)
    told, expected = (
        _with_exit_code(output, exit_code),
        _with_exit_code(step.output, step.exit_code),
    )
    if told == expected:
        return Outcome(step.expectation)
    diff = unified_diff(expected.split("\n"), told.split("\n"), "expected", "real", lineterm="")
    failure = "\n".join([f"$ {source.slice(step.command)}", *diff, errors])
    return Outcome(step.expectation, failure, Edit(step.expectation, told))


def _needs_process(step: AnyStep) -> TypeGuard[CommandStep]:
    return isinstance(step, CommandStep) and _in_process(step.words)


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


def _with_exit_code(output: str, exit_code: int) -> str:
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


def installed_decider() -> Decider:
    """Return a decider that works like `bylaw decide`."""
    return Decider(decide_files, language_names())


def decide_files(paths: Sequence[str], events: bytes) -> DecideOutput:
    """Load the files from the current folder and decide the events in order."""
    library = load_paths(paths)
    if library.refusals:
        return DecideOutput([], library.diagnostics)
    with ScriptRunner() as scripts:
        gatherers = {NeedName.SCRIPTS: scripts.gather}
        decider = EventDecider(RuleSet(library.in_force()), with_state=True, gatherers=gatherers)
        return DecideOutput(list(decider.decide_stream(BytesIO(events))), library.diagnostics)
