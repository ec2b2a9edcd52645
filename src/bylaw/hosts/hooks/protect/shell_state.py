"""The words of a command → their values; what they assign and declare is known from then on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_arguments import given_names
from bylaw.hosts.hooks.protect.shell_git import GitState
from bylaw.hosts.hooks.protect.shell_lists import Lists, joined, marks_in
from bylaw.hosts.hooks.protect.shell_pipe import PRINTS, spread
from bylaw.hosts.hooks.protect.shell_text import read_shell
from bylaw.hosts.hooks.protect.shell_values import UNKNOWN, Values
from bylaw.hosts.hooks.protect.shell_word import PieceKind, elements

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

    `run_later` are values of variables that are commands, `git` is what was done with git, `lists`
    are those of files that commands print. `filling` is the variable to which the next words may
    be given: `NAME=(…)`.
    """

    def __init__(self, start: ShellStart) -> None:
        self.values = Values(start.folder, start.environment)
        self.lists = Lists()
        self.git = GitState()
        self.run_later: list[str] = []
        self.filling = ""
        self._start = start
        self._given: set[tuple[str, ...]] = set()
        self._lists_of: dict[str, str] = {}  # texts of commands, and marks of what they list
        self._hearing: dict[str, str] = {}  # variables that are read, and marks of what is heard

    def of(self, word: Word) -> list[str]:
        """All that a word can stand for."""
        return self.values.of(word, self._printed)

    def all_of(self, words: list[Word]) -> list[str]:
        """The same for several."""
        return [one for word in words for one in self.of(word)]

    def instead_of(self, texts: list[str], command: Command) -> list[str]:
        """What else the words of a command can stand for that can stand for these texts."""
        each = [self.of(word) for word in command.words]
        several = [values for values in each if len(values) > 1 and not {*texts}.isdisjoint(values)]
        return [one for values in several for one in values if one not in texts]

    def note_lists(self, text: str, marks: str) -> None:
        """The text of a command prints lists."""
        self._lists_of[text] = joined(self._lists_of.get(text, ""), marks)

    def lists_into(self, command: Command, words: list[str]) -> str:
        """The lists that a command reads from files or texts, or prints because they are words."""
        pieces = (piece for word in (*command.words, *command.reads) for piece in word)
        files = (self._lists_of.get(one.text, "") for one in pieces if one.in_file)
        printed = words if words[:1] and words[0] in PRINTS else []
        return joined(*files, marks_in(*self.all_of(command.here), *printed))

    def hear(self, words: list[str], marks: str) -> None:
        """`read` and its kind: what they read may be files of lists."""
        default = programs.HEARS_LINES.get(words[0]) if words else None
        if default:
            self._hear([*given_names(words)] or [default], marks)

    def hear_late(self, marks: str) -> bool:
        """All that is read may be files of lists; whether that is new."""
        is_new = any(set(marks) - set(known) for known in self._hearing.values())
        self._hear(list(self._hearing) if is_new else [], marks)
        return is_new

    def _hear(self, names: list[str], marks: str) -> None:
        for name in names:
            self._hearing[name] = joined(self._hearing.get(name, ""), marks)
            self._fill(name, marks)

    def _fill(self, name: str, marks: str) -> None:
        if name and marks:
            self.values.assign_first(name, f"{UNKNOWN}{marks}")
            self.values.assign_first(elements(name), f"{UNKNOWN}{marks}")

    def _printed(self, text: str) -> str:
        """What a command prints, as far as that is easily told."""
        plain, marks = self._plainly_printed(text), self._lists_of.get(text, "")
        return f"{plain if plain == UNKNOWN else f'{plain} {UNKNOWN}'}{marks}" if marks else plain

    def _plainly_printed(self, text: str) -> str:
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
        if found:
            self._fill(self.filling, marks_in(*found))
            self.filling = ""
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
        """Whether a word is one, of which all is noted: `NAME=$(…)` is not split into words."""
        if not word or word[0].kind is not PieceKind.PLAIN or not values:
            return False
        found = ASSIGNMENT.match(values[0])
        if found is None:
            return False
        self.filling = found["name"] if word[0].text == found[0] and len(word) == 1 else ""
        return self.assign([one if ASSIGNMENT.match(one) else f"{found[0]}{one}" for one in values])

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
