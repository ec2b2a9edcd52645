"""What passes from one command of a shell text to the next through a pipe."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect.shell_files import base_name
from bylaw.hosts.hooks.protect.shell_lists import joined
from bylaw.hosts.hooks.protect.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.shell_listing import Listing

PRINTS = frozenset({"echo", "printf"})
MAX_GIVEN = 2_000  # arguments from the input of `xargs`
FOUND = "{}"  # placeholder for a listed file
# Options of `xargs`: the placeholder, the delimiter, the input file.
_MARK = re.compile(r"(?:(?P<next>-[rtx0]*I)|-[rtx0]*i|--replace=?)(?P<mark>.*)")
_PART = re.compile(r"(?:-d|--delimiter)(?:=?(?P<part>.+))?")
_FILE = re.compile(r"-[rtx0]*a.*|--arg-file(?:=.*)?")
_VALUED = re.compile(r"-[prtx0]*[IadnLPsE]|--(?:arg-file|delimiter|max-[a-z]+)")
_LINE_END = re.compile(r"\\(?:[nrt0]|x0[aA])")


class Piped(NamedTuple):
    """What comes through a pipe.

    `words` are those of the command before it. The rest is of all commands that lead there: the
    texts that they print or read, their words, which may be files, and the marks of their lists.
    """

    words: list[str]
    texts: list[str]
    files: list[str]
    lists: str = ""

    def through(self, words: list[str], here: list[str], reads: list[str], lists: str) -> Piped:
        """Return the output of a command that has this as its input."""
        prints = bool(words) and base_name(words[0]) in PRINTS
        printed = [" ".join(spread(words))] if prints else []
        files = [one for one in words[1:] if not one.startswith("-")]
        return Piped(words, [*self.texts, *here, *printed], [*self.files, *files, *reads], lists)

    def beside(self, other: Piped) -> Piped:
        """Return the output of a group in which this is followed by `other`."""
        texts, files = [*self.texts, *other.texts], [*self.files, *other.files]
        return Piped(other.words, texts, files, joined(self.lists, other.lists))


NOTHING = Piped([], [], [])


def spread(words: list[str]) -> list[str]:
    """Return the words after a program, with the line ends that `printf` would make."""
    return [_LINE_END.sub("\n", one) for one in words[1:]]


class EachCall(NamedTuple):
    """A call of `xargs`.

    It starts the words `started` with the arguments `given`; `mark` is the placeholder for one
    argument, or empty. `is_cut` says that there are more arguments.
    """

    started: list[str]
    given: list[str]
    mark: str
    is_cut: bool


def each_call(words: list[str], texts: list[str]) -> EachCall:
    """Parse a call of `xargs` with its input. The input may also be a word (`-a <(…)`)."""
    options = _own_options(words)
    said = [*options, ""]
    marks = [found["mark"] or (two if found["next"] else FOUND)
             for one, two in pairwise(said) if (found := _MARK.fullmatch(one))]  # fmt: skip
    parts = [found["part"] or two for one, two in pairwise(said) if (found := _PART.fullmatch(one))]
    if any(_FILE.fullmatch(one) for one in said):
        texts = [*texts, *(one.partition("=")[2] or one for one in words[1:])]
    given = dict.fromkeys(_items(texts, parts, lines=bool(marks)))
    kept = list(islice(given, MAX_GIVEN))
    started = words[len(options) + 1 :]
    return EachCall(started, kept, marks[0] if marks else "", is_cut=len(given) > MAX_GIVEN)


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


def done_to(acting: list[Target], lists: list[Listing]) -> Iterator[Target]:
    """Yield the changes of listed files, if there are any. Copying them changes none."""
    done = [target for target in acting if FOUND in target.path and not target.inside]
    modes = all(target.modes for target in done)
    for one in lists if done else ():
        for folder in one.folders:
            yield Target(folder, whole=True, sought=one.sought, modes=modes)
