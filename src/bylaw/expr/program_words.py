"""The words of a command → those that its program reads as program text.

A file name is always one argument. But the word after `sh -c` is program text, so it must not
contain names that others choose. The other words are not checked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# A name of these characters has no special meaning in any language.
_HARMLESS = re.compile(r"[A-Za-z0-9_./@%+=:,-]*")


class _Reads(NamedTuple):
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


_SHELL = _Reads("c", (), "oO", "", ("--rcfile", "--init-file"), behind_options=True)
_FISH = _Reads("cC", ("--command", "--init-command"), "dDfop")
_AWK = _Reads("e", ("--source",), "Fvfilo", is_first=True)
_SCRIPTING = _Reads("eE", ("--eval", "--print"), "rC", "", ("--require", "--import", "--loader"))
_INTERPRETERS: Mapping[str, _Reads] = {
    **dict.fromkeys(("ash", "bash", "dash", "rbash", "sh"), _SHELL),
    **dict.fromkeys(("ksh", "mksh", "zsh"), _SHELL._replace(attached="o")),
    "fish": _FISH,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("elixir", "julia", "lua", "luajit", "osascript", "R", "Rscript"), _SCRIPTING),
    **dict.fromkeys(("bun", "node", "nodejs"), _SCRIPTING._replace(letters="ep")),
    **dict.fromkeys(("python", "pypy"), _Reads("c", (), "WX")),
    **dict.fromkeys(("runuser", "script", "su"), _Reads("c", ("--command",), anywhere=True)),
    **dict.fromkeys(("ex", "nvim", "vi", "view", "vim"), _Reads("c", ("--cmd",), "Su")),
    "deno": _Reads("", ("eval",)),
    "emacs": _Reads("", ("--eval", "-eval", "--execute"), "lf"),
    "perl": _Reads("eE", (), "I", "0CDFMVimx"),
    "php": _Reads("BERr", ("--run", "--process-begin", "--process-code", "--process-end"), "Scdz"),
    "pwsh": _Reads("c", ("-Command", "-command")),
    "ruby": _Reads("e", (), "CEIr", "0FKTWix"),
    "sed": _Reads("e", ("--expression",), "fl", "i", is_first=True),
}
# These pass all their words to a shell, or join them to a text for a shell.
_ALL_WORDS = frozenset({"eval", "parallel", "ssh", "watch"})
# make expands variables of its command line, including functions such as `shell`.
_MAKE = frozenset({"gmake", "make"})
_READERS = frozenset({*_INTERPRETERS, *_ALL_WORDS, *_MAKE})
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
    start = _reader(words)
    if start is None:
        return frozenset()
    name, behind = _name(words[start]), range(start + 1, len(words))
    if name in _ALL_WORDS:
        return frozenset(behind)
    if name in _MAKE:
        return frozenset(at for at in behind if _VARIABLE.match(words[at]))
    return frozenset(_Arguments(words, _INTERPRETERS[name]).programs(start + 1)) & {*behind}


def whole_programs(words: Sequence[str]) -> frozenset[int]:
    """Return the positions of words that are complete programs, not parts of one."""
    start = _reader(words)
    is_part = start is not None and _name(words[start]) in _ALL_WORDS | _MAKE
    return frozenset() if is_part else program_words(words)


def unsafe_name(words: Sequence[str], names: Iterable[str]) -> str:
    """Return a name in program text that can have a special meaning there, else an empty text."""
    texts = [words[at] for at in sorted(program_words(words))]
    doubtful = (name for name in names if not _HARMLESS.fullmatch(name))
    return next((name for name in doubtful if any(name in text for text in texts)), "")


def _reader(words: Sequence[str]) -> int | None:
    """Return the position of the interpreter; another program may start it."""
    if words and _name(words[0]) in _STARTERS:
        return next((at for at, word in enumerate(words) if at and _name(word) in _READERS), None)
    return 0 if words and _name(words[0]) in _READERS else None


def _name(word: str) -> str:
    """Return the name of a program, such as `python` for `/usr/bin/python3.12`."""
    name = word.rpartition("/")[2].removesuffix(".exe")
    return _VERSION.sub("", name) or name


class _Option(NamedTuple):
    """An option: whether it has a program, in the same word or not, and its number of value words."""

    tells: bool = False
    inside: bool = False
    values: int = 0


class _Arguments:
    """The words of a command, and the way in which its interpreter reads them."""

    def __init__(self, words: Sequence[str], reads: _Reads) -> None:
        self._words, self._reads = words, reads

    def programs(self, at: int) -> Iterator[int]:
        """Yield the positions of program text; `at` is the first word after the interpreter."""
        by_option, waits = False, False
        while at < len(self._words) and self._goes_on(self._words[at]):
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

    def _goes_on(self, word: str) -> bool:
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
