"""A program and its arguments → the files that it may change.

What is an option and what a file is not always told apart: a word that names a file is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.runtime.state_folder import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTACHED = re.compile(r"-[A-Za-z](?P<path>.+)", re.DOTALL)
_HIDES = "git would no longer see changes of the named files, and so would no rule about files"
_CODE_WORD = re.compile(r"[^\s;{}'\"()|&<>=]+")


class Target(NamedTuple):
    """A path that may be changed.

    `whole` tells that a folder stands for all that is in it, or if there are `names`, for what is
    called so; `inside` that it counts only if it lies in a folder that is there. If there is a
    `source`, the files in that folder are put there; if it is a `patch`, what it names counts. If
    it says `why`, it must not be changed wherever it lies.
    """

    path: str
    whole: bool = False
    names: tuple[str, ...] = ()
    inside: bool = False
    source: str = ""
    patch: bool = False
    why: str = ""


def base_name(word: str) -> str:
    """The name of a program, wherever it lies."""
    return word.rpartition("/")[2]


def words_of(program: str, words: list[str]) -> Iterator[Target]:
    """What a program that stands for itself may change."""
    if program in programs.READS or (program == "bylaw" and _only_reads(words)):
        return
    if program == "bylaw" and _is_for_people(_verb(words), words):
        yield Target(OURS)
    unless = programs.READS_WITHOUT.get(program)
    if unless is not None:
        yield from _if_it_writes(program, words, unless)
    elif program in programs.COPIES:
        yield from _copied(words)
    else:
        whole = program in programs.WHOLE
        yield from (Target(one, whole=whole) for word in words for one in _paths(word))
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


def git_targets(words: list[str]) -> Iterator[Target]:
    """What git may change, by its verb."""
    rest = list(words)
    folder = "."
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if (
            option in {"-C", "-c", "--git-dir", "--work-tree", "--exec-path", "--namespace"}
            and rest
        ):
            value = rest.pop(0)
            folder = value if option in {"-C", "--work-tree"} else folder
            if option == "-c":
                # A setting can be the text of a command.
                yield from (Target(one) for one in _CODE_WORD.findall(value))
    verb, rest = (rest[0], rest[1:]) if rest else ("", [])
    paths = [one if folder == "." else f"{folder}/{one}" for one in rest if one != "--"]
    if verb == "update-index" and any(programs.GIT_HIDES.fullmatch(one) for one in rest):
        yield Target(".git/index", why=_HIDES)
    if verb == "config":
        yield from _configured(rest)
    elif verb in programs.GIT_READS:
        if any(programs.GIT_OUTPUT.fullmatch(one) for one in rest):
            yield from (Target(one) for word in paths for one in _paths(word))
    else:
        whole = verb in programs.GIT_WHOLE
        patch = verb in programs.GIT_PATCHES
        yield from (Target(one, whole=whole, patch=patch) for word in paths for one in _paths(word))
        if _is_about_everything(verb, rest):
            yield Target(folder, whole=True)


def _is_about_everything(verb: str, rest: list[str]) -> bool:
    named = [one for one in rest if not one.startswith("-")]
    always = programs.GIT_EVERYTHING.get(verb)
    if always is not None and any(always.fullmatch(one) for one in rest):
        return True
    if verb == "reset":
        return any(programs.GIT_HARD.fullmatch(one) for one in rest)
    if verb == "clean":
        forced = any(re.fullmatch(r"-[a-zA-Z]*f[a-zA-Z]*|--force", one) for one in rest)
        tried = any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run", one) for one in rest)
        return forced and not tried and not named
    if verb == "stash":
        return "--" not in rest and not programs.GIT_KEEPS.intersection(named[:1])
    return False


def _configured(words: list[str]) -> Iterator[Target]:
    """`git config`: a setting that decides what git runs or sees."""
    if any(programs.GIT_ASKS.fullmatch(one) for one in words):
        return
    if "--file" in words or "-f" in words:
        yield from (Target(one) for one in words)
    named = [one for one in words if programs.GIT_SETTING.fullmatch(one)]
    values = [one for one in words if not one.startswith("-") and one not in {"set", "unset"}]
    if named and len(values) > 1:
        yield Target(".git/config")
    if any(one in {"-e", "--edit", "edit", "--unset", "--unset-all", "unset"} for one in words):
        yield from (Target(".git/config") for _ in named[:1])


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


def _if_it_writes(program: str, words: list[str], unless: re.Pattern[str]) -> Iterator[Target]:
    writing = [at for at, one in enumerate(words) if unless.fullmatch(one)]
    if program == "uniq":
        yield from (Target(words[at]) for at in writing[1:])
        return
    if writing:
        for word in words:
            yield from (Target(one) for one in (*_paths(word), *_CODE_WORD.findall(word)))
            # `sed 'w FILE'`, without a gap.
            yield from (Target(one[1:]) for one in _CODE_WORD.findall(word) if one[0] in "wW")


def _copied(words: list[str]) -> Iterator[Target]:
    if any(programs.LINKING.fullmatch(one) for one in words if one.startswith("-")):
        yield from (Target(one) for word in words for one in _paths(word))
    whole = any(programs.REMOVES_SOURCES.fullmatch(one) for one in words)
    if whole:
        yield from (Target(one, whole=True) for one in words)
    files = [one for one in words if not one.startswith("-")]
    yield from (Target(one) for one in files[-1:])
    yield from _into_folder(words)
    if any(programs.COPIES_FOLDERS.fullmatch(one) for one in words):
        yield from _folders_into(files)
    yield from (Target(one) for word in words if "=" in word for one in _paths(word))


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


def _paths(word: str) -> Iterator[str]:
    """A word, and what stands behind `=` or behind an option in it."""
    yield word
    if "=" in word:
        yield word.partition("=")[2]
    attached = _ATTACHED.fullmatch(word)
    if attached is not None:
        yield attached["path"]
