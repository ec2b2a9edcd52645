"""A word of a shell's text → what it can stand for, as far as that can be known.

Variables, braces, `~` and patterns are followed; what nobody can know is UNKNOWN in the value. A
word can have several values, and all of them count.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect.shell_word import PieceKind
from bylaw.runtime.paths import as_bytes, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.hosts.hooks.protect.shell_word import Piece, Word

MAX_VALUES = 100  # of one word, before patterns
MAX_CHARS = 8_192  # that variables may add to what is written
MAX_FOLDERS = 8  # in which a text may be
MAX_FILES = 2_000  # that a pattern stands for
MAX_LISTED = 20_000  # names of a folder

UNKNOWN = "\ufffc"
_GAP = "\ue0ff"
_HIDDEN = 0xE000  # what is quoted is moved there, out of the way of patterns
_SPECIAL = re.compile(r"[*?\[\]{}~,!^]")
_MOVED = re.compile("[\ue000-\ue07f]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PATTERN = re.compile(r"[*?\[]")
# What stands for something else here is not expected in a text.
RESERVED = re.compile("[\0\ue000-\ue0ff\ufffc]")
_QUOTED = (PieceKind.QUOTED, PieceKind.QUOTED_VARIABLE)


class Values:
    """What is known while a text is read: variables, and folders in which it may be."""

    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        self.folders = [folder]
        self._variables: dict[str, list[str]] = {}
        self._environment = environment

    def assign(self, name: str, values: list[str]) -> None:
        """A variable may have these values, too."""
        known = self._variables.setdefault(name, [])
        known += [one for one in values if one not in known][: MAX_VALUES - len(known)]

    def enter(self, folder: str) -> None:
        """The text may go on in another folder; that it does is not certain."""
        if folder not in self.folders and len(self.folders) < MAX_FOLDERS:
            self.folders.append(folder)

    def go_to(self, words: list[str]) -> None:
        """`cd WORDS`, from every folder in which it may be."""
        named = [one for one in words if not one.startswith("-")]
        for name in named or [self._environment.get("HOME", "/")]:
            for folder in list(self.folders):
                self.enter(name if name.startswith("/") else f"{folder}/{name}")

    def of(self, word: Word, output: Callable[[str], str]) -> list[str]:
        """All values of a word; `output` says what a command prints, if that can be known."""
        written = self._joined(word, output)
        split = [part for one in written for part in one.split(_GAP) if part or one == part]
        found = [value for one in split for value in self._files(_home(one))]
        longest = MAX_CHARS + sum(len(piece.text) for piece in word)
        return [_shown(value)[:longest] for value in found]

    def _joined(self, word: Word, output: Callable[[str], str]) -> list[str]:
        written = [""]
        for piece in word:
            texts = self._texts(piece, output)
            written = [one + text for one in written for text in texts][:MAX_VALUES]
        return [value for one in written for value in _braces(one)][:MAX_VALUES]

    def _texts(self, piece: Piece, output: Callable[[str], str]) -> list[str]:
        match piece.kind:
            case PieceKind.PLAIN:
                return [piece.text]
            case PieceKind.QUOTED:
                return [_hidden(piece.text)]
            case PieceKind.VARIABLE | PieceKind.QUOTED_VARIABLE:
                known = self._values(piece.text)
                return [_in_word(one, quoted=piece.kind in _QUOTED) for one in known]
            case PieceKind.COMMAND:
                return [_in_word(output(piece.text), quoted=False)]
        return [UNKNOWN]

    def _values(self, name: str) -> list[str]:
        if name == "PWD":
            return self.folders
        found = list(self._variables.get(name, ()))
        if name in self._environment:
            found.append(self._environment[name])
        return found or [UNKNOWN]

    def _files(self, value: str) -> Iterator[str]:
        if not _PATTERN.search(value) or UNKNOWN in value:
            yield value
            return
        found = [one for folder in self.folders for one in _matching(value, folder)]
        yield from found or [value]


def _in_word(text: str, *, quoted: bool) -> str:
    """A text that came from elsewhere: open to patterns and gaps, unless it is quoted."""
    return _hidden(text) if quoted else _GAP.join(text.split()) if text.strip() else text


def _hidden(text: str) -> str:
    return _SPECIAL.sub(lambda found: chr(_HIDDEN + ord(found[0])), text)


def _shown(text: str) -> str:
    return _MOVED.sub(lambda found: chr(ord(found[0]) - _HIDDEN), text)


def _home(value: str) -> str:
    return os.path.expanduser(value) if value.startswith("~") else value  # noqa: PTH111 - a text


def _braces(text: str, left: int = MAX_VALUES) -> Iterator[str]:
    """Every choice of `{a,b}`, the innermost first."""
    todo, seen = [text], 0
    while todo and seen < left:
        one = todo.pop()
        found = _BRACES.search(one)
        if found is None:
            seen += 1
            yield one
        else:
            todo += [one[: found.start()] + each + one[found.end() :]
                     for each in found[1].split(",")][: left]  # fmt: skip


def _matching(pattern: str, folder: str) -> Iterator[str]:
    """The files that a pattern stands for; the folder in which they are if they are too many."""
    start = "" if pattern.startswith("/") else folder.rstrip("/")
    found = [start]
    for part in pattern.split("/"):
        if not part:
            continue
        if not _PATTERN.search(part):
            found = [f"{one}/{_shown(part)}" for one in found]
            continue
        names = (f"{one}/{name}" for one in found for name in _listed(one or "/", part))
        found = list(islice(names, MAX_FILES + 1))
        if len(found) > MAX_FILES:
            yield start or "/"
            return
    yield from (one for one in found if os.path.lexists(as_bytes(one)))


def _listed(folder: str, part: str) -> list[str]:
    wanted = _shown(part).casefold().replace("[^", "[!")
    try:
        with os.scandir(as_bytes(folder)) as entries:
            names = [as_text(entry.name) for entry in islice(entries, MAX_LISTED)]
    except (OSError, ValueError):
        return []
    return [
        name
        for name in sorted(names)
        if fnmatchcase(name.casefold(), wanted)
        and (not name.startswith(".") or wanted.startswith((".", "[")))
    ]
