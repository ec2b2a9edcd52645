"""Parse a shell text into simple commands: words, files that they write, texts that they read.

Keywords are the first words of their commands. If a text cannot be parsed completely, the commands
before the error are used: a shell runs a text line by line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from bylaw.hosts.hooks.protect.shell_word import (
    BLANK,
    BREAKS,
    Piece,
    PieceKind,
    ShellTextError,
    WordReader,
    expanding,
)

if TYPE_CHECKING:
    from bylaw.hosts.hooks.protect.shell_word import Word

MAX_COMMANDS = 2_000
MAX_WORDS = 10_000
OPENERS = frozenset({"{", "while", "until", "for", "if", "case"})
CLOSERS = frozenset({"}", "done", "fi", "esac"})


class Command(Struct):
    """A simple command; `piped` says that it reads the output of the command before it.

    `writes` are the files for its output, `reads` those for its input, `here` the texts of its
    here-documents. A command without words has only these. `after_group` says that a group is
    before it in the pipe.
    """

    words: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    here: list[Word] = field(default_factory=list)
    piped: bool = False
    after_group: bool = False


def opens_group(command: Command) -> bool:
    """Whether commands after this one get its input, too."""
    return _first_word(command) in OPENERS


def closes_group(command: Command) -> bool:
    """Whether commands before this one get its input, too."""
    return not command.words or _first_word(command) in CLOSERS


def _first_word(command: Command) -> str:
    return "".join(one.text for one in command.words[0]) if command.words else ""


class ShellText(NamedTuple):
    """The commands of a text in their order; `is_whole` says that these are all.

    `is_chain` says that each of them but the first runs only if the one before it succeeds.
    """

    commands: list[Command]
    is_whole: bool
    is_chain: bool = False


def read_shell(text: str) -> ShellText:
    """Parse a shell text."""
    reader = _Reader(text)
    try:
        return ShellText(reader.read(), is_whole=True, is_chain=reader.is_chain)
    except ShellTextError:
        return ShellText(reader.read_so_far(), is_whole=False)


_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|\n()]")
_REDIRECTION = re.compile(
    r"(?P<both>&>>?)|(?:\{\w+\}|[0-9]*)(?P<way><<<|<<-?|<>|<&|>&|>>|>\||<(?!\()|>(?!\())"
)
_DIGITS = re.compile(r"[0-9]+-?|-")


class _Reader(WordReader):
    """Reads commands from the position `at` on."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.commands: list[Command] = []
        self.is_chain = True
        self._now = Command()
        self._count = 0
        self._closed = False  # whether a group has just ended
        # Here-documents whose text follows the line: command, end mark, quoted, with tabs.
        self._awaited: list[tuple[Command, str, bool, bool]] = []

    def read(self) -> list[Command]:
        while self.at < len(self.text):
            self._step()
        self._end(piped=False)
        if self._awaited:
            raise ShellTextError("a here-document has no end")
        return self.commands

    def read_so_far(self) -> list[Command]:
        """Return the commands so far, with the incomplete one."""
        return [*self.commands, self._now]

    def _step(self) -> None:
        text, at = self.text, self.at
        if text[at] in BLANK:
            self.at += 1
        elif text.startswith("\\\n", at):
            self.at += 2
        elif text[at] == "#":
            found = text.find("\n", at)
            self.at = len(text) if found < 0 else found
        elif redirection := _REDIRECTION.match(text, at):
            self._redirect(redirection)
        elif text.startswith(("<(", ">("), at):
            self._take(self.word())
        elif operator := _OPERATOR.match(text, at):
            self._operate(operator[0])
        else:
            self._take(self.word())

    def _operate(self, operator: str) -> None:
        self.at += len(operator)
        piped = operator in {"|", "|&"}
        self.is_chain &= piped or operator == "&&"
        if operator == "(" and self._now.piped and not self._now.words:
            return  # the pipe goes to the commands in the brackets
        self._end(piped=piped, after_group=piped and (self._closed or self._ends_group()))
        self._closed = operator == ")"
        if operator == "\n":
            self._read_documents()

    def _ends_group(self) -> bool:
        return _first_word(self._now) in CLOSERS

    def _end(self, *, piped: bool, after_group: bool = False) -> None:
        if self._now.words or self._now.writes or self._now.reads or self._now.here:
            self.commands.append(self._now)
            if len(self.commands) > MAX_COMMANDS:
                raise ShellTextError("too many commands")
        self._now = Command(piped=piped, after_group=after_group)

    def _take(self, word: Word) -> None:
        self._count += 1
        if self._count > MAX_WORDS:
            raise ShellTextError("too many words")
        self._now.words.append(word)
        self._closed = False

    def _redirect(self, found: re.Match[str]) -> None:
        way = found["both"] or found["way"]
        self.at = found.end()
        self.skip_blanks()
        if self.at >= len(self.text) or (self.text[self.at] in BREAKS and not self.substitutes()):
            raise ShellTextError(f"nothing follows `{way}`")
        word = self.word()
        if way in {"<<", "<<-"}:
            quoted = any(one.kind is not PieceKind.PLAIN for one in word)
            end = "".join(one.text for one in word)
            self._awaited.append((self._now, end, quoted, way == "<<-"))
        elif way == "<<<":
            self._now.here.append(word)
        elif way == "<":
            self._now.reads.append(word)
        elif way != "<&" and not (way == ">&" and _is_number(word)):
            self._now.writes.append(word)

    def _read_documents(self) -> None:
        for command, end, quoted, tabs in self._awaited:
            body = self._document(end, tabs=tabs)
            word = (Piece(PieceKind.QUOTED, body),) if quoted else expanding(body)
            command.here.append(word)
        self._awaited.clear()

    def _document(self, end: str, *, tabs: bool) -> str:
        lines: list[str] = []
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[self.at : stop]
            self.at = min(stop + 1, len(self.text))
            if (line.lstrip("\t") if tabs else line) == end:
                return "\n".join(lines)
            lines.append(line)
        raise ShellTextError(f"the here-document `{end}` has no end")


def _is_number(word: Word) -> bool:
    return bool(_DIGITS.fullmatch("".join(one.text for one in word)))
