"""The words of a command → their values; what they assign and declare is known from then on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_arguments import given_names
from bylaw.hosts.hooks.protect.shell_git import GitState
from bylaw.hosts.hooks.protect.shell_pipe import PRINTS, spread
from bylaw.hosts.hooks.protect.shell_text import read_shell
from bylaw.hosts.hooks.protect.shell_values import UNKNOWN, Values
from bylaw.hosts.hooks.protect.shell_word import PieceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.protect.shell_text import Command
    from bylaw.hosts.hooks.protect.shell_word import Word

ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<more>\+?)=")
_TOP_LEVEL = ("git", "rev-parse", "--show-toplevel")


class ShellStart(NamedTuple):
    """Where a text is run: the folder, the root, and the variables."""

    folder: str
    root: str
    environment: Mapping[str, str]


class ShellState:
    """What is known of a shell while its text is looked through.

    `run_later` are values of variables that are commands, `git` is what was done with git.
    """

    def __init__(self, start: ShellStart) -> None:
        self.values = Values(start.folder, start.environment)
        self.git = GitState()
        self.run_later: list[str] = []
        self._start = start
        self._given: set[tuple[str, ...]] = set()

    def of(self, word: Word) -> list[str]:
        """All that a word can stand for."""
        return self.values.of(word, self._printed)

    def all_of(self, words: list[Word]) -> list[str]:
        """The same for several."""
        return [one for word in words for one in self.of(word)]

    def _printed(self, text: str) -> str:
        """What a command prints, if that is easily told."""
        commands, is_whole, _ = read_shell(text)
        if not is_whole or len(commands) != 1:
            return UNKNOWN
        words = ["".join(one.text for one in word) for word in commands[0].words]
        if words == ["pwd"]:
            return self.values.folders[-1]
        if tuple(words) == _TOP_LEVEL:
            return self._start.root
        if words[:1] and words[0] in PRINTS:
            return " ".join(one for one in spread(words) if not one.startswith(("-", "%")))
        return UNKNOWN

    def of_command(self, command: Command) -> list[str]:
        """The values of all words behind keywords and assignments, which are noted."""
        todo = list(command.words)
        while todo:
            values = self.of(todo[0])
            first = values[0] if values else ""
            is_keyword = first in programs.KEYWORDS and len(todo[0]) == 1
            if not is_keyword and not self._is_assignment(todo[0], values):
                break
            del todo[: 2 if first == "function" else 1]  # behind it stands a name
        found = [value for word in todo for value in self.of(word)]
        if len(found) > 2 and found[0] in {"for", "select"}:  # noqa: PLR2004 - `for NAME in …`
            self.values.assign(found[1], found[3:])
        if found and found[0] in programs.DECLARES:
            self.assign([one for one in found[1:] if ASSIGNMENT.match(one)])
        self.values.shows_hidden |= any(programs.SHOWS_HIDDEN.fullmatch(one) for one in found)
        for name in given_names(found):
            self.values.assign(name, [UNKNOWN])
        return found

    def give(self, words: list[str]) -> None:
        """Note what a text is called with."""
        for number, one in enumerate(words):
            for name in (str(number), "@", "*"):
                self.values.assign(name, [one])

    def give_function(self, words: list[str]) -> bool:
        """Note what a function is called with, whichever is which; whether that is new."""
        is_new = bool(words) and tuple(words) not in self._given
        if is_new:
            self._given.add(tuple(words))
            for name in (*map(str, range(1, len(words) + 1)), "@", "*"):
                self.values.assign(name, words)
        return is_new

    def _is_assignment(self, word: Word, values: list[str]) -> bool:
        return bool(word) and word[0].kind is PieceKind.PLAIN and self.assign(values)

    def assign(self, values: list[str]) -> bool:
        """Note what words assign; whether they do so."""
        matched = [(found, one) for one in values if (found := ASSIGNMENT.match(one))]
        for found, one in matched:
            if found["more"]:
                self.values.append(found["name"], one[found.end() :])
            else:
                self.values.assign(found["name"], [one[found.end() :]])
            if programs.RUN_VARIABLE.fullmatch(found["name"]):
                self.run_later.append(one[found.end() :].removeprefix("!"))
            elif programs.GIT_VARIABLE.fullmatch(found["name"]):
                self.git.is_known = False
                self.values.go_to([one[found.end() :]])
        return bool(matched)
