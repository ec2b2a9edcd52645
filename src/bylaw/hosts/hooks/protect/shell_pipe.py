"""What goes from one command of a shell's text to the next through a pipe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect.shell_arguments import Target, base_name
from bylaw.hosts.hooks.protect.shell_listing import listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.shell_listing import Listing

PRINTS = frozenset({"echo", "printf"})
FOUND = "{}"  # stands for a file that a command was told of
_LINE_END = re.compile(r"\\(?:[nrt0]|x0[aA])")


class Piped(NamedTuple):
    """What comes through a pipe: the command before it, and of all that lead there the texts that
    they print or read, the words behind them, which may be files, and the files that they list."""

    words: list[str]
    texts: list[str]
    files: list[str]
    lists: Listing | None = None

    def through(self, words: list[str], here: list[str], reads: list[str]) -> Piped:
        """What comes out of a command into which this goes."""
        prints = bool(words) and base_name(words[0]) in PRINTS
        printed = [" ".join(spread(words))] if prints else []
        files = [one for one in words[1:] if not one.startswith("-")]
        lists = listing(words) or (self.lists and self.lists.narrowed(words))
        return Piped(words, [*self.texts, *here, *printed], [*self.files, *files, *reads], lists)

    def beside(self, other: Piped) -> Piped:
        """What comes out of a group in which this is followed by another one."""
        texts, files = [*self.texts, *other.texts], [*self.files, *other.files]
        return Piped(other.words, texts, files, other.lists or self.lists)


NOTHING = Piped([], [], [])


def spread(words: list[str]) -> list[str]:
    """What stands behind a program, with the ends of lines that `printf` would make."""
    return [_LINE_END.sub("\n", one) for one in words[1:]]


def done_to(acting: list[Target], lists: Listing) -> Iterator[Target]:
    """What is done to files that are listed, if anything is; copying them is nothing."""
    if any(FOUND in target.path and not target.inside for target in acting):
        for folder in lists.folders:
            yield Target(folder, whole=True, sought=lists.sought)
