"""Parse a shell text into simple commands: words, files that they write, texts that they read.

The syntax is that of a POSIX shell and the additions of bash. A word is a tuple of pieces: plain
and quoted text, variables, commands. Nothing is expanded here. Keywords are the first words of
their commands. If a text cannot be parsed completely, the commands before the error are used: a
shell runs a text line by line.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field

from bylaw.model.errors import BylawError


class ShellTextError(BylawError):
    """A text that no shell would run, or that is too long or nested too deep."""


class PieceKind(Enum):
    """The kind of a part of a word."""

    PLAIN = auto()  # as written; braces, patterns and `~` are expanded
    QUOTED = auto()  # as written, without expansion
    VARIABLE = auto()
    QUOTED_VARIABLE = auto()
    COMMAND = auto()  # the text of a command that is replaced by its output
    UNKNOWN = auto()


class ShellPiece(NamedTuple):
    """A part of a word; `in_file` says that it is the name of a file with the output."""

    kind: PieceKind
    text: str
    in_file: bool = False


ShellWord: TypeAlias = tuple[ShellPiece, ...]

BLANK = " \t"
BREAKS = frozenset(" \t\n;&|<>()")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI = re.compile(
    r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)", re.DOTALL
)
_ANSI_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}
_DEFAULT = re.compile(r":?[-=+](.*)", re.DOTALL)
_ELEMENT = re.compile(r"\[[\w@*-]*\]")
_QUOTES = re.compile(r"['\"]")
_DOCUMENT = re.compile(r"<<<|<<-?[ \t]*\\?(?P<quote>['\"]?)(?P<end>[\w.-]+)(?P=quote)")
MAX_DEPTH = 40  # of brackets and nested texts
_LAST_CHARACTER = 0x10FFFF
# For patterns such as `@(a|b)`: what may follow each choice, and what may be there instead.
# Brackets after `*` only narrow it in zsh.
_GROUPS = {
    "@": ("", ()),
    "?": ("", ("",)),
    "+": ("*", ()),
    "*": ("*", ("", "*")),
    "!": ("", ("*",)),
}


class WordReader:
    """Reads words from the position `at` on."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self._depth = depth

    def skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in BLANK:
            self.at += 1

    def substitutes(self) -> bool:
        """Whether a process substitution follows, which is a command in the place of a file."""
        return self.text.startswith(("<(", ">("), self.at)

    def word(self) -> ShellWord:
        pieces: list[ShellPiece] = []
        while self.at < len(self.text):
            if self.substitutes():
                self.at += 1
                pieces.append(ShellPiece(PieceKind.COMMAND, self._bracketed(), in_file=True))
            elif self.text[self.at] in BREAKS:
                group = self._group(pieces)
                if group is None:
                    break
                pieces = group
            else:
                pieces += self._pieces()
        return tuple(pieces)

    def _group(self, before: list[ShellPiece]) -> list[ShellPiece] | None:
        """Read a pattern such as `@(a|b)`; return the pieces before it, and choices in braces.

        The choices match the same or more. Returns None if it is not a pattern: `!(rm x)` can also
        be a command in brackets.
        """
        last = before[-1] if before else ShellPiece(PieceKind.QUOTED, "")
        way = last.text[-1:]
        if self.text[self.at] != "(" or last.kind is not PieceKind.PLAIN or way not in _GROUPS:
            return None
        start = self.at
        choices = self._choices()
        if choices is None:
            self.at = start
            return None
        if way == "!":  # names to leave out do not matter, but commands in them run
            choices = [
                one for one in choices if any(each.kind is PieceKind.COMMAND for each in one)
            ]
        end, others = _GROUPS[way]
        choices = [(*one, *_plain(end)) for one in choices] + [_plain(one) for one in others]
        kept = [*before[:-1], *_plain(last.text[:-1])]
        if len(choices) == 1:
            return [*kept, *choices[0]]
        parts = [piece for one in choices for piece in (*_plain(","), *one)]
        return [*kept, *_plain("{"), *parts[1:], *_plain("}")]

    def _choices(self) -> list[ShellWord] | None:
        """Return the words between brackets and bars, or None if there is more than words."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ShellTextError("the text is nested too deep")
        found: list[ShellWord] = []
        while not found or self.text.startswith("|", self.at):
            self.at += 1
            found.append(self.word())
        self._depth -= 1
        is_closed = self.text.startswith(")", self.at)
        self.at += is_closed
        return found if is_closed else None

    def _pieces(self) -> list[ShellPiece]:
        text, at = self.text, self.at
        if found := _PLAIN.match(text, at):
            self.at = found.end()
            return [ShellPiece(PieceKind.PLAIN, found[0])]
        one = text[at]
        if one == "'":
            return [ShellPiece(PieceKind.QUOTED, self._until("'", at + 1))]
        if one == '"':
            self.at += 1
            return self._double()
        if one == "\\":
            self.at += 2
            after = text[at + 1 : at + 2]
            if not after:
                raise ShellTextError("the text ends with a backslash")
            return [] if after == "\n" else [ShellPiece(PieceKind.QUOTED, after)]
        return self._special(quoted=False)

    def _double(self) -> list[ShellPiece]:
        """Read text in double quotes. Empty quotes are a piece, too."""
        pieces = [ShellPiece(PieceKind.QUOTED, ""), *self._expanded('"')]
        if self.at >= len(self.text):
            raise ShellTextError('`"` is never closed')
        self.at += 1
        return pieces

    def rest(self) -> ShellWord:
        """Read the rest of the text. Variables and commands are special in it, quotes are not."""
        return tuple(self._expanded(""))

    def _expanded(self, end: str) -> list[ShellPiece]:
        """Read up to the quote `end`, or to the end of the text if `end` is empty."""
        pieces: list[ShellPiece] = []
        while self.at < len(self.text):
            one = self.text[self.at]
            if one == end:
                break
            if found := _IN_QUOTES.match(self.text, self.at):
                self.at = found.end()
                pieces.append(ShellPiece(PieceKind.QUOTED, found[0]))
            elif one == '"':
                self.at += 1
                pieces.append(ShellPiece(PieceKind.QUOTED, one))
            elif one == "\\":
                after = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                kept = "" if after == "\n" else after if after in f"$`{end}\\" else f"\\{after}"
                pieces.append(ShellPiece(PieceKind.QUOTED, kept))
            else:
                pieces += self._special(quoted=True)
        return pieces

    def _special(self, *, quoted: bool) -> list[ShellPiece]:
        """Read what begins with a dollar or a backtick."""
        text, at = self.text, self.at
        if text[at] == "`":
            return [ShellPiece(PieceKind.COMMAND, self._backticks())]
        if text.startswith("$((", at) or text.startswith("$[", at):
            self.at += 1
            return self._unknown(self._bracketed("[]" if text[at + 1] == "[" else "()"))
        if text.startswith("$(", at):
            self.at += 1
            return [ShellPiece(PieceKind.COMMAND, self._bracketed())]
        if text.startswith("${", at):
            self.at += 1
            return self._braced(self._bracketed("{}"), quoted=quoted)
        if text.startswith("$'", at) and not quoted:
            return [ShellPiece(PieceKind.QUOTED, self._ansi())]
        if text.startswith('$"', at) and not quoted:
            self.at += 2
            return self._double()
        found = _NAME.match(text, at + 1)
        if found is None:
            self.at += 1
            return [ShellPiece(PieceKind.QUOTED, "$")]
        self.at = found.end()
        return [_variable(found[0], quoted=quoted)]

    def _braced(self, inside: str, *, quoted: bool) -> list[ShellPiece]:
        """Read the inside of `${…}`: a variable, an element of one, or something unknown."""
        found = _NAME.match(inside)
        if found and found.end() == len(inside):
            return [_variable(inside, quoted=quoted)]
        if found and _ELEMENT.fullmatch(inside, found.end()):
            return [_variable(elements_name(found[0]), quoted=quoted)]
        if found and (default := _DEFAULT.fullmatch(inside, found.end())):
            # The text after `-`, `=` or `+` may be the complete value.
            return [_variable(found[0], quoted=quoted), *self._unquoted(default[1])]
        return self._unknown(inside)

    def _unknown(self, inside: str) -> list[ShellPiece]:
        """Return an unknown piece, and the commands in it, since they run."""
        pieces = self._unquoted(inside)
        run = [one for one in pieces if one.kind is PieceKind.COMMAND]
        return [ShellPiece(PieceKind.UNKNOWN, ""), *run]

    def _unquoted(self, inside: str) -> ShellWord:
        """Parse without quotes: with them, each nested text would be read twice."""
        return parse_expanded(_QUOTES.sub("", inside), self._depth)

    def _until(self, end: str, start: int) -> str:
        found = self.text.find(end, start)
        if found < 0:
            raise ShellTextError(f"`{end}` is never closed")
        self.at = found + 1
        return self.text[start:found]

    def _ansi(self) -> str:
        found = _ANSI_QUOTED.match(self.text, self.at)
        if found is None:
            raise ShellTextError("`$'` is never closed")
        self.at = found.end()
        return _ANSI.sub(_ansi_escape, found[1])

    def _backticks(self) -> str:
        found = _BACKTICKS.match(self.text, self.at)
        if found is None:
            raise ShellTextError("a backtick is never closed")
        self.at = found.end()
        return re.sub(r"\\([$`\\])", r"\1", found[1])

    def _bracketed(self, brackets: str = "()") -> str:
        """Read the text between two brackets, with brackets, quotes and here-documents in it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ShellTextError("the text is nested too deep")
        start, depth = self.at + 1, 0
        ends: list[str] = []  # end marks of here-documents that start after the line
        # In arithmetic, `<<` does not start a here-document.
        documents = ends if brackets == "()" and not self.text.startswith("((", self.at) else None
        while self.at < len(self.text):
            if self._skip_quoted(documents):
                continue
            one = self.text[self.at]
            if one == "\n":
                self._skip_documents(ends)
            self.at += 2 if one == "\\" else 1
            depth += (one == brackets[0]) - (one == brackets[1])
            if one == brackets[1] and not depth:
                self._depth -= 1
                return self.text[start : self.at - 1]
        raise ShellTextError(f"`{brackets[0]}` is never closed")

    def _skip_quoted(self, ends: list[str] | None) -> bool:
        """Skip quoted text or the start of a here-document; return whether there was one.

        The end mark of a here-document is added to `ends`; None means that there can be none.
        """
        one = self.text[self.at]
        if one == "'":
            self._until("'", self.at + 1)
        elif one == '"':
            self.at += 1
            self._double()
        elif one == "`":
            self._backticks()
        elif ends is not None and (document := _DOCUMENT.match(self.text, self.at)):
            self.at = document.end()
            ends += filter(None, [document["end"]])
        else:
            return False
        return True

    def _skip_documents(self, ends: list[str]) -> None:
        """Skip the texts of here-documents: quotes and brackets in them close nothing."""
        for end in ends:
            found = re.compile(rf"\n\t*{re.escape(end)}(?=\n)").search(self.text, self.at)
            if found is not None:  # otherwise it is not a here-document: `$((1<<2))`
                self.at = found.end()
        ends.clear()


def parse_expanded(body: str, depth: int = 0) -> ShellWord:
    """Parse a text in which variables and commands are special, and quotes are not."""
    return WordReader(body, depth + 1).rest()


def elements_name(name: str) -> str:
    """Return the name under which all elements of a variable are stored together."""
    return f"{name}[]"


def _plain(text: str) -> ShellWord:
    return (ShellPiece(PieceKind.PLAIN, text),)


def _variable(name: str, *, quoted: bool) -> ShellPiece:
    return ShellPiece(PieceKind.QUOTED_VARIABLE if quoted else PieceKind.VARIABLE, name)


def _ansi_escape(found: re.Match[str]) -> str:
    said = found[1]
    if said[0] in "xuU" and len(said) > 1:
        code = int(said[1:], 16)
        return chr(code) if code <= _LAST_CHARACTER else ""
    if said[0] in "01234567":
        return chr(int(said, 8) & 0xFF)
    return _ANSI_NAMED.get(said, said)


MAX_COMMANDS = 2_000
MAX_WORDS = 10_000
OPENERS = frozenset({"{", "while", "until", "for", "if", "case"})
CLOSERS = frozenset({"}", "done", "fi", "esac"})


class ShellCommand(Struct):
    """A simple command; `piped` says that it reads the output of the command before it.

    `writes` are the files for its output, `reads` those for its input, `here` the texts of its
    here-documents. A command without words has only these. `after_group` says that a group is
    before it in the pipe.
    """

    words: list[ShellWord] = field(default_factory=list)
    writes: list[ShellWord] = field(default_factory=list)
    reads: list[ShellWord] = field(default_factory=list)
    here: list[ShellWord] = field(default_factory=list)
    piped: bool = False
    after_group: bool = False


def opens_group(command: ShellCommand) -> bool:
    """Whether commands after this one get its input, too."""
    return _first_word(command) in OPENERS


def closes_group(command: ShellCommand) -> bool:
    """Whether commands before this one get its input, too."""
    return not command.words or _first_word(command) in CLOSERS


def _first_word(command: ShellCommand) -> str:
    return "".join(one.text for one in command.words[0]) if command.words else ""


class ShellText(NamedTuple):
    """The commands of a text in their order; `is_whole` says that these are all.

    `is_chain` says that each of them but the first runs only if the one before it succeeds.
    """

    commands: list[ShellCommand]
    is_whole: bool
    is_chain: bool = False


def read_shell(text: str) -> ShellText:
    """Parse a shell text."""
    reader = _CommandReader(text)
    try:
        return ShellText(reader.read(), is_whole=True, is_chain=reader.is_chain)
    except ShellTextError:
        return ShellText(reader.read_so_far(), is_whole=False)


_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|\n()]")
_REDIRECTION = re.compile(
    r"(?P<both>&>>?)|(?:\{\w+\}|[0-9]*)(?P<way><<<|<<-?|<>|<&|>&|>>|>\||<(?!\()|>(?!\())"
)
_DIGITS = re.compile(r"[0-9]+-?|-")


class _CommandReader(WordReader):
    """Reads commands from the position `at` on."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.commands: list[ShellCommand] = []
        self.is_chain = True
        self._now = ShellCommand()
        self._count = 0
        self._closed = False  # whether a group has just ended
        # Here-documents whose text follows the line: command, end mark, quoted, with tabs.
        self._awaited: list[tuple[ShellCommand, str, bool, bool]] = []

    def read(self) -> list[ShellCommand]:
        while self.at < len(self.text):
            self._step()
        self._end(piped=False)
        if self._awaited:
            raise ShellTextError("a here-document has no end")
        return self.commands

    def read_so_far(self) -> list[ShellCommand]:
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
            self._add_word(self.word())
        elif operator := _OPERATOR.match(text, at):
            self._operate(operator[0])
        else:
            self._add_word(self.word())

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
        self._now = ShellCommand(piped=piped, after_group=after_group)

    def _add_word(self, word: ShellWord) -> None:
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
            word = (ShellPiece(PieceKind.QUOTED, body),) if quoted else parse_expanded(body)
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


def _is_number(word: ShellWord) -> bool:
    return bool(_DIGITS.fullmatch("".join(one.text for one in word)))
