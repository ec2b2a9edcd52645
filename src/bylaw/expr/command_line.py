"""The text of a command → its words, by the quoting rules of POSIX and without a shell.

Shell syntax other than quotes is rejected: without a shell, `&&` or `$(…)` would have no effect.

Also here: the words of a command that its program reads as program text. A file name is always one
argument. But the word after `sh -c` is program text, so it must not contain names that others
choose. The other words are not checked.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.model.errors import BylawError
from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
_INVALID_CHARACTER = re.compile("[\0\ud800-\udfff]")
_GLOB_CHARACTER = re.compile(r"[*?\[]")


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
    if bad := _INVALID_CHARACTER.search(text):
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
            self._add_match(found)
        self._end_word(len(self.text))

    def _add_match(self, found: re.Match[str]) -> None:
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
                self._add_plain(found)
            case "unclosed":
                self._refuse_unclosed(found)
            case _:
                self._refuse_shell(Span(*found.span()))

    def _add_plain(self, found: re.Match[str]) -> None:
        start = found.start()
        at_word_start = self._word is None
        if at_word_start and found[0][0] == "#":
            self._refuse_shell(Span(start, start + 1))
        if at_word_start and found[0][0] == "~":
            self.unexpanded.append(Span(start, start + 1))
        for one in _GLOB_CHARACTER.finditer(found[0]):
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


# A name of these characters has no special meaning in any language.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./@%+=:,-]*")


class _InterpreterOptions(NamedTuple):
    """How an interpreter receives its program: as the value of `letters` or of `long` options.

    Other options with a value: `attached` letters have it in the rest of the word, `valued` letters
    there or in the next word. `behind_options`: the program follows all options, and each value is
    a word. `anywhere`: options may follow other words. `is_first`: the program is the first word
    that is not an option, unless an option names a program file.
    """

    letters: str = ""
    long: tuple[str, ...] = ()
    valued: str = ""
    attached: str = ""
    long_valued: tuple[str, ...] = ()
    behind_options: bool = False
    anywhere: bool = False
    is_first: bool = False


_SHELL = _InterpreterOptions("c", (), "oO", "", ("--rcfile", "--init-file"), behind_options=True)
_FISH = _InterpreterOptions("cC", ("--command", "--init-command"), "dDfop")
_AWK = _InterpreterOptions("e", ("--source",), "Fvfilo", is_first=True)
_SCRIPTING = _InterpreterOptions(
    "eE", ("--eval", "--print"), "rC", "", ("--require", "--import", "--loader")
)
_INTERPRETERS: Mapping[str, _InterpreterOptions] = {
    **dict.fromkeys(("ash", "bash", "dash", "rbash", "sh"), _SHELL),
    **dict.fromkeys(("ksh", "mksh", "zsh"), _SHELL._replace(attached="o")),
    "fish": _FISH,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("elixir", "julia", "lua", "luajit", "osascript", "R", "Rscript"), _SCRIPTING),
    **dict.fromkeys(("bun", "node", "nodejs"), _SCRIPTING._replace(letters="ep")),
    **dict.fromkeys(("python", "pypy"), _InterpreterOptions("c", (), "WX")),
    **dict.fromkeys(
        ("runuser", "script", "su"), _InterpreterOptions("c", ("--command",), anywhere=True)
    ),
    **dict.fromkeys(
        ("ex", "nvim", "vi", "view", "vim"), _InterpreterOptions("c", ("--cmd",), "Su")
    ),
    "deno": _InterpreterOptions("", ("eval",)),
    "emacs": _InterpreterOptions("", ("--eval", "-eval", "--execute"), "lf"),
    "perl": _InterpreterOptions("eE", (), "I", "0CDFMVimx"),
    "php": _InterpreterOptions(
        "BERr", ("--run", "--process-begin", "--process-code", "--process-end"), "Scdz"
    ),
    "pwsh": _InterpreterOptions("c", ("-Command", "-command")),
    "ruby": _InterpreterOptions("e", (), "CEIr", "0FKTWix"),
    "sed": _InterpreterOptions("e", ("--expression",), "fl", "i", is_first=True),
}
# These pass all their words to a shell, or join them to a text for a shell.
_ALL_WORDS = frozenset({"eval", "parallel", "ssh", "watch"})
# make expands variables of its command line, including functions such as `shell`.
_MAKE = frozenset({"gmake", "make"})
_PROGRAM_READERS = frozenset({*_INTERPRETERS, *_ALL_WORDS, *_MAKE})
# These start a command that is among their words.
_STARTERS = frozenset(
    {"busybox", "chroot", "chrt", "command", "doas", "env", "exec", "find", "flock", "ionice",
     "nice", "nohup", "setsid", "stdbuf", "sudo", "taskset", "time", "timeout", "unshare", "uv",
     "xargs"}
)  # fmt: skip
_PROGRAM_FILE = re.compile(r"-[a-zA-Z]*f|--file\b")
_VARIABLE = re.compile(r"[A-Za-z_]\w*[:?+!]{0,3}=")
_VERSION = re.compile(r"[0-9][0-9.]*\Z")


def program_words(words: Sequence[str]) -> frozenset[int]:
    """Return the positions of words that are or contain program text."""
    start = _find_interpreter(words)
    if start is None:
        return frozenset()
    name, behind = _program_name(words[start]), range(start + 1, len(words))
    if name in _ALL_WORDS:
        return frozenset(behind)
    if name in _MAKE:
        return frozenset(at for at in behind if _VARIABLE.match(words[at]))
    return frozenset(_Arguments(words, _INTERPRETERS[name]).programs(start + 1)) & {*behind}


def complete_programs(words: Sequence[str]) -> frozenset[int]:
    """Return the positions of words that are complete programs, not parts of one."""
    start = _find_interpreter(words)
    is_part = start is not None and _program_name(words[start]) in _ALL_WORDS | _MAKE
    return frozenset() if is_part else program_words(words)


def unsafe_name(words: Sequence[str], names: Iterable[str]) -> str:
    """Return a name in program text that can have a special meaning there, else an empty text."""
    texts = [words[at] for at in sorted(program_words(words))]
    doubtful = (name for name in names if not _PLAIN_NAME.fullmatch(name))
    return next((name for name in doubtful if any(name in text for text in texts)), "")


def _find_interpreter(words: Sequence[str]) -> int | None:
    """Return the position of the interpreter; another program may start it."""
    if words and _program_name(words[0]) in _STARTERS:
        return next(
            (at for at, word in enumerate(words) if at and _program_name(word) in _PROGRAM_READERS),
            None,
        )
    return 0 if words and _program_name(words[0]) in _PROGRAM_READERS else None


def _program_name(word: str) -> str:
    """Return the name of a program, such as `python` for `/usr/bin/python3.12`."""
    name = word.rpartition("/")[2].removesuffix(".exe")
    return _VERSION.sub("", name) or name


class _Option(NamedTuple):
    """An option: whether it has a program, in the same word or not, and how many value words."""

    tells: bool = False
    inside: bool = False
    values: int = 0


class _Arguments:
    """The words of a command, and the way in which its interpreter reads them."""

    def __init__(self, words: Sequence[str], reads: _InterpreterOptions) -> None:
        self._words, self._reads = words, reads

    def programs(self, at: int) -> Iterator[int]:
        """Yield the positions of program text; `at` is the first word after the interpreter."""
        by_option, waits = False, False
        while at < len(self._words) and self._may_continue(self._words[at]):
            word = self._words[at]
            if self._ends_options(word):
                at += 1
                break
            option = self._option(word) if self._is_option(word) else _Option()
            by_option = by_option or bool(_PROGRAM_FILE.match(word))
            if option.tells and self._reads.behind_options:
                waits = True
            elif option.tells:
                by_option = True
                yield at if option.inside else at + 1
            at += 1 + option.values
        if waits or (self._reads.is_first and not by_option):
            yield at

    def _may_continue(self, word: str) -> bool:
        return self._reads.anywhere or self._is_option(word) or self._ends_options(word)

    def _ends_options(self, word: str) -> bool:
        return word == "--" or (word == "-" and self._reads.behind_options)

    def _is_option(self, word: str) -> bool:
        return word in self._reads.long or (len(word) > 1 and word[0] in "-+")

    def _option(self, word: str) -> _Option:
        reads = self._reads
        name, sign, _ = word.partition("=")
        if name in reads.long:
            return _Option(tells=True, inside=bool(sign), values=0 if sign else 1)
        if word.startswith("--"):
            return _Option(values=int(word in reads.long_valued))
        return self._letters(word)

    def _letters(self, word: str) -> _Option:
        """Read one-letter options: a shell reads more letters after one, others read a value."""
        reads, tells, values = self._reads, False, 0
        for position, letter in enumerate(word[1:], start=2):
            is_last = position == len(word)
            if letter in reads.attached and not is_last:
                break
            if letter in reads.letters + reads.valued and not reads.behind_options:
                told = letter in reads.letters
                return _Option(told, inside=told and not is_last, values=int(is_last))
            tells = tells or letter in reads.letters
            values += letter in reads.valued
        return _Option(tells, values=values)
