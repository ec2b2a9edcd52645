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
    given_to,
    is_known,
    module_words,
    words_of,
)
from bylaw.hosts.hooks.protect.shell_git import called, git_targets, run_by_git
from bylaw.hosts.hooks.protect.shell_listing import listing
from bylaw.hosts.hooks.protect.shell_pipe import FOUND, NOTHING, PRINTS, done_to, spread
from bylaw.hosts.hooks.protect.shell_text import read_shell
from bylaw.hosts.hooks.protect.shell_values import RESERVED, UNKNOWN, Values
from bylaw.hosts.hooks.protect.shell_word import PieceKind, ShellTextError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bylaw.hosts.hooks.protect.shell_pipe import Piped
    from bylaw.hosts.hooks.protect.shell_text import Command
    from bylaw.hosts.hooks.protect.shell_word import Word

MAX_TEXT = 100_000  # characters
MAX_DEPTH = 8  # texts inside of texts
MAX_LOOKED = 400  # texts in all
MAX_TARGETS = 200_000

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=")
_TOKEN = re.compile(r"[^\s'\"`()\[\]{},;<>|&=+:]+")
_TOP_LEVEL = ("git", "rev-parse", "--show-toplevel")


class ShellStart(NamedTuple):
    """Where a text is run: the folder, the root, and the variables."""

    folder: str
    root: str
    environment: Mapping[str, str]


def shell_targets(text: str, start: ShellStart) -> tuple[list[Target], list[str]]:
    """What a text may change, and the folders in which it may do so; ShellTextError."""
    if len(text) > MAX_TEXT:
        raise ShellTextError(f"it is longer than {MAX_TEXT:,} characters")
    look = _Look(start)
    found = list(islice(look.at(RESERVED.sub("?", text), 0), MAX_TARGETS))
    if len(found) == MAX_TARGETS:
        raise ShellTextError("it names too many files")
    found += [Target(path) for path in patched_paths(text)]
    return found, look.values.folders


class _Look:
    """What is known of a text while it is looked through."""

    def __init__(self, start: ShellStart) -> None:
        self.values = Values(start.folder, start.environment)
        self._start = start
        self._looked = 0
        self._run_later: list[str] = []  # values of variables that are commands

    def at(self, text: str, depth: int) -> Iterator[Target]:
        """What a text may change."""
        self._looked += 1
        if depth > MAX_DEPTH or self._looked > MAX_LOOKED:
            raise ShellTextError("there are too many texts inside of it")
        before = everything = NOTHING
        for command in read_shell(text):
            for word in (*command.words, *command.writes, *command.reads, *command.here):
                for piece in word:
                    if piece.kind is PieceKind.COMMAND:
                        yield from self.at(piece.text, depth + 1)
            yield from (Target(one) for word in command.writes for one in self._of(word))
            words = self._words(command)
            # Who can tell where a group began?
            piped = everything if command.after_group else before if command.piped else NOTHING
            yield from self._command(words, command, piped, depth)
            while self._run_later:
                yield from self.at(self._run_later.pop(), depth + 1)
            if words or command.here:  # what ends a group is no command: what it prints goes on
                here, reads = self._all(command.here), self._all(command.reads)
                before = piped.through(words, here, reads)
                everything = everything.beside(before)

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
        words = ["".join(one.text for one in word) for word in commands[0].words]
        if words == ["pwd"]:
            return self.values.folders[-1]
        if tuple(words) == _TOP_LEVEL:
            return self._start.root
        if words[:1] and words[0] in PRINTS:
            return " ".join(one for one in spread(words) if not one.startswith(("-", "%")))
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
            self.values.go_to(found[1:])
        return found

    def _is_assignment(self, word: Word, values: list[str]) -> bool:
        return bool(word) and word[0].kind is PieceKind.PLAIN and self._assigns(values)

    def _assigns(self, values: list[str]) -> bool:
        matched = [(found, one) for one in values if (found := _ASSIGNMENT.match(one))]
        for found, one in matched:
            self.values.assign(found["name"], [one[found.end() :]])
            if programs.RUN_VARIABLE.fullmatch(found["name"]):
                self._run_later.append(one[found.end() :])
            elif found["name"] == "GIT_WORK_TREE":
                self.values.go_to([one[found.end() :]])
        return bool(matched)

    def _command(
        self, words: list[str], command: Command, piped: Piped, depth: int
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
        else:
            yield from self._plain(words, command, piped, [*here, *piped.texts], depth)

    def _plain(
        self, words: list[str], command: Command, piped: Piped, heard: list[str], depth: int
    ) -> Iterator[Target]:
        """A program that is not there to start others."""
        program = base_name(words[0]) if words else ""
        if program == "git":
            call = called(words[1:])
            yield from git_targets(call)
            for text in run_by_git(call):
                yield from self.at(text, depth + 1)
            if call.verb in programs.GIT_PATCHES:
                yield from self._patched(piped.files, command, heard)
        elif program == "patch":
            yield from self._patched([*words[1:], *piped.files], command, heard)
        else:
            yield from words_of(program, words[1:])
            yield from self._run_options(program, words, heard, depth)

    def _run_options(
        self, program: str, words: list[str], heard: list[str], depth: int
    ) -> Iterator[Target]:
        """The texts that a program runs because an option says so."""
        option = programs.RUNS_OPTION.get(program)
        for text in given_to(option, words) if option else ():
            yield from self.at(text, depth + 1)
        if program in {"make", "gmake"} and programs.MAKE_READS.search(" ".join(words[1:])):
            for text in heard:
                yield from self.at(programs.MAKE_PREFIX.sub("", text), depth + 1)

    def _patched(self, files: list[str], command: Command, texts: list[str]) -> Iterator[Target]:
        """What the patches name that a command reads."""
        yield from (Target(one, patch=True) for one in (*files, *self._all(command.reads)))
        yield from (Target(one) for text in texts for one in diffed_paths(text))

    def _started(
        self, words: list[str], command: Command, piped: Piped, depth: int
    ) -> Iterator[Target]:
        """What a program starts that starts others: what its options mean is not asked."""
        rest = words[1:]
        yield from self._options(words, depth)
        while rest and (
            rest[0].startswith("-") or _ASSIGNMENT.match(rest[0]) or rest[0][:1].isdigit()
        ):
            self._assigns([rest.pop(0)])
        if rest and " " in rest[0]:  # `watch 'TEXT'`
            yield from self.at(rest[0], depth + 1)
        if base_name(words[0]) in programs.WRITES_FIRST:
            yield from (Target(one) for one in rest if " " not in one)
        known = [at for at, one in enumerate(rest) if is_known(base_name(one))]
        yield from self._command(rest, command, piped, depth)
        # `sudo -u NAME rm …`: the name is no program.
        if known and known[0]:
            yield from self._command(rest[known[0] :], command, piped, depth)

    def _options(self, words: list[str], depth: int) -> Iterator[Target]:
        """`env -C FOLDER …`, `flock FILE -c TEXT`: what follows is done there, or is a text."""
        for one, two in pairwise([*words, ""]):
            folder = programs.FOLDER_OPTION.fullmatch(one)
            if folder is not None:
                self.values.go_to([folder["folder"] or two])
            output = programs.OUTPUT_OPTION.fullmatch(one)
            if output is not None:
                yield Target(output["file"] or two)
            text = programs.TEXT_OPTION.fullmatch(one)
            if text is not None:
                yield from self.at(text["text"] or two, depth + 1)

    def _each(
        self, words: list[str], command: Command, piped: Piped, depth: int
    ) -> Iterator[Target]:
        """`xargs`: what came before may be what comes behind, or stands for `{}`."""
        given = [part for one in (*spread(piped.words), *piped.texts) for part in one.split()]
        marks = [one[2:] or two for one, two in pairwise(words) if one.startswith("-I")]
        some = [FOUND] if piped.lists else given
        filled = [one.replace((marks or [FOUND])[0], " ".join(some)) for one in words]
        acting = list(self._started(filled if marks else filled + some, command, NOTHING, depth))
        yield from acting
        if piped.lists:
            yield from done_to(acting, piped.lists)

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
        found = listing(words)
        assert found is not None, "`find` lists files"
        if "-delete" in words:
            yield from done_to([Target(FOUND)], found)
        for one, two in pairwise(words):
            if one in {"-fprint", "-fprint0", "-fprintf", "-fls"}:
                yield Target(two)
        for at, word in enumerate(words):
            if word in {"-exec", "-execdir", "-ok", "-okdir"}:
                acting = [one for one in words[at + 1 :] if one not in {";", "+"}]
                done = list(self._command(acting, command, NOTHING, depth))
                yield from done
                yield from done_to(done, found)

    def _code(
        self, words: list[str], texts: list[str], command: Command, depth: int
    ) -> Iterator[Target]:
        """Code for an interpreter, of which only names are looked at."""
        rest = words[1:]
        module = module_words(rest) if programs.PYTHON.fullmatch(base_name(words[0])) else []
        if module:
            yield from self._command(module, command, NOTHING, depth)
            return
        whole = any(programs.TAKES_AWAY.search(one) for one in (*rest, *texts))
        for text in (*rest, *texts):
            yield Target(text)
            yield from (Target(one, whole=whole) for one in _TOKEN.findall(text))
