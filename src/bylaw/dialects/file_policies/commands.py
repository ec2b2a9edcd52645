"""The command of a policy and the changed files → the argument lists of its runs.

Placeholders are filled in once, word by word. A file name is never read as part of the command,
nor as an option if it begins with a dash (DW-093, DW-A29).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from bylaw.dialects.file_policies.action_reader import FILE, FILES, PLACEHOLDER, REPO_ROOT
from bylaw.dialects.file_policies.written import RunFor
from bylaw.expr.command_words import split_words
from bylaw.expr.paths import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.file_policies.written import CommandAction

# Commands run at the top of the repository; its path is filled in when they run.
ROOT = "."
MAX_KNOWN = 1_000  # commands


class RunWords(NamedTuple):
    """The arguments of a run, its files, and the places for the path of the root.

    `root_at` holds pairs: the number of an argument, and a position in its text.
    """

    argv: tuple[str, ...]
    files: tuple[str, ...]
    root_at: tuple[tuple[int, int], ...] = ()


def runs(action: CommandAction, files: Sequence[str]) -> Iterator[RunWords]:
    """Yield the runs of the command for these files."""
    if action.run_for is RunFor.EACH_MATCH:
        for file in files:
            yield _run([_fill(word, file) for word in action.words], (file,))
    elif files:
        yield _run([*_spread(action.words, files)], tuple(files))


def _run(words: Sequence[_Filled], files: tuple[str, ...]) -> RunWords:
    # Not in the program (word 0): a script of the repository keeps its relative path.
    places = ((number, at) for number, word in enumerate(words) if number for at in word.root_at)
    return RunWords(tuple(word.text for word in words), files, tuple(places))


def script_of(words: Sequence[str]) -> str:
    """Return the repository file that a command starts; empty if its program is not one."""
    program = _filled(words[0], "")
    return normalise(program) or "" if "/" in program and not program.startswith("/") else ""


@lru_cache(MAX_KNOWN)
def named_files(command: str) -> frozenset[str]:
    """Return the words of a command that may be repository files, apart from placeholders."""
    words = [_filled(word, "") for word in split_words(command).words if word != FILES]
    values = [word.partition("=")[2] for word in words]  # as in `--config=tidy.toml`
    return frozenset(path for path in map(normalise, [*words, *values]) if path)


class _Filled(NamedTuple):
    """A word with its placeholders filled in, and the positions of the root in it."""

    text: str
    root_at: tuple[int, ...] = ()


def _spread(words: Sequence[str], files: Sequence[str]) -> Iterator[_Filled]:
    for word in words:
        if word == FILES:
            yield from (_Filled(_no_option(file)) for file in files)
        else:
            yield _fill(word, "")


def _filled(word: str, file: str) -> str:
    return _fill(word, file).text


def _fill(word: str, file: str) -> _Filled:
    known = {FILE: _no_option(file) if word.startswith(FILE) else file, REPO_ROOT: ROOT}
    text, end, root_at = "", 0, []
    for found in PLACEHOLDER.finditer(word):
        text, end = text + word[end : found.start()], found.end()
        if found[0] == REPO_ROOT:
            root_at.append(len(text))
        text += known.get(found[0], found[0])
    return _Filled(text + word[end:], tuple(root_at))


def _no_option(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path
