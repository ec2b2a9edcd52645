"""Read the commands of a `run` block with their expected output and exit code."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from bylaw.model.codes.suites import MISSING_EXIT, OUTPUT_WITHOUT_COMMAND, UNRUNNABLE_COMMAND
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.source import Span
from bylaw.tools.suites.markdown import lines_of
from bylaw.tools.suites.page import Step

if TYPE_CHECKING:
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

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


def read_run(source: SourceFile, body: Span) -> tuple[list[Step], list[Diagnostic]]:
    """Return the commands of a block in order, and its errors."""
    block = _Block(source)
    for line in lines_of(source, body):
        block.take(line)
    block.end()
    return block.steps, block.findings


class _Block:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.steps: list[Step] = []
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
        self.steps.append(Step(words, output, exit_code, command, first.to(line)))
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
