"""Find which files a command lists: the folders that it searches, and a filter.

The output of `find`, `grep -l` or `git ls-files` often goes to a program that changes these files.
"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect.shell_values import UNKNOWN
from bylaw.runtime.paths import as_text, is_folder
from bylaw.runtime.reading import regular_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_READ = 1 << 20
MAX_PATTERN = 500  # characters
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"})
_BASIC = frozenset({"grep", "zgrep", "git"})  # in their patterns, `\(` is a group, not `(`
_SWAPPED = re.compile(r"\\?[(){}|+?]")
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FINDS = frozenset({"fd", "fdfind"})
# Options that have a value, short and long, and what the value is.
_VALUED = {"e": "pattern", "f": "file", "g": "name", "m": "", "A": "", "B": "", "C": "", "t": ""}
_VALUED_LONG = {
    "--regexp": "pattern",
    "--file": "file",
    "--include": "name",
    "--glob": "name",
    "--exclude-dir": "folder",
    **dict.fromkeys(("--exclude", "--type", "--max-count", "--context", "--max-depth"), ""),
    **dict.fromkeys(("--after-context", "--before-context"), ""),
}
# These skip hidden files unless an option includes them. Git skips its own folder, and the state
# folder of Bylaw.
_SKIP_HIDDEN = frozenset({"rg", "ag", "fd"})
_HIDDEN_TOO = frozenset({"u", ".", "H", "I", "--hidden", "--no-ignore", "--unrestricted"})
_UNTRACKED = r"/\.git/|/\.bylaw/state/"
_NAMES_ONLY = frozenset({"l", "L", "--files-with-matches", "--files-without-match", "--files"})
_OTHERS = frozenset({"v", "L", "--invert-match", "--files-without-match"})
# Their output has no names of files.
_COUNTS = frozenset({"wc", "cksum", "sum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum"})
_COUNTING = frozenset({"c", "q", "--count", "--quiet", "--silent"})
_DELETED = frozenset({"d", "z", "--deleted"})
_NOT = frozenset({"!", "-not"})


class Sought(NamedTuple):
    """A filter of files by name, path and content; an empty field matches every file.

    Paths that match `skips` are excluded.
    """

    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    skips: str = ""

    def fits(self, path: str, below: str) -> bool:
        """Whether a file may match. `below` is its path from the searched folder.

        A file that cannot be read may match.
        """
        name = path.rpartition("/")[2].casefold()
        if self.names and not any(fnmatch.fnmatchcase(name, one.casefold()) for one in self.names):
            return False
        if self.skips and re.search(self.skips, f"/{below}/"):
            return False
        written = (below, f"./{below}", path)
        if not all(any(_occurs(one, way) for way in written) for one in self.paths):
            return False
        if not self.holds:
            return True
        text = _text(path)
        return not is_folder(path) and (
            text is None or any(_occurs(one, text) for one in self.holds)
        )


class Listing(NamedTuple):
    """The files below some folders that a command lists."""

    folders: tuple[str, ...]
    sought: Sought = Sought()

    def narrowed(self, words: list[str]) -> Listing | None:
        """Return the files that another command passes on; None if it prints no names."""
        program = _program(words)
        if program in _COUNTS:
            return None
        if program not in _GREPS:
            return self
        said = _Said(words[1:])
        if said.flags & _COUNTING:
            return None
        patterns = said.patterns(program)
        if said.flags & _OTHERS or len(patterns) != 1:
            return self
        return self._replace(sought=self.sought._replace(paths=(*self.sought.paths, *patterns)))


def listing(words: list[str]) -> Listing | None:
    """Return the files that a command lists, or None if it lists none."""
    program = _program(words)
    if program == "find":
        return _found(words)
    if program == "ls":
        return Listing(tuple(_Said(words[1:]).rest) or (".",))
    if program in _FINDS:
        return _found_by_pattern(words[1:])
    if program in _GREPS:
        return _holding(program, words[1:])
    if program == "git" and words[1:2] == ["ls-files"]:
        return _tracked(words[2:])
    if program == "git" and words[1:2] == ["grep"]:
        return _holding("git", words[2:])
    return None


def run_by_find(words: list[str]) -> Iterator[list[str]]:
    """Yield the commands that `find` runs: each ends at `;`, or at `+` after `{}`."""
    todo = iter(words)
    for word in todo:
        if word in _RUNS:
            run: list[str] = []
            for one in todo:
                if one == ";" or (one == "+" and run[-1:] == ["{}"]):
                    break
                run.append(one)
            yield run


class _Said:
    """The options of a program, and its other words."""

    def __init__(self, words: list[str]) -> None:
        self.flags: set[str] = set()
        self.values: defaultdict[str, list[str]] = defaultdict(list)
        self.rest: list[str] = []
        todo = iter(words)
        for word in todo:
            if word == "--":
                self.rest += todo
            elif word.startswith("--"):
                name, has_value, value = word.partition("=")
                self.flags.add(name)
                if name in _VALUED_LONG:
                    self.values[_VALUED_LONG[name]].append(value if has_value else next(todo, ""))
            elif word.startswith("-") and word != "-":
                self._short(word[1:], todo)
            else:
                self.rest.append(word)

    def _short(self, letters: str, todo: Iterator[str]) -> None:
        for at, letter in enumerate(letters):
            self.flags.add(letter)
            if letter in _VALUED:
                self.values[_VALUED[letter]].append(letters[at + 1 :] or next(todo, ""))
                return

    def patterns(self, program: str) -> tuple[str, ...]:
        """Return the patterns of a search as regular expressions.

        If no option has one, the pattern is the first of the other words, which is removed there.
        """
        if self.values["file"]:
            return ("",)
        written = self.values["pattern"] or [self.rest.pop(0) if self.rest else ""]
        is_plain = program == "fgrep" or self.flags.intersection(("F", "--fixed-strings"))
        is_basic = program in _BASIC and not self.flags.intersection(("E", "P"))
        return tuple(
            re.escape(one) if is_plain else _swapped(one) if is_basic else one for one in written
        )


def _found(words: list[str]) -> Listing:
    options = [at for at, one in enumerate(words) if at and one.startswith(("-", "(", "!"))]
    folders = words[1 : options[0]] if options else words[1:]
    names = tuple(three for one, two, three in zip(words, words[1:], words[2:], strict=False)
                  if two in {"-name", "-iname"} and one not in _NOT)  # fmt: skip
    if any(one in _NOT and two == "(" for one, two in pairwise(words)):
        names = ()
    return Listing(tuple(folders) or (".",), Sought(names))


def _found_by_pattern(words: list[str]) -> Listing:
    """`fd PATTERN FOLDER…`: `-e` has a file extension, `-g` makes the pattern one for names."""
    others = [one for one in words if one not in {"-g", "--glob"}]
    said = _Said(others)
    endings = tuple(f"*.{one.lstrip('.')}" for one in said.values["pattern"])
    pattern, folders = said.rest[:1], said.rest[1:]
    is_name = others != words
    names = (*endings, *(pattern if is_name else ()))
    paths = () if is_name else tuple(pattern)
    return Listing(tuple(folders) or (".",), Sought(names, paths, skips=_hidden("fd", said)))


def _holding(program: str, words: list[str]) -> Listing | None:
    said = _Said(words)
    if not said.flags & _NAMES_ONLY:
        return None
    holds = () if "--files" in said.flags else said.patterns(program)
    names = tuple(one for one in said.values["name"] if not one.startswith("!"))
    sought = Sought(names, (), () if said.flags & _OTHERS else holds, _hidden(program, said))
    return Listing(tuple(said.rest) or (".",), sought)


def _hidden(program: str, said: _Said) -> str:
    """Return a pattern of the paths that a program skips, by itself or because of an option."""
    folders = [fnmatch.translate(one).removesuffix(r"\Z") for one in said.values["folder"]]
    skipped = [f"/(?:{one})/" for one in folders]
    if program == "git":
        skipped.append(_UNTRACKED)
    elif program in _SKIP_HIDDEN and not said.flags & _HIDDEN_TOO:
        skipped.append(r"/\.[^/]")
    return "|".join(skipped)


def _tracked(words: list[str]) -> Listing | None:
    """`git ls-files`, whose paths may be patterns. A list of deleted files lists none."""
    said = _Said(words)
    if said.flags and said.flags <= _DELETED:
        return None
    rest = said.rest
    patterns = [one for one in rest if "*" in one]
    names = tuple(one.rpartition("/")[2] for one in patterns) if patterns == rest else ()
    folders = dict.fromkeys(one.partition("*")[0].rpartition("/")[0] or "." if "*" in one else one
                            for one in rest)  # fmt: skip
    return Listing(tuple(folders) or (".",), Sought(names, skips=_UNTRACKED))


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _swapped(pattern: str) -> str:
    """Return a basic regular expression as an extended one."""
    return _SWAPPED.sub(
        lambda found: found[0][1:] if found[0][0] == "\\" else f"\\{found[0]}", pattern
    )


def _occurs(pattern: str, text: str) -> bool:
    """Whether a pattern may match in a text; an unknown or invalid pattern may."""
    if len(pattern) > MAX_PATTERN or UNKNOWN in pattern:
        return True
    try:
        return re.search(pattern, text, re.IGNORECASE | re.MULTILINE) is not None
    except (re.error, RecursionError):
        return True


def _text(path: str) -> str | None:
    try:
        data = regular_bytes(path, MAX_READ)
    except (OSError, ValueError):
        return None
    return as_text(data) if len(data) <= MAX_READ else None
