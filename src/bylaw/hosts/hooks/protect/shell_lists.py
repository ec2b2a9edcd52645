"""Track lists of files from the command that prints them to the command that changes the files.

In `rm $(git ls-files)` the names are unknown, but not the list that they are from. So the value is
UNKNOWN with a mark after it, which passes through variables and words like any other text.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect.shell_listing import Listing, Sought, listing
from bylaw.hosts.hooks.protect.shell_values import (
    FIRST_MARK,
    MARK,
    MAX_MARKS,
    UNKNOWN,
    folded,
    unmarked,
)
from bylaw.runtime.paths import lies_in, name_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.target import GitChange, Target

MAX_FOLDERS = 8_000  # of one list
# A file of a list, perhaps after a folder, or with all that is in it. With more text after it, it
# is another file.
_LISTED = re.compile(rf"(?P<start>.*/|){UNKNOWN}(?P<marks>{MARK.pattern}+)(?:/[.*]?)?", re.DOTALL)


class Lists:
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
        own = listing(words)
        return self.mark(own) if own else joined(*(self._narrowed(one, words) for one in marks))

    def _narrowed(self, mark: str, words: list[str]) -> str:
        one = self._all[ord(mark) - FIRST_MARK]
        left = one.narrowed(words)
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
        sought = _both(inner[0].sought, one.sought) if is_one else one.sought
        return Listing(_folders(own, *inner), sought)

    def targets(self, target: Target, folders: list[str]) -> Iterator[Target]:
        """Yield a target without its marks, and targets for the listed files.

        Copying listed files changes none of them.
        """
        yield _unmarked(target)
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
            where = folded(os.path.join(folder, start))  # noqa: PTH118 - a text
            names = self._names(one, folder)
            if where in names:  # `ls FOLDER` prints only names
                yield where
            yield from (f"{where}/{name}" for path, name in names.items() if path != where)

    def _names(self, one: Listing, folder: str) -> dict[str, str]:
        """Return the folders of a list that are in `folder`, by path. The result is cached."""
        if (one, folder) not in self._named:
            paths = [folded(os.path.join(folder, each)) for each in one.folders]  # noqa: PTH118 - a text
            named = {path: name_from(folder, path) for path in paths if lies_in(path, folder)}
            self._named[one, folder] = named
        return self._named[one, folder]


def marks_in(*texts: str) -> str:
    """Return the marks in some texts, each once."""
    return joined(*(one for text in texts for one in MARK.findall(text)))


def joined(*several: str) -> str:
    """Join marks, each once."""
    return "".join(dict.fromkeys("".join(several)))


def _folders(*lists: Listing) -> tuple[str, ...]:
    """Return the folders of all lists, or `/` if there are too many."""
    folders = dict.fromkeys(each for one in lists for each in one.folders)
    return tuple(folders) if len(folders) <= MAX_FOLDERS else ("/",)


def _both(first: Sought, second: Sought) -> Sought:
    """Combine the filters of two commands. Names and content come from only one of them."""
    return Sought(
        second.names or first.names,
        (*first.paths, *second.paths),
        second.holds or first.holds,
        "|".join(filter(None, (first.skips, second.skips))),
    )


def _unmarked(target: Target) -> Target:
    git = target.git and _git_unmarked(target.git)
    return target._replace(
        path=unmarked(target.path),
        source=unmarked(target.source),
        archive=unmarked(target.archive),
        git=git,
    )


def _git_unmarked(change: GitChange) -> GitChange:
    return change._replace(
        specs=tuple(map(unmarked, change.specs)),
        revisions=tuple(map(unmarked, change.revisions)),
        stash=unmarked(change.stash),
    )
