"""Find the files that programs remove and write when they copy, move, link and unpack."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.target import Link, Target

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTACHED = re.compile(r"-[A-Za-z](?P<path>.+)", re.DOTALL)


def base_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def paths_in(word: str) -> Iterator[str]:
    """Yield a word, and its parts after `=` and after a short option; each may be a path."""
    yield word
    if "=" in word:
        yield word.partition("=")[2]
    attached = _ATTACHED.fullmatch(word)
    if attached is not None:
        yield attached["path"]


def moved(words: list[str]) -> Iterator[Target]:
    """Yield the files that `mv` removes from their place, and those that it writes."""
    files = [one for one in words if not one.startswith("-")]
    into = any(programs.INTO.fullmatch(one) for one in words if one.startswith("-"))
    last = files[-1:] if len(files) > 1 and not into else []
    yield from (Target(one, whole=True) for one in files[: len(files) - len(last)])
    yield from (Target(one) for one in last)
    yield from (Target(one) for word in words if "=" in word for one in paths_in(word))
    yield from into_folder(words)


def links_made(words: list[str]) -> Iterator[Link]:
    """Yield the links that `ln` makes: with the last name, or in the folder of that name."""
    files, folders = _parted(words)
    for folder in folders if files else ["."]:
        for one in files or folders:
            yield Link(f"{folder}/{base_name(one.rstrip('/'))}", one)
            yield Link(folder, one)


def copied(given: list[str]) -> Iterator[Target]:
    """Yield the files that a copy writes, and those that its options remove."""
    words = _without_exclusions(given)
    if any(programs.LINKING.fullmatch(one) for one in words if one.startswith("-")):
        yield from (Target(one, whole=True) for one in words[:-1])
        yield from (Target(one) for word in words for one in paths_in(word))
    files = [one for one in words if not one.startswith("-")]
    if any(programs.REMOVES_SOURCES.fullmatch(one) for one in words):
        yield from (Target(one, whole=True) for one in files[:-1])
    whole = any(programs.REMOVES_OTHERS.fullmatch(one) for one in words)
    yield from (Target(one, whole=whole) for one in files[-1:])
    yield from into_folder(words)
    if any(programs.COPIES_FOLDERS.fullmatch(one) for one in words):
        yield from _folders_into(files)
    yield from (Target(one) for word in words if "=" in word for one in paths_in(word))


def unpacked(program: str, given: list[str]) -> Iterator[Target]:
    """Yield the named files, and a target for each word that may be an archive to unpack."""
    words = _without_exclusions(given if program == "unzip" else _with_signs(given))
    if program == "unzip" and any(programs.UNZIP_READS.fullmatch(one) for one in words):
        return
    yield from (Target(one) for word in words for one in paths_in(word))
    options = [one for one in words if one.startswith("-")]
    if program != "unzip" and not any(programs.TAR_EXTRACTS.fullmatch(one) for one in options):
        return
    folder, stripped = ".", 0
    for one, two in pairwise([*words, ""]):
        found = programs.UNPACK_FOLDER.fullmatch(one)
        if found is not None:
            folder = os.path.join(folder, found["folder"] or two)  # noqa: PTH118 - a text
        found = programs.UNPACK_STRIPPED.fullmatch(one)
        if found is not None:
            stripped = int(found["number"])
    for archive in dict.fromkeys(one for word in words for one in paths_in(word)):
        yield Target(folder, archive=archive, stripped=stripped)


def _with_signs(words: list[str]) -> list[str]:
    """Return `tar xfC ARCHIVE FOLDER` as `tar -x -f ARCHIVE -C FOLDER`."""
    if not words or words[0].startswith("-"):
        return words
    rest = iter(words[1:])
    options = [
        part
        for letter in words[0]
        for part in (f"-{letter}", *([next(rest, "")] if letter in programs.TAR_VALUED else ()))
    ]
    return [*options, *rest]


def _without_exclusions(words: list[str]) -> list[str]:
    found = [programs.PASSES_OVER.fullmatch(one) for one in words]
    # Without an attached value, the value is the next word.
    before = [None, *found]
    return [word for word, one, last in zip(words, found, before, strict=False)
            if one is None and (last is None or last["value"])]  # fmt: skip


def into_folder(words: list[str]) -> Iterator[Target]:
    """Yield the files that are put into the last folder, or into the folder of an option."""
    files, folders = _parted(words)
    for folder in folders:
        for one in files:
            yield Target(f"{folder}/{base_name(one.rstrip('/'))}", inside=True, source=one)


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the files, and the folders into which they may be put."""
    files = [one for one in words if not one.startswith("-")]
    folders = [files.pop()] if files else []
    for at, word in enumerate(words):
        found = programs.INTO.fullmatch(word) if word.startswith("-") else None
        if found is not None:
            files += folders[:1]
            folders += [found["folder"] or "", *words[at + 1 : at + 2]]
    return files, [*filter(None, folders)]


def _folders_into(files: list[str]) -> Iterator[Target]:
    """Yield folders that are copied with all their files: as a folder, or only the files."""
    for one in files[:-1]:
        name = base_name(one.rstrip("/"))
        yield Target(files[-1], source=one)
        if name not in {"", ".", ".."}:
            yield Target(f"{files[-1]}/{name}", source=one)
