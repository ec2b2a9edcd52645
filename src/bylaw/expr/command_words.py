"""The text of a command → its words, by the quoting rules of POSIX and without a shell.

Shell syntax other than quotes is rejected: without a shell, `&&` or `$(…)` would have no effect.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from bylaw.model.errors import BylawError
from bylaw.model.source import Span

MAX_COMMAND = 10_000  # characters

# At each place one of these matches; `unclosed` matches only if none before it does.
_PIECE = re.compile(
    r"(?P<gap>[ \t]+)"
    r"|'(?P<single>[^']*)'"
    r'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"'
    r"|\\(?P<escaped>[^\r\n])"
    r"|(?P<shell>&&|\|\||>>|<<|\$[({]|[;&|<>()$`\r\n]|\\(?:\r?\n|\r))"
    r"|(?P<unclosed>['\"\\])"
    r"|(?P<plain>[^ \t'\"\\;&|<>()$`\r\n]+)",
    re.DOTALL,
)
_IN_DOUBLE_QUOTES = re.compile(r"\\.|\$[({]?|`", re.DOTALL)
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r'\\(?:\n|([$`"\\]))')
_UNUSABLE = re.compile("[\0\ud800-\udfff]")
_EXPANDED = re.compile(r"[*?\[]")


class CommandFault(StrEnum):
    """What is wrong with the text of a command."""

    SHELL = "shell syntax"
    QUOTES = "no words"


class CommandTextError(BylawError):
    """A text is not a command: the reason, its place in the text, and a help text."""

    def __init__(self, fault: CommandFault, reason: str, span: Span, help_: str) -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason
        self.span = span
        self.help = help_


class CommandWords(Struct, frozen=True):
    """The words, the span of the first one, and the spans that a shell would have expanded."""

    words: tuple[str, ...]
    program: Span
    unexpanded: tuple[Span, ...]


def split_words(text: str) -> CommandWords:
    """Return the words of a command, at least one; raise CommandTextError if it is not valid."""
    _check_text(text)
    splitter = _Splitter(text)
    splitter.split()
    return CommandWords(tuple(splitter.words), splitter.program, tuple(splitter.unexpanded))


def _check_text(text: str) -> None:
    if not text.strip():
        help_ = "write a program and its arguments"
        raise CommandTextError(
            CommandFault.QUOTES, "the command is empty", Span(0, len(text)), help_
        )
    if len(text) > MAX_COMMAND:
        reason = f"the command is longer than {MAX_COMMAND:,} characters"
        rest, help_ = Span(MAX_COMMAND, len(text)), "put the work into a script"
        raise CommandTextError(CommandFault.QUOTES, reason, rest, help_)
    if bad := _UNUSABLE.search(text):
        reason = f"the character U+{ord(bad[0]):04X} cannot be part of an argument"
        raise CommandTextError(CommandFault.QUOTES, reason, Span(*bad.span()), "delete it")


class _Splitter:
    """The words so far, the span of the first one, and what a shell would have expanded."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self.unexpanded: list[Span] = []
        self.program = Span(0, 0)
        self._word: list[str] | None = None
        self._start = 0

    def split(self) -> None:
        """Split the text."""
        for found in _PIECE.finditer(self.text):
            self._take(found)
        self._end_word(len(self.text))

    def _take(self, found: re.Match[str]) -> None:
        match found.lastgroup:
            case "gap":
                self._end_word(found.start())
            case "single" | "escaped":
                self._add(found[found.lastgroup], found.start())
            case "double":
                self._check_double_quotes(found)
                inside = _ESCAPED_IN_DOUBLE_QUOTES.sub(lambda one: one[1] or "", found["double"])
                self._add(inside, found.start())
            case "plain":
                self._plain(found)
            case "unclosed":
                self._refuse_unclosed(found)
            case _:
                self._refuse_shell(Span(*found.span()))

    def _plain(self, found: re.Match[str]) -> None:
        start = found.start()
        at_word_start = self._word is None
        if at_word_start and found[0][0] == "#":
            self._refuse_shell(Span(start, start + 1))
        if at_word_start and found[0][0] == "~":
            self.unexpanded.append(Span(start, start + 1))
        for one in _EXPANDED.finditer(found[0]):
            self.unexpanded.append(Span(*one.span()).shift(start))
        self._add(found[0], start)

    def _add(self, piece: str, start: int) -> None:
        if self._word is None:
            self._word, self._start = [], start
        self._word.append(piece)

    def _end_word(self, end: int) -> None:
        if self._word is None:
            return
        if not self.words:
            self.program = Span(self._start, end)
        self.words.append("".join(self._word))
        self._word = None

    def _check_double_quotes(self, found: re.Match[str]) -> None:
        for one in _IN_DOUBLE_QUOTES.finditer(found["double"]):
            if one[0][0] != "\\":
                at = Span(*one.span()).shift(found.start("double"))
                help_ = f"put it in single quotes, or write `\\{one[0][0]}`, if it is an argument"
                self._refuse_shell(at, help_)

    def _refuse_unclosed(self, found: re.Match[str]) -> None:
        if found[0] == "\\":
            reason, help_ = "the command ends with a backslash", "delete it, or write `\\\\`"
        else:
            reason, help_ = f"`{found[0]}` is never closed", f"write another `{found[0]}`"
        raise CommandTextError(CommandFault.QUOTES, reason, Span(*found.span()), help_)

    def _refuse_shell(self, at: Span, help_: str = "") -> None:
        written = self.text[at.start : at.end]
        if written.strip("\\\r\n"):
            shown = "a backtick" if written == "`" else f"`{written}`"
            reason = f"{shown} is shell syntax, but the command runs without a shell"
            help_ = help_ or "write one program with its arguments; quote shell characters"
        else:
            reason, help_ = "a line break ends a command", "write the command on one line"
        raise CommandTextError(CommandFault.SHELL, reason, at, help_)
