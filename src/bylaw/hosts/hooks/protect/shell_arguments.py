"""Find the files that a program may change, by its name and arguments.

Not every option can be distinguished from a file: a word that names a file counts as one.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bylaw.expr.program_words import program_words
from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_files import (
    base_name,
    copied,
    into_folder,
    moved,
    paths_in,
    unpacked,
)
from bylaw.hosts.hooks.protect.target import Target
from bylaw.runtime.state_folder import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

OUR_NAME = "bylaw"
_FOR_CLIENTS = "only clients may run it: an agent must not send events in the name of its client"
_NAME = re.compile(r"\W.*", re.DOTALL)  # everything after the name of a variable
_WANTS_VALUE = re.compile(r"-[a-zA-Z0-9]+|--[a-z][a-z-]*")
_STARTERS = programs.STARTS | {"xargs"}
_KNOWN = frozenset(
    {
        *(*_STARTERS, *programs.GOES, *programs.RUNS_TEXT, *programs.SHELLS, *programs.RUNS_OPTION),
        *(*programs.READS, *programs.READS_WITHOUT, *programs.WRITES_SECOND, *programs.WHOLE),
        *(*programs.COPIES, *programs.UNPACKS, *programs.ADDRESSED),
        *("find", "git", "patch", "tee", "dd", "ln", OUR_NAME),
    }
)
CODE_WORD = re.compile(r"[^\s;{}'\"()|&<>=]+")


def given_to(option: re.Pattern[str], words: list[str]) -> Iterator[str]:
    """Yield the values of an option: its group `text`, or the next word."""
    for one, two in pairwise([*words, ""]):
        found = option.fullmatch(one)
        if found is not None:
            yield found["text"] or two


def run_by_shell(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the texts that a shell runs because of its options, and the arguments for them."""
    places = sorted(program_words(words))
    told = [words[at] for at in places]
    texts = [one.partition("=")[2] if one.startswith("--") else one for one in told]
    return texts, words[places[-1] + 1 :] if places else []


def is_known(word: str) -> bool:
    """Whether a word is the name of a program that is in the tables of this package."""
    name = base_name(word)
    return name in _KNOWN or bool(programs.RUNS_CODE.fullmatch(name))


def may_be_started(words: list[str], first: int) -> Iterator[int]:
    """Yield where the started program may be: at `first`, after the options, or further on.

    A word after an option may be the value of the option (`sudo -u NAME rm …`), and so may be an
    unknown word.
    """
    yield first
    for at in range(first, len(words)):
        if not is_known(words[at]):
            continue
        if at > first:
            yield at
        is_second = at == first and base_name(words[0]) in programs.STARTS_SECOND
        may_be_value = is_second or _WANTS_VALUE.fullmatch(words[at - 1])
        if not may_be_value or base_name(words[at]) in _STARTERS:
            return  # a program that starts others checks its own arguments


def words_of(program: str, words: list[str]) -> Iterator[Target]:
    """Yield the changes of a program, apart from those of programs that it starts."""
    if program == OUR_NAME:
        yield from _done_by_us(words)
        return
    if program in programs.READS:
        return
    unless = programs.READS_WITHOUT.get(program)
    valued = programs.WRITES_SECOND.get(program)
    if valued is not None:
        files = [two for one, two in pairwise(["", *words])
                 if not two.startswith(("-", "+")) and not valued.fullmatch(one)]  # fmt: skip
        yield from (Target(one) for one in files[1:])
    elif unless is not None:
        yield from _written_by_sed(words) if program in programs.SED else ()
        yield from _if_it_writes(words, unless)
    elif program in programs.COPIES:
        yield from copied(words)
    elif program in programs.UNPACKS:
        yield from unpacked(program, words)
    elif program == "mv":
        yield from moved(words)
    else:
        whole = program in programs.WHOLE
        modes = program == "chmod" and any(programs.STAYS_READABLE.fullmatch(one) for one in words)
        yield from (
            Target(one, whole=whole, modes=modes) for word in words for one in paths_in(word)
        )
        if program == "ln":
            yield from into_folder(words)
        if program in programs.ADDRESSED:
            yield from (Target(one) for word in words for one in re.split("[:,]", word))


def given_names(words: list[str]) -> Iterator[str]:
    """Yield the variables to which a command gives unknown values."""
    program, rest = (words[0], words[1:]) if words else ("", [])
    options = [one for one in rest if one.startswith("-")]
    names = [_NAME.sub("", one) for one in rest if one[:1] not in {"-", ""}]
    if program in programs.HEARS:
        yield from names
    elif program in programs.DECLARES and any("n" in one for one in options):
        yield from names  # with `declare -n`, each is another name of a variable
    elif program == "printf" and rest[:1] == ["-v"]:
        yield from names[:1]


def module_words(words: list[str]) -> list[str]:
    """Return the module that `python` runs, or the path of `bylaw`, with all words after it."""
    todo = iter(enumerate(words))
    for at, word in todo:
        module = programs.MODULE.fullmatch(word)
        if module is not None:
            return [*filter(None, [module["name"]]), *words[at + 1 :]]
        if base_name(word) == OUR_NAME:
            return words[at:]
        if word in {"-W", "-X"}:
            next(todo, None)
        elif not programs.MODULE_FLAGS.fullmatch(word):
            break
    return []


def _done_by_us(words: list[str]) -> Iterator[Target]:
    """Yield what a `bylaw` command may change, and commands that agents must not run.

    These commands also check themselves who runs them, but an agent may hide that.
    """
    verb = next((one for one in words if not one.startswith("-")), "")
    if verb == programs.OUR_CLIENTS and "--help" not in words:
        yield Target(f"{OUR_NAME} {verb}", why=_FOR_CLIENTS)
    wanted = programs.OUR_PEOPLES.get(verb)
    if wanted is not None and (not wanted or wanted.intersection(words)):
        yield Target(OURS)
    if verb == "context":
        reads = len(words) > 1 and words[1] in programs.OUR_CONTEXT_READS
    else:
        reads = verb in programs.OUR_READS
    if not reads:
        yield from (Target(one) for word in words for one in paths_in(word))


def _written_by_sed(words: list[str]) -> Iterator[Target]:
    for word in words:
        yield from (Target(one["file"].strip()) for one in programs.SED_WRITES.finditer(word))


def _if_it_writes(words: list[str], unless: re.Pattern[str]) -> Iterator[Target]:
    if any(unless.fullmatch(one) for one in words):
        for word in words:
            yield from (Target(one) for one in (*paths_in(word), *CODE_WORD.findall(word)))
