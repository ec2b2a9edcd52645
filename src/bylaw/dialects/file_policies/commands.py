"""The command of a policy and the files of a finding → the argument lists of its runs.

Placeholders are filled in once, word by word: a file name is never read as a part of the command,
nor, if it begins with a dash, as an option (DW-093, DW-A29).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.action_reader import FILE, FILES, PLACEHOLDER, REPO_ROOT
from bylaw.dialects.file_policies.written import RunFor
from bylaw.expr.command_words import split_words
from bylaw.expr.paths import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.file_policies.written import CommandAction

# Commands run at the top of the repository, and nothing else is known of where that is.
ROOT = "."
MAX_KNOWN = 1_000  # commands


def runs(
    action: CommandAction, files: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The arguments of each run, and the files that it is for."""
    if action.run_for is RunFor.EACH_MATCH:
        for file in files:
            yield tuple(_filled(word, file) for word in action.words), (file,)
    elif files:
        yield tuple(_spread(action.words, files)), tuple(files)


def script_of(words: Sequence[str]) -> str:
    """The file of the repository that a command starts; empty if its program is none."""
    program = _filled(words[0], "")
    return normalise(program) or "" if "/" in program and not program.startswith("/") else ""


@lru_cache(MAX_KNOWN)
def named_files(command: str) -> frozenset[str]:
    """What may be files of the repository among the words of a command, beside what it is for."""
    words = [_filled(word, "") for word in split_words(command).words if word != FILES]
    values = [word.partition("=")[2] for word in words]  # as in `--config=tidy.toml`
    return frozenset(path for path in map(normalise, [*words, *values]) if path)


def _spread(words: Sequence[str], files: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word == FILES:
            yield from map(_no_option, files)
        else:
            yield _filled(word, "")


def _filled(word: str, file: str) -> str:
    known = {FILE: _no_option(file) if word.startswith(FILE) else file, REPO_ROOT: ROOT}
    return PLACEHOLDER.sub(lambda found: known.get(found[0], found[0]), word)


def _no_option(path: str) -> str:
    return f"./{path}" if path.startswith("-") else path
