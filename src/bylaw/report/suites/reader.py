"""Read the cases of a Markdown page, or report its errors.

A case is a heading `## Title [CM-024, CM-A21]` with the requirements that it checks. The info
string of a block says what it is: a word of `_BLOCKS`, or any word and a path for a file that the
case needs. `edit`, `after` and the other words of `_BETWEEN`, with a path, are steps between the
commands. Blocks before the first case belong to every case of the page.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from bylaw.model.codes.runtime import (
    BAD_BLOCK_PATH,
    BAD_DIAGNOSTIC_LINE,
    BAD_EXPECTATION,
    BAD_REQUIREMENT_LIST,
    DUPLICATE_CASE,
    EMPTY_CASE,
    MISSING_EXIT,
    OUTPUT_WITHOUT_COMMAND,
    TOO_MANY_SHARED,
    UNCLOSED_BLOCK,
    UNKNOWN_BLOCK,
    UNPAIRED_EVENTS,
    UNRUNNABLE_COMMAND,
)
from bylaw.model.diagnostic import Diagnostic, Label, Severity, error
from bylaw.model.errors import LoadError
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import JsonError, read_json
from bylaw.report.suites.compare import write_json
from bylaw.report.suites.page import (
    Blocks,
    Case,
    CommandStep,
    ExpectedLines,
    ExpectedValue,
    Fence,
    FileEdit,
    FileExpectation,
    FileRemoval,
    FolderExpectation,
    Heading,
    JsonExpectation,
    Page,
    PageFile,
    lines_of,
    scan_markdown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON

PROMPT = "$ "
PROGRAM = "bylaw"
GIT = "git"
PROGRAMS = (PROGRAM, GIT)
# Before the last word of a command: that word is a file for standard input.
FROM_FILE = "<"
# More than the system allows for one argument. Splitting is quadratic in the longest word.
MAX_COMMAND_CHARS = 130_000
MAX_FINDINGS = 100

_EXIT = re.compile(r"\[exit (\d{1,3})\]")


def read_run(source: SourceFile, body: Span) -> tuple[list[CommandStep], list[Diagnostic]]:
    """Return the commands of a block in order, and its errors."""
    block = _RunBlock(source)
    for line in lines_of(source, body):
        block.take(line)
    block.end()
    return block.steps, block.findings


class _RunBlock:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.steps: list[CommandStep] = []
        self.findings: list[Diagnostic] = []
        self._command: Span | None = None
        self._output: list[Span] = []

    def take(self, line: Span) -> None:
        text = self.source.slice(line)
        if text.startswith(PROMPT):
            self.end()
            self._command = Span(line.start + len(PROMPT), line.end)
        elif self._command is None:
            if text.strip():
                self._refuse_output(line)
        elif found := _EXIT.fullmatch(text):
            self._finish(self._command, line, int(found[1]))
        else:
            self._output.append(line)

    def end(self) -> None:
        """Refuse a command that is still open: its exit code is missing."""
        if self._command is not None:
            headline = "missing exit code for this command"
            help_ = "write `[exit 0]` on its own line after the output"
            self._refuse(MISSING_EXIT, headline, self._command, help_)
        self._command, self._output = None, []

    def _finish(self, command: Span, line: Span, exit_code: int) -> None:
        first = self._output[0] if self._output else line
        output = "".join(self.source.slice(part) + "\n" for part in self._output)
        words = self._words(command)
        self.steps.append(CommandStep(words, output, exit_code, command, first.to(line)))
        self._command, self._output = None, []

    def _words(self, command: Span) -> tuple[str, ...]:
        words = _split(self.source.slice(command))
        if not words or words[0] not in PROGRAMS:
            headline = "this command cannot be run here"
            help_ = "write a `bylaw` or `git` command with balanced quotes and no shell syntax"
            self._refuse(UNRUNNABLE_COMMAND, headline, command, help_)
        return words

    def _refuse_output(self, line: Span) -> None:
        headline = "output without a command"
        help_ = "write its command above it, after `$ `"
        self._refuse(OUTPUT_WITHOUT_COMMAND, headline, line, help_)

    def _refuse(self, code: Code, headline: str, span: Span, help_: str) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(error(code, headline, self.source, span, help=help_))


def _split(command: str) -> tuple[str, ...]:
    if len(command) > MAX_COMMAND_CHARS:
        return ()
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


_DIAGNOSTIC = re.compile(rf'({"|".join(Severity)}) +(\S+) +(".*") *')


def read_decisions(source: SourceFile, block: Fence) -> tuple[ExpectedLines, list[Diagnostic]]:
    """Read the objects of an `expect` block, one per line."""
    return _read_lines(source, block, _read_object)


def read_diagnostics(source: SourceFile, block: Fence) -> tuple[ExpectedLines, list[Diagnostic]]:
    """Read the lines of a `diagnostics` block, each in the form of `diagnostic_line`."""
    return _read_lines(source, block, _read_diagnostic)


def read_state(source: SourceFile, block: Fence) -> tuple[ExpectedValue, list[Diagnostic]]:
    """Read the object of a `state` or `holds` block. It may have several lines."""
    body = source.slice(block.body)
    start = block.body.start + len(body) - len(body.lstrip())
    place = Span(start, start + len(body.strip()))
    if place.start == place.end:
        return ExpectedValue({}, place), [
            _bad_expectation(source, block.span, "missing JSON object")
        ]
    try:
        return ExpectedValue(_read_object(source, place), place), []
    except LoadError as refused:
        return ExpectedValue({}, place), refused.diagnostics


def diagnostic_line(severity: str, code: str, underlined: str) -> str:
    """Write a diagnostic as a page does: the underlined text as JSON string, no columns."""
    return f"{severity} {code} {write_json(underlined)}"


def _read_lines(
    source: SourceFile, block: Fence, read: Callable[[SourceFile, Span], JSON]
) -> tuple[ExpectedLines, list[Diagnostic]]:
    lines: list[ExpectedValue] = []
    findings: list[Diagnostic] = []
    for place in lines_of(source, block.body):
        if not source.slice(place).strip():
            continue
        try:
            lines.append(ExpectedValue(read(source, place), place))
        except LoadError as refused:
            findings += refused.diagnostics
        if len(findings) == MAX_FINDINGS:
            break
    return ExpectedLines(tuple(lines), block.body.end), findings


def _read_object(source: SourceFile, place: Span) -> JSON:
    try:
        value = read_json(source.slice(place))
    except JsonError as problem:
        span = Span(place.start + problem.span.start, place.start + problem.span.end)
        raise LoadError(
            [_bad_expectation(source, span, problem.sentence_about("this is"))]
        ) from None
    if not isinstance(value, dict):
        raise LoadError([_bad_expectation(source, place, "this is JSON, but not an object")])
    return value


def _bad_expectation(source: SourceFile, span: Span, headline: str) -> Diagnostic:
    help_ = 'write a JSON object such as `{"verdict": "deny"}`'
    return error(BAD_EXPECTATION, headline, source, span, help=help_)


def _read_diagnostic(source: SourceFile, place: Span) -> JSON:
    found = _DIAGNOSTIC.fullmatch(source.slice(place))
    try:
        underlined = read_json(found[3]) if found else None
    except JsonError:
        underlined = None
    if found is None or not isinstance(underlined, str):
        headline = "this line is not a diagnostic"
        help_ = 'write severity, code and the underlined text: `error empty-case "A case"`'
        raise LoadError([error(BAD_DIAGNOSTIC_LINE, headline, source, place, help=help_)])
    return diagnostic_line(found[1], found[2], underlined)


CASE_LEVEL = 2
# Every case repeats these, so the cost is their number times the number of cases.
MAX_SHARED = 20

# Possessive and from the bracket on, so that long titles cause no backtracking.
_IDS = re.compile(r"\[([^\[\]]*+)\]$")
_REQUIREMENT = re.compile(r"[A-Z]{2}-A?[0-9]+")


def read_page(source: SourceFile, *, prose: bool = False) -> Page:
    """Read every case of a page. Raise LoadError with all errors if it is malformed.

    In a page of `prose`, a heading without blocks is not a case.
    """
    reader = _PageReader(source, prose=prose)
    for item in scan_markdown(source):
        reader.take(item)
        if len(reader.findings) == MAX_FINDINGS:
            break
    reader.end_case()
    if reader.findings:
        raise LoadError(reader.findings)
    return Page(source, tuple(reader.cases))


class _PageReader:
    """Finished cases, and the blocks of the case that is being read."""

    def __init__(self, source: SourceFile, *, prose: bool) -> None:
        self.source = source
        self.prose = prose
        self.cases: list[Case] = []
        self.findings: list[Diagnostic] = []
        self.blocks = Blocks()
        self._heading: Heading | None = None
        self._seen: dict[str, Span] = {}
        self._shared = Blocks()

    def take(self, item: Heading | Fence) -> None:
        if isinstance(item, Fence):
            self._add_block(item)
            self._check_shared(item.span)
        elif item.level <= CASE_LEVEL:
            self.end_case()
            self._heading = item if item.level == CASE_LEVEL else None

    def end_case(self) -> None:
        if self._heading is None:
            # Blocks outside of a case belong to all cases after them.
            self._shared = self._shared.plus(self.blocks)
        elif not (self.prose and self.blocks.is_empty):
            self._add_case(self._heading)
        self.blocks = Blocks()

    def _check_shared(self, span: Span) -> None:
        if self._heading is None and self._shared.size + self.blocks.size > MAX_SHARED:
            headline = f"more than {MAX_SHARED} blocks and commands before the first case"
            help_ = "move blocks that only some cases need into those cases"
            self.refuse(TOO_MANY_SHARED, headline, span, help=help_)
            raise LoadError(self.findings)

    def refuse(
        self,
        code: Code,
        headline: str,
        span: Span,
        *,
        labels: tuple[Label, ...] = (),
        help: str = "",  # noqa: A002 - the word in the output
    ) -> None:
        if len(self.findings) < MAX_FINDINGS:
            found = error(code, headline, self.source, span, labels=labels, help=help)
            self.findings.append(found)

    def _add_case(self, heading: Heading) -> None:
        found = _IDS.search(heading.title)
        title = heading.title[: found.start()].rstrip(" ") if found else heading.title
        blocks = self._shared.plus(self.blocks)
        self._check_title(title, heading.span)
        self._check_blocks(blocks, heading.span)
        ids = self._requirements(found, heading.span.start)
        self.cases.append(blocks.case(title, ids, heading.span))

    def _check_title(self, title: str, span: Span) -> None:
        first = self._seen.setdefault(title, span)
        if first is not span:
            headline = f"duplicate case title `{title}`"
            labels = (Label(first, "first used here"),)
            help_ = "rename one of them"
            self.refuse(DUPLICATE_CASE, headline, span, labels=labels, help=help_)

    def _check_blocks(self, blocks: Blocks, span: Span) -> None:
        if blocks.has_event_checks and not blocks.events:
            headline = "this case expects decisions, but has no events"
            help_ = "add an `events` block"
            self.refuse(UNPAIRED_EVENTS, headline, span, help=help_)
        elif self.blocks.events and not blocks.has_event_checks:
            headline = "this case has events, but no expectation for them"
            help_ = "add an `expect` or a `state` block"
            self.refuse(UNPAIRED_EVENTS, headline, span, help=help_)
        elif self.blocks.is_empty or not blocks.has_checks:
            help_ = "add an expectation, or use a heading of the third level (`###`)"
            self.refuse(EMPTY_CASE, "this case checks nothing", span, help=help_)

    def _requirements(self, found: re.Match[str] | None, title_start: int) -> tuple[str, ...]:
        if found is None:
            return ()
        at = title_start + found.start(1)
        ids = []
        for part in found[1].split(","):
            ids.append(part.strip())
            if not _REQUIREMENT.fullmatch(ids[-1]):
                headline, span = f"`{ids[-1]}` is not a requirement id", Span(at, at + len(part))
                help_ = "write ids such as `CM-024` or `CM-A21`, separated by commas"
                self.refuse(BAD_REQUIREMENT_LIST, headline, span, help=help_)
            at += len(part) + 1
        return tuple(ids)

    def _add_block(self, block: Fence) -> None:
        word, _, path = block.info.partition(" ")
        if not block.closed:
            help_ = "close it with as many backticks as it begins with"
            self.refuse(UNCLOSED_BLOCK, "unclosed block", block.span, help=help_)
        elif path:
            self._add_file(word, path.strip(), block)
        elif word in _BLOCKS:
            _BLOCKS[word](self, block)
        elif word:
            self.refuse(
                UNKNOWN_BLOCK,
                f"unknown block `{word}`",
                block.span,
                help=did_you_mean(word, _BLOCKS) + "; a file needs a path after its first word",
            )

    def _add_file(self, word: str, path: str, block: Fence) -> None:
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.name:
            headline = f"`{path}` is not a path inside the folder of the case"
            help_ = "use a relative path without `..`"
            self.refuse(BAD_BLOCK_PATH, headline, block.span, help=help_)
            return
        file = PageFile(str(pure), self.source.slice(block.body), word, block.span)
        if word in _BETWEEN:
            _BETWEEN[word](self, file, block)
        else:
            self.blocks.files.append(file)

    def add_after(self, file: PageFile, block: Fence) -> None:
        self.blocks.steps.append(FileExpectation(file.path, file.text, block.span, block.body))

    def add_edit(self, file: PageFile, _block: Fence) -> None:
        self.blocks.steps.append(FileEdit(file))

    def add_removal(self, file: PageFile, _block: Fence) -> None:
        self.blocks.steps.append(FileRemoval(file.path, file.place))

    def add_tree(self, file: PageFile, block: Fence) -> None:
        names = tuple(file.text.split("\n")[:-1])
        self.blocks.steps.append(FolderExpectation(file.path, names, block.span, block.body))

    def add_holds(self, file: PageFile, block: Fence) -> None:
        expected, findings = read_state(self.source, block)
        self.blocks.steps.append(JsonExpectation(file.path, expected, block.span))
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_run(self, block: Fence) -> None:
        steps, findings = read_run(self.source, block.body)
        self.blocks.steps += steps
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_events(self, block: Fence) -> None:
        self.blocks.events.append(self.source.slice(block.body))

    def add_decisions(self, block: Fence) -> None:
        lines, findings = read_decisions(self.source, block)
        self.blocks.decisions.append(lines)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_state(self, block: Fence) -> None:
        state, findings = read_state(self.source, block)
        self.blocks.states.append(state)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]

    def add_diagnostics(self, block: Fence) -> None:
        lines, findings = read_diagnostics(self.source, block)
        self.blocks.diagnostics.append(lines)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]


# First words of file blocks that are steps between commands, not files of the start.
_BETWEEN: dict[str, Callable[[_PageReader, PageFile, Fence], None]] = {
    "after": _PageReader.add_after,
    "edit": _PageReader.add_edit,
    "holds": _PageReader.add_holds,
    "remove": _PageReader.add_removal,
    "tree": _PageReader.add_tree,
}

# Blocks that are not files. A new kind needs a line here and a method above.
_BLOCKS: dict[str, Callable[[_PageReader, Fence], None]] = {
    "events": _PageReader.add_events,
    "expect": _PageReader.add_decisions,
    "state": _PageReader.add_state,
    "diagnostics": _PageReader.add_diagnostics,
    "run": _PageReader.add_run,
}
