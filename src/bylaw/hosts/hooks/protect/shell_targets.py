"""The text of a shell → the files that it may change, as far as words can tell.

    text → commands → each word by word → targets

Texts inside of it are looked into: `$(…)`, `sh -c`, here-documents, code for an interpreter.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.patch import diffed_paths, patched_paths
from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_arguments import (
    Target,
    base_name,
    git_targets,
    module_words,
    words_of,
)
from bylaw.hosts.hooks.protect.shell_text import read_shell
from bylaw.hosts.hooks.protect.shell_values import RESERVED, UNKNOWN, Values
from bylaw.hosts.hooks.protect.shell_word import PieceKind, ShellTextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.hosts.hooks.protect.shell_text import Command
    from bylaw.hosts.hooks.protect.shell_word import Word

MAX_TEXT = 100_000  # characters
MAX_DEPTH = 8  # texts inside of texts
MAX_LOOKED = 400  # texts in all
MAX_TARGETS = 200_000

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=")
_TOKEN = re.compile(r"[^\s'\"`()\[\]{},;<>|&=+:]+")
_LINE_END = re.compile(r"\\(?:[nrt0]|x0[aA])")
_FOUND = "{}"
_PRINTS = frozenset({"echo", "printf"})
_TOP_LEVEL = ("git", "rev-parse", "--show-toplevel")


class Place(NamedTuple):
    """Where a text is run: the folder, the root, and the variables."""

    folder: str
    root: str
    environment: Mapping[str, str]


def shell_targets(text: str, place: Place) -> tuple[list[Target], list[str]]:
    """What a text may change, and the folders in which it may do so; ShellTextError."""
    if len(text) > MAX_TEXT:
        raise ShellTextError(f"it is longer than {MAX_TEXT:,} characters")
    look = _Look(place)
    found = list(islice(look.at(RESERVED.sub("?", text), 0), MAX_TARGETS))
    if len(found) == MAX_TARGETS:
        raise ShellTextError("it names too many files")
    found += [Target(path) for path in patched_paths(text)]
    return found, look.values.folders


class _Piped(NamedTuple):
    """What comes through a pipe: the command before it, and of all that lead there the texts that
    they print or read, and the words behind them, which may be files."""

    words: list[str]
    texts: list[str]
    files: list[str]

    def through(self, words: list[str], here: list[str], reads: list[str]) -> _Piped:
        """What comes out of a command into which this goes."""
        prints = bool(words) and base_name(words[0]) in _PRINTS
        printed = [" ".join(_spread(words))] if prints else []
        files = [one for one in words[1:] if not one.startswith("-")]
        return _Piped(words, [*self.texts, *here, *printed], [*self.files, *files, *reads])


_NOTHING = _Piped([], [], [])


class _Look:
    """What is known of a text while it is looked through."""

    def __init__(self, place: Place) -> None:
        self.values = Values(place.folder, place.environment)
        self._place = place
        self._looked = 0
        self._run_later: list[str] = []  # values of variables that are commands

    def at(self, text: str, depth: int) -> Iterator[Target]:
        """What a text may change."""
        self._looked += 1
        if depth > MAX_DEPTH or self._looked > MAX_LOOKED:
            raise ShellTextError("there are too many texts inside of it")
        before = _NOTHING
        for command in read_shell(text):
            for word in (*command.words, *command.writes, *command.reads, *command.here):
                for piece in word:
                    if piece.kind is PieceKind.COMMAND:
                        yield from self.at(piece.text, depth + 1)
            yield from (Target(one) for word in command.writes for one in self._of(word))
            words = self._words(command)
            piped = before if command.piped else _NOTHING
            yield from self._command(words, command, piped, depth)
            while self._run_later:
                yield from self.at(self._run_later.pop(), depth + 1)
            if words or command.here:  # what ends a group is no command: what it prints goes on
                here, reads = self._all(command.here), self._all(command.reads)
                before = piped.through(words, here, reads)

    def _of(self, word: Word) -> list[str]:
        return self.values.of(word, self._printed)

    def _all(self, words: list[Word]) -> list[str]:
        return [one for word in words for one in self._of(word)]

    def _printed(self, text: str) -> str:
        """What a command prints, if that is easily told."""
        try:
            commands = read_shell(text)
        except ShellTextError:
            return UNKNOWN
        if len(commands) != 1:
            return UNKNOWN
        plain = [[one.text for one in word] for word in commands[0].words]
        words = ["".join(one) for one in plain]
        if words == ["pwd"]:
            return self.values.folders[-1]
        if tuple(words) == _TOP_LEVEL:
            return self._place.root
        if words[:1] and words[0] in _PRINTS:
            return " ".join(one for one in _spread(words) if not one.startswith(("-", "%")))
        return UNKNOWN

    def _words(self, command: Command) -> list[str]:
        """The values of all words behind keywords and assignments, which are noted."""
        todo = list(command.words)
        while todo:
            values = self._of(todo[0])
            first = values[0] if values else ""
            is_keyword = first in programs.KEYWORDS and len(todo[0]) == 1
            if not is_keyword and not self._is_assignment(todo[0], values):
                break
            todo.pop(0)
        found = [value for word in todo for value in self._of(word)]
        if len(found) > 2 and found[0] in {"for", "select"}:  # noqa: PLR2004 - `for NAME in …`
            self.values.assign(found[1], found[3:])
        if found and found[0] in {"export", "declare", "local", "readonly", "typeset"}:
            self._assigns([one for one in found[1:] if _ASSIGNMENT.match(one)])
        if found and found[0] in {"cd", "pushd"}:
            self._enter(found[1:])
        return found

    def _is_assignment(self, word: Word, values: list[str]) -> bool:
        return bool(word) and word[0].kind is PieceKind.PLAIN and self._assigns(values)

    def _assigns(self, values: list[str]) -> bool:
        matched = [(found, one) for one in values if (found := _ASSIGNMENT.match(one))]
        for found, one in matched:
            self.values.assign(found["name"], [one[found.end() :]])
            if programs.RUN_VARIABLE.fullmatch(found["name"]):
                self._run_later.append(one[found.end() :])
        return bool(matched)

    def _enter(self, words: list[str]) -> None:
        named = [one for one in words if not one.startswith("-")]
        for name in named or [self._place.environment.get("HOME", "/")]:
            for folder in list(self.values.folders):
                self.values.enter(name if name.startswith("/") else f"{folder}/{name}")

    def _command(
        self, words: list[str], command: Command, piped: _Piped, depth: int
    ) -> Iterator[Target]:
        program = base_name(words[0]) if words else ""
        here = self._all(command.here)
        if program in programs.STARTS:
            yield from self._started(words, command, piped, depth)
        elif program == "xargs":
            yield from self._each(words, command, piped, depth)
        elif program in programs.RUNS_TEXT:
            texts = [one.partition("=")[2] if program == "alias" else one for one in words[1:]]
            yield from self.at(
                " ".join(texts) if program == "eval" else "\n".join(texts), depth + 1
            )
        elif program in programs.SHELLS:
            yield from self._shell(words, [*here, *piped.texts], depth)
        elif program == "find":
            yield from self._find(words, command, depth)
        elif programs.RUNS_CODE.fullmatch(program):
            yield from self._code(words, [*here, *piped.words, *piped.texts], command, depth)
        elif program == "git":
            yield from git_targets(words[1:])
            if programs.GIT_PATCHES.intersection(words):
                yield from self._patched(piped.files, command, [*here, *piped.texts])
        elif program == "patch":
            files = [*words[1:], *piped.files]
            yield from self._patched(files, command, [*here, *piped.texts])
        else:
            yield from words_of(program, words[1:])

    def _patched(self, files: list[str], command: Command, texts: list[str]) -> Iterator[Target]:
        """What the patches name that a command reads."""
        yield from (Target(one, patch=True) for one in (*files, *self._all(command.reads)))
        yield from (Target(one) for text in texts for one in diffed_paths(text))

    def _started(
        self, words: list[str], command: Command, piped: _Piped, depth: int
    ) -> Iterator[Target]:
        """What a program starts that starts others: what its options mean is not asked."""
        rest = words[1:]
        yield from self._options(words, depth)
        while rest and (
            rest[0].startswith("-") or _ASSIGNMENT.match(rest[0]) or rest[0][:1].isdigit()
        ):
            self._assigns([rest.pop(0)])
        known = [at for at, one in enumerate(rest) if _is_known(base_name(one))]
        yield from self._command(rest, command, piped, depth)
        # `sudo -u NAME rm …`: the name is no program.
        if known and known[0]:
            yield from self._command(rest[known[0] :], command, piped, depth)

    def _options(self, words: list[str], depth: int) -> Iterator[Target]:
        """`env -C FOLDER …`, `flock FILE -c TEXT`: what follows is done there, or is a text."""
        for one, two in pairwise([*words, ""]):
            folder = programs.FOLDER_OPTION.fullmatch(one)
            if folder is not None:
                self._enter([folder["folder"] or two])
            text = programs.TEXT_OPTION.fullmatch(one)
            if text is not None:
                yield from self.at(text["text"] or two, depth + 1)

    def _each(
        self, words: list[str], command: Command, piped: _Piped, depth: int
    ) -> Iterator[Target]:
        """`xargs`: what came before may be what comes behind, or stands for `{}`."""
        before = piped.words
        given = [part for one in (*_spread(before), *piped.texts) for part in one.split()]
        marks = [two for one, two in pairwise(words) if one == "-I"] or ["{}"]
        filled = [one.replace(marks[0], " ".join(given)) for one in words]
        acting = self._started([*filled, *given], command, _NOTHING, depth)
        if before and base_name(before[0]) == "find":
            yield from _in_folders(acting, before)
        else:
            yield from acting

    def _shell(self, words: list[str], heard: list[str], depth: int) -> Iterator[Target]:
        rest = words[1:]
        flagged = [at for at, one in enumerate(rest) if re.fullmatch(r"-[a-zA-Z]*c|--command", one)]
        if flagged:
            texts = rest[flagged[0] + 1 :]
            for number, given in enumerate(texts[1:]):
                for name in (str(number), "@", "*"):
                    self.values.assign(name, [given])
            yield from (found for text in texts[:1] for found in self.at(text, depth + 1))
            return
        yield from (Target(one) for one in rest)
        for text in heard:
            yield from self.at(text, depth + 1)

    def _find(self, words: list[str], command: Command, depth: int) -> Iterator[Target]:
        if "-delete" in words or any(one.startswith("-fprint") for one in words):
            yield from _in_folders([Target("")], words)
        for at, word in enumerate(words):
            if word in {"-exec", "-execdir", "-ok", "-okdir"}:
                acting = [one for one in words[at + 1 :] if one not in {";", "+"}]
                found = self._command([*acting, _FOUND], command, _NOTHING, depth)
                yield from _in_folders(found, words)

    def _code(
        self, words: list[str], texts: list[str], command: Command, depth: int
    ) -> Iterator[Target]:
        """Code for an interpreter, of which only names are looked at."""
        rest = words[1:]
        module = module_words(rest) if programs.PYTHON.fullmatch(base_name(words[0])) else []
        if module:
            yield from self._command(module, command, _NOTHING, depth)
            return
        whole = any(programs.TAKES_AWAY.search(one) for one in (*rest, *texts))
        for text in (*rest, *texts):
            yield Target(text)
            yield from (Target(one, whole=whole) for one in _TOKEN.findall(text))


def _spread(words: list[str]) -> list[str]:
    """What stands behind a program, with the ends of lines that `printf` would make."""
    return [_LINE_END.sub("\n", one) for one in words[1:]]


def _in_folders(acting: Iterable[Target], words: list[str]) -> Iterator[Target]:
    """What is done to files that `find` finds, if anything is: to all in its folders."""
    done = list(acting)
    yield from done
    if not done:
        return
    options = [at for at, one in enumerate(words) if at and one.startswith(("-", "(", "!"))]
    folders = words[1 : options[0]] if options else words[1:]
    names = [two for one, two in pairwise(words) if one in {"-name", "-iname"}]
    for folder in folders or ["."]:
        yield Target(folder, whole=True, names=tuple(names))


def _is_known(program: str) -> bool:
    return (
        program in programs.WHOLE
        or program in programs.SHELLS
        or program in programs.COPIES
        or program in programs.READS_WITHOUT
        or program in {"git", "find", "xargs", "tee", "dd", "ln", "bylaw"}
    )
