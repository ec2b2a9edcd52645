"""A program and its arguments → the files that it may change.

What is an option and what a file is not always told apart: a word that names a file is one.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_listing import Sought
from bylaw.runtime.state_folder import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTACHED = re.compile(r"-[A-Za-z](?P<path>.+)", re.DOTALL)
CODE_WORD = re.compile(r"[^\s;{}'\"()|&<>=]+")


class Target(NamedTuple):
    """A path that may be changed.

    `whole` tells that a folder stands for all that is in it, or for those files that are `sought`;
    `inside` that it counts only if it lies in a folder that is there. If there is a
    `source`, the files in that folder are put there, if there is an `archive`, what is in that,
    with so many folders `stripped`; if it is a `patch`, what it names counts. If it says `why`, it
    must not be changed wherever it lies.
    """

    path: str
    whole: bool = False
    sought: Sought = Sought()
    inside: bool = False
    source: str = ""
    archive: str = ""
    stripped: int = 0
    patch: bool = False
    why: str = ""


def base_name(word: str) -> str:
    """The name of a program, wherever it lies."""
    return word.rpartition("/")[2]


def given_to(option: re.Pattern[str], words: list[str]) -> Iterator[str]:
    """The values of an option: its group `text`, or the next word."""
    for one, two in pairwise([*words, ""]):
        found = option.fullmatch(one)
        if found is not None:
            yield found["text"] or two


def is_known(program: str) -> bool:
    """Whether a name is one of a program of which something is known."""
    return (
        program in programs.WHOLE
        or program in programs.SHELLS
        or program in programs.COPIES
        or program in programs.READS_WITHOUT
        or program in {"git", "find", "xargs", "tee", "dd", "ln", "bylaw"}
    )


def words_of(program: str, words: list[str]) -> Iterator[Target]:
    """What a program that stands for itself may change."""
    if program in programs.READS or (program == "bylaw" and _only_reads(words)):
        return
    if program == "bylaw" and _is_for_people(_verb(words), words):
        yield Target(OURS)
    unless = programs.READS_WITHOUT.get(program)
    valued = programs.WRITES_SECOND.get(program)
    if valued is not None:
        files = [two for one, two in pairwise(["", *words])
                 if not two.startswith(("-", "+")) and not valued.fullmatch(one)]  # fmt: skip
        yield from (Target(one) for one in files[1:])
    elif unless is not None:
        yield from _if_it_writes(words, unless)
    elif program in programs.COPIES:
        yield from _copied(words)
    elif program in programs.UNPACKS:
        yield from _unpacked(program, words)
    else:
        whole = program in programs.WHOLE
        yield from (Target(one, whole=whole) for word in words for one in paths_in(word))
        if program in {"mv", "ln"}:
            yield from _into_folder(words)


def module_words(words: list[str]) -> list[str]:
    """What stands behind `python`, if it is a module or we ourselves: that, and what follows it."""
    todo = iter(enumerate(words))
    for at, word in todo:
        module = programs.MODULE.fullmatch(word)
        if module is not None:
            return [*filter(None, [module["name"]]), *words[at + 1 :]]
        if base_name(word) == "bylaw":
            return words[at:]
        if word in {"-W", "-X"}:
            next(todo, None)
        elif not programs.MODULE_FLAGS.fullmatch(word):
            break
    return []


def _only_reads(words: list[str]) -> bool:
    verb = _verb(words)
    if _is_for_people(verb, words):
        return False
    if verb == "context":
        return len(words) > 1 and words[1] in programs.OUR_CONTEXT_READS
    return verb in programs.OUR_READS


def _verb(words: list[str]) -> str:
    return next((one for one in words if not one.startswith("-")), "")


def _is_for_people(verb: str, words: list[str]) -> bool:
    """What Bylaw does for no agent; it looks who is at work, and an agent may try to hide that."""
    wanted = programs.OUR_PEOPLES.get(verb)
    return wanted is not None and (not wanted or bool(wanted.intersection(words)))


def _if_it_writes(words: list[str], unless: re.Pattern[str]) -> Iterator[Target]:
    if any(unless.fullmatch(one) for one in words):
        for word in words:
            yield from (Target(one) for one in (*paths_in(word), *CODE_WORD.findall(word)))
            # `sed 'w FILE'`, without a gap.
            yield from (Target(one[1:]) for one in CODE_WORD.findall(word) if one[0] in "wW")


def _copied(words: list[str]) -> Iterator[Target]:
    if any(programs.LINKING.fullmatch(one) for one in words if one.startswith("-")):
        yield from (Target(one) for word in words for one in paths_in(word))
    whole = any(programs.REMOVES_SOURCES.fullmatch(one) for one in words)
    if whole:
        yield from (Target(one, whole=True) for one in words)
    files = [one for one in words if not one.startswith("-")]
    yield from (Target(one) for one in files[-1:])
    yield from _into_folder(words)
    if any(programs.COPIES_FOLDERS.fullmatch(one) for one in words):
        yield from _folders_into(files)
    yield from (Target(one) for word in words if "=" in word for one in paths_in(word))


def _unpacked(program: str, words: list[str]) -> Iterator[Target]:
    """What is taken out of archives, each word that names one; and what is named itself."""
    if program == "unzip" and any(programs.UNZIP_READS.fullmatch(one) for one in words):
        return
    yield from (Target(one) for word in words for one in paths_in(word))
    options = [one for at, one in enumerate(words) if not at or one.startswith("-")]
    if program != "unzip" and not any(programs.TAR_EXTRACTS.fullmatch(one) for one in options):
        return
    folder, stripped = ".", 0
    for one, two in pairwise([*words, ""]):
        found = programs.UNPACK_FOLDER.fullmatch(one)
        if found is not None:
            folder = found["folder"] or two
        found = programs.UNPACK_STRIPPED.fullmatch(one)
        if found is not None:
            stripped = int(found["number"])
    for archive in {one for word in words for one in paths_in(word)}:
        yield Target(folder, archive=archive, stripped=stripped)


def _into_folder(words: list[str]) -> Iterator[Target]:
    """Files that are put into the last folder, or into the one that is named for it."""
    files = [one for one in words if not one.startswith("-")]
    folders = [files.pop()] if files else []
    for at, word in enumerate(words):
        found = programs.INTO.fullmatch(word) if word.startswith("-") else None
        if found is not None:
            folders += [found["folder"] or "", *words[at + 1 : at + 2]]
            files += folders[:1]
    for folder in filter(None, folders):
        for one in files:
            yield Target(f"{folder}/{base_name(one.rstrip('/'))}", inside=True)


def _folders_into(files: list[str]) -> Iterator[Target]:
    """Folders that are copied with all that is in them: as they are, or what they hold."""
    for one in files[:-1]:
        name = base_name(one.rstrip("/"))
        yield Target(files[-1], source=one)
        if name not in {"", ".", ".."}:
            yield Target(f"{files[-1]}/{name}", source=one)


def paths_in(word: str) -> Iterator[str]:
    """A word, and what stands behind `=` or behind an option in it; each may be a path."""
    yield word
    if "=" in word:
        yield word.partition("=")[2]
    attached = _ATTACHED.fullmatch(word)
    if attached is not None:
        yield attached["path"]
