"""The state of a shell while its text is read: variables, folders, lists, calls of git, pipes.

It evaluates the words of each command, and records what they assign and declare.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_git import GitState
from bylaw.hosts.hooks.protect.shell_lists import FileLists, Target, join_marks, marks_in
from bylaw.hosts.hooks.protect.shell_parser import PieceKind, elements_name, read_shell
from bylaw.hosts.hooks.protect.shell_programs import base_name, unknown_variables
from bylaw.hosts.hooks.protect.shell_values import UNKNOWN, ShellValues

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bylaw.hosts.hooks.protect.shell_lists import Listing
    from bylaw.hosts.hooks.protect.shell_parser import ShellCommand, ShellWord

PRINTS = frozenset({"echo", "printf"})
MAX_ARGUMENTS = 2_000  # arguments from the input of `xargs`
PLACEHOLDER = "{}"  # placeholder for a listed file
# Options of `xargs`: the placeholder, the delimiter, the input file.
_MARK = re.compile(r"(?:(?P<next>-[rtx0]*I)|-[rtx0]*i|--replace=?)(?P<mark>.*)")
_PART = re.compile(r"(?:-d|--delimiter)(?:=?(?P<part>.+))?")
_FILE = re.compile(r"-[rtx0]*a.*|--arg-file(?:=.*)?")
_VALUED = re.compile(r"-[prtx0]*[IadnLPsE]|--(?:arg-file|delimiter|max-[a-z]+)")
_LINE_END = re.compile(r"\\(?:[nrt0]|x0[aA])")


class PipeInput(NamedTuple):
    """What comes through a pipe.

    `words` are those of the command before it. The rest is of all commands that lead there: the
    texts that they print or read, their words, which may be files, and the marks of their lists.
    """

    words: list[str]
    texts: list[str]
    files: list[str]
    lists: str = ""

    def through(self, words: list[str], here: list[str], reads: list[str], lists: str) -> PipeInput:
        """Return the output of a command that has this as its input."""
        prints = bool(words) and base_name(words[0]) in PRINTS
        printed = [" ".join(printed_words(words))] if prints else []
        files = [one for one in words[1:] if not one.startswith("-")]
        return PipeInput(
            words, [*self.texts, *here, *printed], [*self.files, *files, *reads], lists
        )

    def beside(self, other: PipeInput) -> PipeInput:
        """Return the output of a group in which this is followed by `other`."""
        texts, files = [*self.texts, *other.texts], [*self.files, *other.files]
        return PipeInput(other.words, texts, files, join_marks(self.lists, other.lists))


NO_INPUT = PipeInput([], [], [])


def printed_words(words: list[str]) -> list[str]:
    """Return the words after a program, with the line ends that `printf` would make."""
    return [_LINE_END.sub("\n", one) for one in words[1:]]


class XargsCall(NamedTuple):
    """A call of `xargs`.

    It starts the words `started` with the arguments `given`; `mark` is the placeholder for one
    argument, or empty. `is_cut` says that there are more arguments.
    """

    started: list[str]
    given: list[str]
    mark: str
    is_cut: bool


def parse_xargs(words: list[str], texts: list[str]) -> XargsCall:
    """Parse a call of `xargs` with its input. The input may also be a word (`-a <(…)`)."""
    options = _own_options(words)
    said = [*options, ""]
    marks = [found["mark"] or (two if found["next"] else PLACEHOLDER)
             for one, two in pairwise(said) if (found := _MARK.fullmatch(one))]  # fmt: skip
    parts = [found["part"] or two for one, two in pairwise(said) if (found := _PART.fullmatch(one))]
    if any(_FILE.fullmatch(one) for one in said):
        texts = [*texts, *(one.partition("=")[2] or one for one in words[1:])]
    given = dict.fromkeys(_items(texts, parts, lines=bool(marks)))
    kept = list(islice(given, MAX_ARGUMENTS))
    started = words[len(options) + 1 :]
    return XargsCall(started, kept, marks[0] if marks else "", is_cut=len(given) > MAX_ARGUMENTS)


def _own_options(words: list[str]) -> list[str]:
    """Return the options of `xargs` with their values; another program follows them."""
    ends = (at for at, (one, two) in enumerate(pairwise(words))
            if not two.startswith("-") and not _VALUED.fullmatch(one))  # fmt: skip
    return words[1 : next(ends, len(words)) + 1]


def _items(texts: list[str], parts: list[str], *, lines: bool) -> Iterator[str]:
    for text in texts:
        yield from text.split()
        yield from (one.strip() for one in text.splitlines() if lines and one.strip())
        for part in filter(None, parts):
            yield from text.split(_LINE_END.sub("\n", part))


def listed_targets(acting: list[Target], lists: list[Listing]) -> Iterator[Target]:
    """Yield the changes of listed files, if there are any. Copying them changes none."""
    done = [target for target in acting if PLACEHOLDER in target.path and not target.inside]
    modes = all(target.modes for target in done)
    for one in lists if done else ():
        for folder in one.folders:
            yield Target(folder, whole=True, sought=one.sought, modes=modes)


ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<more>\+?)=")
_TOP_LEVEL = ("git", "rev-parse", "--show-toplevel")


class ShellStart(NamedTuple):
    """Where a text runs: the folder, the root, and the variables."""

    folder: str
    root: str
    environment: Mapping[str, str]


class ShellState:
    """What is known of a shell while its text is read.

    `run_later` are values of variables that are commands. `git` is what calls of git have done.
    `lists` are the lists of files that commands print. `filling` is the variable that may get the
    next words as its value: `NAME=(…)`.
    """

    def __init__(self, start: ShellStart) -> None:
        self.values = ShellValues(start.folder, start.environment)
        self.lists = FileLists()
        self.git = GitState()
        self.run_later: list[str] = []
        self.filling = ""
        self._start = start
        self._given: set[tuple[str, ...]] = set()
        self._lists_of: dict[str, str] = {}  # texts of commands → marks of their lists
        self._hearing: dict[str, str] = {}  # variables that `read` fills → marks of its input

    def of(self, word: ShellWord) -> list[str]:
        """Return all values that a word may have."""
        return self.values.of(word, self._printed)

    def expand_all(self, words: list[ShellWord]) -> list[str]:
        """Return all values that several words may have."""
        return [one for word in words for one in self.of(word)]

    def other_values(self, texts: list[str], command: ShellCommand) -> list[str]:
        """Return the other values of those words of a command that may have these values."""
        each = [self.of(word) for word in command.words]
        several = [values for values in each if len(values) > 1 and not {*texts}.isdisjoint(values)]
        return [one for values in several for one in values if one not in texts]

    def note_lists(self, text: str, marks: str) -> None:
        """Record that the text of a command prints lists."""
        self._lists_of[text] = join_marks(self._lists_of.get(text, ""), marks)

    def lists_into(self, command: ShellCommand, words: list[str]) -> str:
        """Return the marks of lists that a command reads, or prints because they are its words."""
        pieces = (piece for word in (*command.words, *command.reads) for piece in word)
        files = (self._lists_of.get(one.text, "") for one in pieces if one.in_file)
        printed = words if words[:1] and words[0] in PRINTS else []
        return join_marks(*files, marks_in(*self.expand_all(command.here), *printed))

    def hear(self, words: list[str], marks: str) -> None:
        """Record that a command such as `read` fills variables with files of lists."""
        default = programs.READS_LINES.get(words[0]) if words else None
        if default:
            self._assign_read([*unknown_variables(words)] or [default], marks)

    def assign_read_late(self, marks: str) -> bool:
        """Record that each variable filled by `read` may be a file of lists.

        Return whether that is new.
        """
        is_new = any(set(marks) - set(known) for known in self._hearing.values())
        self._assign_read(list(self._hearing) if is_new else [], marks)
        return is_new

    def _assign_read(self, names: list[str], marks: str) -> None:
        for name in names:
            self._hearing[name] = join_marks(self._hearing.get(name, ""), marks)
            self._fill(name, marks)

    def _fill(self, name: str, marks: str) -> None:
        if name and marks:
            self.values.assign_first(name, f"{UNKNOWN}{marks}")
            self.values.assign_first(elements_name(name), f"{UNKNOWN}{marks}")

    def _printed(self, text: str) -> str:
        """Return what a command prints, as far as it is easy to determine."""
        plain, marks = self._printed_text(text), self._lists_of.get(text, "")
        return f"{plain if plain == UNKNOWN else f'{plain} {UNKNOWN}'}{marks}" if marks else plain

    def _printed_text(self, text: str) -> str:
        commands, is_whole, _ = read_shell(text)
        if not is_whole or len(commands) != 1:
            return UNKNOWN
        words = ["".join(one.text for one in word) for word in commands[0].words]
        if words == ["pwd"]:
            return self.values.folders[-1]
        if tuple(words) == _TOP_LEVEL:
            return self._start.root
        if words[:1] and words[0] in PRINTS:
            return " ".join(one for one in printed_words(words) if not one.startswith(("-", "%")))
        return UNKNOWN

    def of_command(self, command: ShellCommand) -> list[str]:
        """Return the values of all words after keywords and assignments; record the latter."""
        todo = list(command.words)
        while todo:
            values = self.of(todo[0])
            first = values[0] if values else ""
            is_keyword = first in programs.KEYWORDS and len(todo[0]) == 1
            if not is_keyword and not self._is_assignment(todo[0], values):
                break
            del todo[: 2 if first == "function" else 1]  # a name follows
        found = [value for word in todo for value in self.of(word)]
        if found:
            self._fill(self.filling, marks_in(*found))
            self.filling = ""
        if len(found) > 2 and found[0] in {"for", "select"}:  # noqa: PLR2004 - `for NAME in …`
            self.values.assign(found[1], found[3:])
        if found and found[0] in programs.DECLARES:
            self.assign([one for one in found[1:] if ASSIGNMENT.match(one)])
        self.values.shows_hidden |= any(programs.SHOWS_HIDDEN.fullmatch(one) for one in found)
        for name in unknown_variables(found):
            self.values.assign(name, [UNKNOWN])
        return found

    def give(self, words: list[str]) -> None:
        """Record the arguments of a text: `$0`, `$1` and so on."""
        for number, one in enumerate(words):
            for name in (str(number), "@", "*"):
                self.values.assign(name, [one])

    def assign_function_arguments(self, words: list[str]) -> bool:
        """Record the arguments of a function, each for every parameter.

        Return whether they are new.
        """
        is_new = bool(words) and tuple(words) not in self._given
        if is_new:
            self._given.add(tuple(words))
            for name in (*map(str, range(1, len(words) + 1)), "@", "*"):
                self.values.assign(name, words)
        return is_new

    def _is_assignment(self, word: ShellWord, values: list[str]) -> bool:
        """Record a word if it is an assignment; return whether it is one.

        All its values belong to the variable: `NAME=$(…)` is not split into words.
        """
        if not word or word[0].kind is not PieceKind.PLAIN or not values:
            return False
        found = ASSIGNMENT.match(values[0])
        if found is None:
            return False
        self.filling = found["name"] if word[0].text == found[0] and len(word) == 1 else ""
        return self.assign([one if ASSIGNMENT.match(one) else f"{found[0]}{one}" for one in values])

    def assign(self, values: list[str]) -> bool:
        """Record what words assign; return whether they assign anything."""
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
