"""What a command may change, as data, and lists of files that commands print.

The output of `find`, `grep -l` or `git ls-files` often goes to a program that changes these files.
In `rm $(git ls-files)` the names are unknown, but not the list that they are from. So the value is
UNKNOWN with a mark after it, which passes through variables and words like any other text.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect.shell_values import (
    FIRST_MARK,
    MARK,
    MAX_MARKS,
    UNKNOWN,
    normal_path,
    without_marks,
)
from bylaw.store.files import read_regular_bytes
from bylaw.store.paths import as_text, is_folder, is_inside, relative_name

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


class FileFilter(NamedTuple):
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
        if not all(any(_may_match(one, way) for way in written) for one in self.paths):
            return False
        if not self.holds:
            return True
        text = _file_text(path)
        return not is_folder(path) and (
            text is None or any(_may_match(one, text) for one in self.holds)
        )


class Listing(NamedTuple):
    """The files below some folders that a command lists."""

    folders: tuple[str, ...]
    sought: FileFilter = FileFilter()

    def narrow(self, words: list[str]) -> Listing | None:
        """Return the files that another command passes on; None if it prints no names."""
        program = _program(words)
        if program in _COUNTS:
            return None
        if program not in _GREPS:
            return self
        said = _Options(words[1:])
        if said.flags & _COUNTING:
            return None
        patterns = said.patterns(program)
        if said.flags & _OTHERS or len(patterns) != 1:
            return self
        return self._replace(sought=self.sought._replace(paths=(*self.sought.paths, *patterns)))


def read_listing(words: list[str]) -> Listing | None:
    """Return the files that a command lists, or None if it lists none."""
    program = _program(words)
    if program == "find":
        return _find_listing(words)
    if program == "ls":
        return Listing(tuple(_Options(words[1:]).rest) or (".",))
    if program in _FINDS:
        return _fd_listing(words[1:])
    if program in _GREPS:
        return _grep_listing(program, words[1:])
    if program == "git" and words[1:2] == ["ls-files"]:
        return _git_listing(words[2:])
    if program == "git" and words[1:2] == ["grep"]:
        return _grep_listing("git", words[2:])
    return None


def find_commands(words: list[str]) -> Iterator[list[str]]:
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


class _Options:
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
            re.escape(one) if is_plain else _extended_pattern(one) if is_basic else one
            for one in written
        )


def _find_listing(words: list[str]) -> Listing:
    options = [at for at, one in enumerate(words) if at and one.startswith(("-", "(", "!"))]
    folders = words[1 : options[0]] if options else words[1:]
    names = tuple(three for one, two, three in zip(words, words[1:], words[2:], strict=False)
                  if two in {"-name", "-iname"} and one not in _NOT)  # fmt: skip
    if any(one in _NOT and two == "(" for one, two in pairwise(words)):
        names = ()
    return Listing(tuple(folders) or (".",), FileFilter(names))


def _fd_listing(words: list[str]) -> Listing:
    """`fd PATTERN FOLDER…`: `-e` has a file extension, `-g` makes the pattern one for names."""
    others = [one for one in words if one not in {"-g", "--glob"}]
    said = _Options(others)
    endings = tuple(f"*.{one.lstrip('.')}" for one in said.values["pattern"])
    pattern, folders = said.rest[:1], said.rest[1:]
    is_name = others != words
    names = (*endings, *(pattern if is_name else ()))
    paths = () if is_name else tuple(pattern)
    return Listing(
        tuple(folders) or (".",), FileFilter(names, paths, skips=_skip_pattern("fd", said))
    )


def _grep_listing(program: str, words: list[str]) -> Listing | None:
    said = _Options(words)
    if not said.flags & _NAMES_ONLY:
        return None
    holds = () if "--files" in said.flags else said.patterns(program)
    names = tuple(one for one in said.values["name"] if not one.startswith("!"))
    sought = FileFilter(
        names, (), () if said.flags & _OTHERS else holds, _skip_pattern(program, said)
    )
    return Listing(tuple(said.rest) or (".",), sought)


def _skip_pattern(program: str, said: _Options) -> str:
    """Return a pattern of the paths that a program skips, by itself or because of an option."""
    folders = [fnmatch.translate(one).removesuffix(r"\Z") for one in said.values["folder"]]
    skipped = [f"/(?:{one})/" for one in folders]
    if program == "git":
        skipped.append(_UNTRACKED)
    elif program in _SKIP_HIDDEN and not said.flags & _HIDDEN_TOO:
        skipped.append(r"/\.[^/]")
    return "|".join(skipped)


def _git_listing(words: list[str]) -> Listing | None:
    """`git ls-files`, whose paths may be patterns. A list of deleted files lists none."""
    said = _Options(words)
    if said.flags and said.flags <= _DELETED:
        return None
    rest = said.rest
    patterns = [one for one in rest if "*" in one]
    names = tuple(one.rpartition("/")[2] for one in patterns) if patterns == rest else ()
    folders = dict.fromkeys(one.partition("*")[0].rpartition("/")[0] or "." if "*" in one else one
                            for one in rest)  # fmt: skip
    return Listing(tuple(folders) or (".",), FileFilter(names, skips=_UNTRACKED))


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _extended_pattern(pattern: str) -> str:
    """Return a basic regular expression as an extended one."""
    return _SWAPPED.sub(
        lambda found: found[0][1:] if found[0][0] == "\\" else f"\\{found[0]}", pattern
    )


def _may_match(pattern: str, text: str) -> bool:
    """Whether a pattern may match in a text; an unknown or invalid pattern may."""
    if len(pattern) > MAX_PATTERN or UNKNOWN in pattern:
        return True
    try:
        return re.search(pattern, text, re.IGNORECASE | re.MULTILINE) is not None
    except (re.error, RecursionError):
        return True


def _file_text(path: str) -> str | None:
    try:
        data = read_regular_bytes(path, MAX_READ)
    except (OSError, ValueError):
        return None
    return as_text(data) if len(data) <= MAX_READ else None


MAX_FOLDERS = 8_000  # of one list
# A file of a list, perhaps after a folder, or with all that is in it. With more text after it, it
# is another file.
_LISTED = re.compile(rf"(?P<start>.*/|){UNKNOWN}(?P<marks>{MARK.pattern}+)(?:/[.*]?)?", re.DOTALL)


class FileLists:
    """The lists in a text, each identified by a mark, which is one character.

    Several marks form a text. If there are too many lists, the last mark is shared by the others.
    """

    def __init__(self) -> None:
        self._all: list[Listing] = []
        self._marks: dict[Listing, str] = {}
        self._named: dict[tuple[Listing, str], dict[str, str]] = {}

    def of(self, marks: str) -> list[Listing]:
        """Return the lists of some marks."""
        return [self._all[ord(one) - FIRST_MARK] for one in marks]

    def through(self, marks: str, words: list[str]) -> str:
        """Return the marks of the output of a command, given the marks of its input."""
        own = read_listing(words)
        return self.mark(own) if own else join_marks(*(self._narrowed(one, words) for one in marks))

    def _narrowed(self, mark: str, words: list[str]) -> str:
        one = self._all[ord(mark) - FIRST_MARK]
        left = one.narrow(words)
        return mark if left is one else self.mark(left) if left else ""

    def mark(self, one: Listing) -> str:
        """Return the mark of a list; a new list gets a new mark."""
        plain = self._of_plain_folders(one)
        mark = self._marks.get(plain)
        if mark is None and len(self._all) == MAX_MARKS:
            self._all[-1] = Listing(_folders(self._all[-1], plain))
            return chr(FIRST_MARK + MAX_MARKS - 1)
        if mark is None:
            mark = self._marks[plain] = chr(FIRST_MARK + len(self._all))
            self._all.append(plain)
        return mark

    def _of_plain_folders(self, one: Listing) -> Listing:
        """Replace marks in the folders of a list, as in `grep -l x $(git ls-files)`.

        In their place come the folders of the lists that the marks identify.
        """
        inner = self.of(marks_in(*one.folders))
        if not inner:
            return one
        own = Listing(tuple(each for each in one.folders if not MARK.search(each)))
        is_one = len(inner) == 1 and not own.folders
        sought = _combine_filters(inner[0].sought, one.sought) if is_one else one.sought
        return Listing(_folders(own, *inner), sought)

    def targets(self, target: Target, folders: list[str]) -> Iterator[Target]:
        """Yield a target without its marks, and targets for the listed files.

        Copying listed files changes none of them.
        """
        yield _target_without_marks(target)
        found = _LISTED.fullmatch(target.path)
        if found is None or target.inside or target.source or target.code:
            return
        start = found["start"]
        if UNKNOWN in start and not MARK.search(start):
            return  # the folder before the names is unknown, so these are copies
        for one in self.of(found["marks"]):
            for path in self._paths(one, "" if UNKNOWN in start else start, folders):
                yield target._replace(path=path, whole=not target.patch, sought=one.sought)

    def _paths(self, one: Listing, start: str, folders: list[str]) -> Iterator[str]:
        """Yield the paths of a list whose names follow `start`, which is a folder or empty."""
        if not start:
            yield from one.folders
            return
        for folder in folders:
            where = normal_path(os.path.join(folder, start))  # noqa: PTH118 - a text
            names = self._names(one, folder)
            if where in names:  # `ls FOLDER` prints only names
                yield where
            yield from (f"{where}/{name}" for path, name in names.items() if path != where)

    def _names(self, one: Listing, folder: str) -> dict[str, str]:
        """Return the folders of a list that are in `folder`, by path. The result is cached."""
        if (one, folder) not in self._named:
            paths = [normal_path(os.path.join(folder, each)) for each in one.folders]  # noqa: PTH118 - a text
            named = {path: relative_name(folder, path) for path in paths if is_inside(path, folder)}
            self._named[one, folder] = named
        return self._named[one, folder]


def marks_in(*texts: str) -> str:
    """Return the marks in some texts, each once."""
    return join_marks(*(one for text in texts for one in MARK.findall(text)))


def join_marks(*several: str) -> str:
    """Join marks, each once."""
    return "".join(dict.fromkeys("".join(several)))


def _folders(*lists: Listing) -> tuple[str, ...]:
    """Return the folders of all lists, or `/` if there are too many."""
    folders = dict.fromkeys(each for one in lists for each in one.folders)
    return tuple(folders) if len(folders) <= MAX_FOLDERS else ("/",)


def _combine_filters(first: FileFilter, second: FileFilter) -> FileFilter:
    """Combine the filters of two commands. Names and content come from only one of them."""
    return FileFilter(
        second.names or first.names,
        (*first.paths, *second.paths),
        second.holds or first.holds,
        "|".join(filter(None, (first.skips, second.skips))),
    )


def _target_without_marks(target: Target) -> Target:
    git = target.git and _git_without_marks(target.git)
    return target._replace(
        path=without_marks(target.path),
        source=without_marks(target.source),
        archive=without_marks(target.archive),
        git=git,
    )


def _git_without_marks(change: GitChange) -> GitChange:
    return change._replace(
        specs=tuple(map(without_marks, change.specs)),
        revisions=tuple(map(without_marks, change.revisions)),
        stash=without_marks(change.stash),
    )


class Target(NamedTuple):
    """A path that may be changed.

    whole     with a folder, all its files are changed, or those that match `sought`
    inside    the path counts only if it is in an existing folder
    source    the files of this folder are written to the path
    archive   the files of this archive are written to the path
    stripped  the number of leading folders that are removed from names in the archive
    patch     the path is a patch, and the files that it names are changed
    modes     files stay readable; at most they are no longer executable
    code      it is not a path, but code that may compute one
    git       what git does to the work tree of the path
    why       if not empty, the path must not be changed, wherever it is
    """

    path: str
    whole: bool = False
    sought: FileFilter = FileFilter()
    inside: bool = False
    source: str = ""
    archive: str = ""
    stripped: int = 0
    patch: bool = False
    modes: bool = False
    code: bool = False
    git: GitChange | None = None
    why: str = ""


class Link(NamedTuple):
    """A link that a command makes: its path, and its target from the folder of the link."""

    path: str
    leads: str


class GitChange(NamedTuple):
    """What git does to the files of its work tree, or to those that `specs` name.

    It restores `tracked` files, and removes `untracked` and `ignored` ones, with `folders` that
    become empty. Files are restored from the last commit and from `revisions`, or they come from a
    `stash`. `asks` is False if git cannot be asked first which files differ.
    """

    tracked: bool = False
    untracked: bool = False
    ignored: bool = False
    folders: bool = True
    revisions: tuple[str, ...] = ()
    stash: str = ""
    specs: tuple[str, ...] = ()
    asks: bool = True
