"""Find the values that a word of a shell text may have.

Variables, braces, `~` and patterns are expanded. What cannot be known is UNKNOWN in the value. A
word may have several values, and all of them count. If there are too many, the last value is
UNKNOWN, for all others.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect.shell_parser import PieceKind
from bylaw.store.paths import as_bytes, as_text, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.hosts.hooks.protect.shell_parser import ShellPiece, ShellWord

MAX_VALUES = 1_000  # of one word, before patterns, and of one variable
MAX_CHOICES = 5_000  # steps to expand braces
MAX_CHARS = 8_192  # that variables may add to a word
MAX_FOLDERS = 48  # in which a text may be
MAX_FILES = 2_000  # that a pattern matches
MAX_LISTED = 20_000  # names of a folder

UNKNOWN = "\ufffc"
_GAP = "\ue0ff"
_QUOTE_OFFSET = 0xE000  # offset for quoted characters, so that patterns ignore them
_SPECIAL = re.compile(r"[*?\[\]{}~,!^]")
_QUOTED_CHARACTERS = re.compile("[\ue000-\ue07f]")
_BRACES = re.compile(
    r"\{(?:(?P<list>[^{}]*,[^{}]*)"
    r"|(?P<ends>[A-Za-z]\.\.[A-Za-z]|-?[0-9]{1,18}\.\.-?[0-9]{1,18})(?:\.\.-?(?P<step>[0-9]{1,18}))?)\}"
)
_PATTERN = re.compile(r"[*?\[]")
# Characters with a meaning in this module, which must not be in a text.
RESERVED = re.compile("[\0\ue000-\ue0ff\ufffc]")
# After UNKNOWN: the mark of a list of files; the value may be any of them.
FIRST_MARK = 0xE080
MAX_MARKS = 0x7F
MARK = re.compile("[\ue080-\ue0fe]")
_CLASS = re.compile(r"\[:(?P<name>[a-z]+):\]|\[(?P<way>[.=])(?P<one>.)(?P=way)\]")
_LETTERS = "a-z\x80-\U0010ffff"
_CLASSES = {
    **dict.fromkeys(("alpha", "lower", "upper"), _LETTERS),
    **dict.fromkeys(("alnum", "word"), f"{_LETTERS}0-9_"),
    **dict.fromkeys(("print", "graph"), " -\U0010ffff"),
    "digit": "0-9",
    "xdigit": "0-9a-f",
    "punct": "!-/:-@[-`{-~",
    **dict.fromkeys(("space", "blank", "cntrl"), "\x01-\x20\x7f"),
}
_QUOTED = (PieceKind.QUOTED, PieceKind.QUOTED_VARIABLE)


class ShellValues:
    """What is known while a text is read: variables, and the folders in which it may be.

    `is_cut` says that a limit was exceeded, so the text may mean more. `shows_hidden` says that
    patterns may match hidden files, too.
    """

    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        self.folders = [folder]
        self.is_cut = False
        self.shows_hidden = False
        self._variables: dict[str, list[str]] = {}
        self._environment = environment

    def assign(self, name: str, values: Iterable[str]) -> None:
        """Add values that a variable may have."""
        # An empty value may also be the start of a list: `NAME=(…)`.
        given = [one for value in values for one in ([value] if value else ["", UNKNOWN])]
        known = dict.fromkeys([*self._variables.get(name, ()), *given])
        self._variables[name] = _limit_values(known)

    def assign_first(self, name: str, value: str) -> None:
        """Add a value before the others, so that the limit does not drop it."""
        self._variables[name] = _limit_values(
            dict.fromkeys([value, *self._variables.get(name, ())])
        )

    def append(self, name: str, value: str) -> None:
        """Add the values of a variable with `value` appended."""
        self.assign(name, [f"{one}{value}" for one in ("", *self._variables.get(name, ()))])

    def enter(self, folder: str) -> None:
        """Add a folder in which the text may go on."""
        if folder in self.folders:
            return
        if len(self.folders) < MAX_FOLDERS:
            self.folders.append(folder)
        else:
            self.is_cut = True

    def forget_start_folder(self) -> None:
        """Remove the folder in which the text began."""
        if len(self.folders) > 1:
            del self.folders[0]

    def go_to(self, words: list[str]) -> None:
        """Follow `cd WORDS` from every folder in which the text may be."""
        named = [without_marks(one) for one in words if not one.startswith("-")]
        others = [one for value in self._variables.get("CDPATH", ()) for one in value.split(":")]
        for name in named or [self._environment.get("HOME", "/")]:
            for folder in list(self.folders):
                for start in ("", *others):
                    self._go(os.path.join(folder, start, name))  # noqa: PTH118 - a text

    def _go(self, path: str) -> None:
        """Enter a folder as a shell does, and as the system does if links lead elsewhere."""
        folder = normal_path(path)
        self.enter(folder)
        if "/.." in path and UNKNOWN not in path and (real := real_path(path)) != real_path(folder):
            self.enter(real)

    def of(self, word: ShellWord, output: Callable[[str], str]) -> list[str]:
        """Return all values of a word; `output` returns what a command prints, if it is known."""
        written = self._joined(word, output)
        split = [part for one in written for part in one.split(_GAP) if part or one == part]
        found = [value for one in split for value in self._files(_expand_home(one))]
        longest = MAX_CHARS + sum(len(piece.text) for piece in word)
        self.is_cut |= any(len(value) > longest for value in found)
        return [_unquote(value)[:longest] for value in found]

    def _joined(self, word: ShellWord, output: Callable[[str], str]) -> list[str]:
        written = [""]
        for piece in word:
            texts = self._texts(piece, output)
            written = _limit_values(one + text for one in written for text in texts)
        return _limit_values(value for one in written for value in _expand_braces(one))

    def _texts(self, piece: ShellPiece, output: Callable[[str], str]) -> list[str]:
        match piece.kind:
            case PieceKind.PLAIN:
                return [piece.text]
            case PieceKind.QUOTED:
                return [_quote(piece.text)]
            case PieceKind.VARIABLE | PieceKind.QUOTED_VARIABLE:
                known = self._values(piece.text)
                return [_prepare_text(one, quoted=piece.kind in _QUOTED) for one in known]
            case PieceKind.COMMAND:
                printed = output(piece.text)
                return [
                    _prepare_text(
                        without_marks(printed) if piece.in_file else printed, quoted=False
                    )
                ]
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
        hidden = self.shows_hidden
        found = [
            one for folder in self.folders for one in _match_files(value, folder, hidden=hidden)
        ]
        yield from found or [value]


def without_marks(text: str) -> str:
    """Return a text without marks of lists."""
    return MARK.sub("", text)


def normal_path(path: str) -> str:
    """Return a path without `.` and `..`; the parent of an unknown folder is unknown, too."""
    parts: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            if not (part == UNKNOWN and parts[-1:] == [UNKNOWN]):
                parts.append(part)
        elif parts and UNKNOWN not in parts[-1]:
            parts.pop()
    return "/" + "/".join(parts)


def _limit_values(values: Iterable[str]) -> list[str]:
    """Return the values up to the limit, and then UNKNOWN for all others."""
    found = list(islice(values, MAX_VALUES + 1))
    return found if len(found) <= MAX_VALUES else [*found[:MAX_VALUES], UNKNOWN]


def _prepare_text(text: str, *, quoted: bool) -> str:
    """Prepare a text for a word: unless it is quoted, blanks split it and patterns are expanded."""
    return _quote(text) if quoted else _GAP.join(text.split()) if text.strip() else text


def _quote(text: str) -> str:
    return _SPECIAL.sub(lambda found: chr(_QUOTE_OFFSET + ord(found[0])), text)


def _unquote(text: str) -> str:
    return _QUOTED_CHARACTERS.sub(lambda found: chr(ord(found[0]) - _QUOTE_OFFSET), text)


def _expand_home(value: str) -> str:
    return os.path.expanduser(value) if value.startswith("~") else value  # noqa: PTH111 - a text


def _expand_braces(text: str) -> Iterator[str]:
    """Yield every choice of `{a,b}` and `{a..z}`, the innermost first."""
    todo = [text]
    for _ in range(MAX_CHOICES):
        if not todo:
            return
        one = todo.pop()
        found = _BRACES.search(one)
        if found is None:
            yield one
        else:
            choices = _expand_range(found) if found["list"] is None else found["list"].split(",")
            todo += (one[: found.start()] + each + one[found.end() :] for each in choices)
    yield UNKNOWN


def _expand_range(found: re.Match[str]) -> list[str]:
    """Return the choices of `{a..z}` or `{01..10..2}`; UNKNOWN if there are too many."""
    ends = found["ends"].split("..")
    is_letters = ends[0].isalpha()
    first, last = (ord(one) if is_letters else int(one) for one in ends)
    step = int(found["step"] or 1) or 1
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(numbers) > MAX_VALUES:
        return [UNKNOWN]
    if is_letters:
        return [chr(one) for one in numbers]
    padded = any(one.lstrip("-")[:1] == "0" != one.lstrip("-") for one in ends)
    width = max(map(len, ends)) if padded else 0
    return [f"{one:0{width}d}" for one in numbers]


def _match_files(pattern: str, folder: str, *, hidden: bool) -> Iterator[str]:
    """Yield the files that match a pattern, or their folder if there are too many."""
    start = "" if pattern.startswith("/") else folder.rstrip("/")
    parts = [one for one in pattern.split("/") if one]
    while parts and not _PATTERN.search(parts[0]):
        start = f"{start}/{_unquote(parts.pop(0))}"
    found = [start]
    for part in parts:
        if not _PATTERN.search(part):
            found = [f"{one}/{_unquote(part)}" for one in found]
            continue
        names = (name for one in found for name in _match_names(one, part, hidden=hidden))
        found = list(islice(names, MAX_FILES + 1))
        if len(found) > MAX_FILES:
            yield start or "/"
            return
    yield from (one for one in found if os.path.lexists(as_bytes(one)))


def _match_names(folder: str, part: str, *, hidden: bool) -> Iterator[str]:
    """Yield the files of a folder that match a part of a pattern."""
    wanted = _replace_classes(_unquote(part).casefold()).replace("[^", "[!")
    try:
        with os.scandir(as_bytes(folder or "/")) as entries:
            names = [as_text(entry.name) for entry in islice(entries, MAX_LISTED + 1)]
    except (OSError, ValueError):
        return
    # If there are too many names, take all: the caller then finds too many files and stops.
    fits = (lambda _: True) if len(names) > MAX_LISTED else _name_filter(wanted, hidden=hidden)
    yield from (f"{folder}/{name}" for name in sorted(names) if fits(name))


def _name_filter(wanted: str, *, hidden: bool) -> Callable[[str], bool]:
    hidden_too = hidden or wanted.startswith((".", "["))
    return lambda name: (hidden_too or name[:1] != ".") and fnmatchcase(name.casefold(), wanted)


def _replace_classes(pattern: str) -> str:
    """Replace classes such as `[:alpha:]`, which are inside brackets; letters have one case."""
    return _CLASS.sub(lambda found: _CLASSES.get(found["name"] or "", found["one"] or ""), pattern)
