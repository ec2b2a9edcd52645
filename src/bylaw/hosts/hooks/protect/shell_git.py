"""Find the files that a call of git may change, and the commands that it runs."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_arguments import CODE_WORD, given_to
from bylaw.hosts.hooks.protect.shell_files import moved, paths_in
from bylaw.hosts.hooks.protect.shell_git_verbs import WORK_TREE
from bylaw.hosts.hooks.protect.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.protect.target import GitChange

_HIDES = "git would not see changes of the named files, so rules about files would miss them"


class Called(NamedTuple):
    """A call of git: the folder in which it works, its subcommand, and the words after that.

    `is_usual` says that it works on the repository of that folder.
    """

    folder: str
    verb: str
    rest: list[str]
    settings: list[str]
    is_usual: bool = True


class GitState:
    """What earlier calls of git in the same text did to the index.

    Git is asked before any of them runs, so its answers lack these changes. `revisions` are those
    to which the index was reset. `is_known` says that nothing else changed it.
    """

    def __init__(self) -> None:
        self.revisions: tuple[str, ...] = ()
        self.is_known = True

    def note(self, verb: str, rest: list[str]) -> None:
        """Record a call."""
        cached = any(programs.GIT_CACHED.fullmatch(one) for one in rest)
        if verb in programs.GIT_INDEX or (verb in programs.GIT_PATCHES and cached):
            self.is_known = False
        elif verb == "reset":
            self.revisions += tuple(one for one in rest[:2] if not one.startswith("-"))


def called(words: list[str]) -> Called:
    """Parse the words after `git`."""
    rest = list(words)
    folder, work_tree, settings, is_usual = ".", "", [], True
    while rest and rest[0].startswith("-"):
        option, has_value, value = rest.pop(0).partition("=")
        if programs.GIT_VALUED.fullmatch(option):
            if not has_value:
                value = rest.pop(0) if rest else ""
            folder = _below(folder, value) if option == "-C" else folder
            work_tree = value if option == "--work-tree" else work_tree
            settings += [value] if option == "-c" else []
            is_usual &= option in {"-C", "-c"}
    where = _below(folder, work_tree) if work_tree else folder
    return Called(where, rest[0] if rest else "", rest[1:], settings, is_usual)


def run_by_git(call: Called) -> Iterator[str]:
    """Yield the texts of commands that git runs, or may run: a setting can be one."""
    yield from (value.partition("=")[2].removeprefix("!") for value in call.settings)
    if call.verb == "bisect" and call.rest[:1] == ["run"]:
        yield shlex.join(call.rest[1:])
    if call.verb == "submodule" and "foreach" in call.rest:
        yield " ".join(call.rest[call.rest.index("foreach") + 1 :])
    option = programs.GIT_RUNS.get(call.verb)
    yield from given_to(option, call.rest) if option else ()


def git_targets(call: Called, state: GitState) -> Iterator[Target]:
    """Yield what git may change, by its subcommand."""
    folder, verb, rest, settings, _ = call
    # A setting can be the text of a command.
    yield from (Target(one) for value in settings for one in CODE_WORD.findall(value))
    if verb == "update-index" and any(programs.GIT_HIDES.fullmatch(one) for one in rest):
        yield Target(".git/index", why=_HIDES)
    read_work_tree = WORK_TREE.get(verb)
    if verb == "config":
        yield from _configured(rest)
    elif read_work_tree is not None:
        change = read_work_tree(rest)
        if change is not None:
            yield from _in_work_tree(call, change, state)
    elif verb not in programs.GIT_READS:
        patch = verb in programs.GIT_PATCHES
        yield from (Target(one, patch=patch) for one in _paths(folder, rest))
    elif any(programs.GIT_OUTPUT.fullmatch(one) for one in rest):
        yield from (Target(one) for one in _paths(folder, rest))
    state.note(verb, rest)


def _paths(folder: str, words: list[str]) -> Iterator[str]:
    for word in words:
        if word != "--":
            yield from (_below(folder, one) for one in paths_in(word))


def _below(folder: str, path: str) -> str:
    """Join a folder and a path. In `.` a path stays as it is, so that an option looks like one."""
    return path if path and folder == "." else os.path.join(folder, path)  # noqa: PTH118 - a text


def _in_work_tree(call: Called, change: GitChange, state: GitState) -> Iterator[Target]:
    folder, verb, rest, settings, is_usual = call
    # A protected file that is named counts, even if git would not change its content.
    yield from (Target(one) for one in _paths(folder, list(change.specs)))
    if verb == "mv":
        yield from moved([_below(folder, one) for one in rest if not one.startswith("-")])
        return
    known = state.is_known and is_usual and not settings
    revisions = (*change.revisions, *(state.revisions if change.tracked else ()))
    asked = change._replace(asks=change.asks and known, revisions=revisions)
    yield Target(folder, git=asked)


def _configured(words: list[str]) -> Iterator[Target]:
    """Yield the file of settings if `git config` changes one that decides what git runs or sees."""
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
