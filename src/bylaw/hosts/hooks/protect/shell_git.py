"""Find the files that a call of git may change, and the commands that it runs.

Subcommands that change the work tree become a change that `git_changes` looks up in the work tree.
No subcommand changes the folder `.git` in this way.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_lists import GitChange, Target
from bylaw.hosts.hooks.protect.shell_programs import (
    CODE_WORD,
    move_targets,
    option_values,
    paths_in,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping

_HERE = (".",)
_LAST_STASH = "stash@{0}"
_FROM_FILE = "--pathspec-from-file"


def _parse_checkout(words: list[str]) -> GitChange | None:
    """`checkout` restores named files. To switch branches, it changes only unmodified files."""
    before, after = _split_words(words)
    named = [one for one in before if not one.startswith("-")]
    if any(one.startswith(_FROM_FILE) for one in before):
        return GitChange(tracked=True, revisions=tuple(named))
    if after:
        return GitChange(tracked=True, revisions=tuple(named), specs=tuple(after))
    if any(programs.GIT_FORCED.fullmatch(one) for one in before):
        return GitChange(tracked=True, revisions=tuple(named[-1:]))
    if not named or any(programs.GIT_SWITCHES_BRANCH.fullmatch(one) for one in before):
        return None
    # The first of several words may be a revision or a file.
    return GitChange(tracked=True, revisions=tuple(named[:-1][:1]), specs=tuple(named))


def _parse_switch(words: list[str]) -> GitChange | None:
    named = [one for one in words if not one.startswith("-")]
    forced = any(programs.GIT_FORCED.fullmatch(one) for one in words)
    return GitChange(tracked=True, revisions=tuple(named[-1:])) if forced else None


def _parse_restore(words: list[str]) -> GitChange | None:
    before, after = _split_words(words)
    flags = _letters(before, "SWs")
    staged = "S" in flags or "--staged" in before
    if staged and not ("W" in flags or any(one.startswith("--w") for one in before)):
        return None
    rest, sources = _without_values(before, programs.GIT_SOURCE)
    specs = [one for one in rest if not one.startswith("-")] + after
    return GitChange(tracked=True, revisions=tuple(sources), specs=tuple(specs))


def _parse_reset(words: list[str]) -> GitChange | None:
    """`reset` changes files only in some modes."""
    if not any(programs.GIT_HARD.fullmatch(one) for one in words):
        return None
    named = [one for one in words if not one.startswith("-")]
    return GitChange(tracked=True, revisions=tuple(named[:1]))


def _parse_clean(words: list[str]) -> GitChange | None:
    before, after = _split_words(words)
    rest, _ = _without_values(before, programs.GIT_EXCLUDE)
    flags = _letters(before, "dxXn")
    if "n" in flags or "--dry-run" in rest:
        return None
    # Do not require `--force`: settings can make it unnecessary.
    specs = [one for one in rest if not one.startswith("-")] + after
    return GitChange(
        untracked="X" not in flags,
        ignored="x" in flags or "X" in flags,
        folders="d" in flags or bool(specs),
        specs=tuple(specs) or _HERE,
    )


def _parse_stash(words: list[str]) -> GitChange | None:
    before, after = _split_words(words)
    rest, _ = _without_values(before, programs.GIT_MESSAGE)
    named = [one for one in rest if not one.startswith("-")]
    verb = named.pop(0) if named else "push"
    if verb in {"pop", "apply", "branch"}:
        stash = named[-1] if named[verb == "branch" :] else _LAST_STASH
        return GitChange(stash=f"stash@{{{stash}}}" if stash.isdigit() else stash)
    if verb not in {"push", "save"}:
        return None
    flags = _letters(before, "au")
    everything = "--all" in before or "a" in flags
    untracked = "--include-untracked" in before or "u" in flags
    specs = [*(named if verb == "push" else ()), *after]
    return GitChange(
        tracked=True, untracked=untracked or everything, ignored=everything, specs=tuple(specs)
    )


def _parse_rm(words: list[str]) -> GitChange | None:
    before, after = _split_words(words)
    if "--cached" in before or any(programs.GIT_DRY_RUN.fullmatch(one) for one in before):
        return None
    specs = [one for one in before if not one.startswith("-")] + after
    return GitChange(tracked=True, specs=tuple(specs), asks=False)


def _parse_mv(words: list[str]) -> GitChange | None:
    return None if any(programs.GIT_DRY_RUN.fullmatch(one) for one in words) else GitChange()


def _parse_checkout_index(words: list[str]) -> GitChange | None:
    named = [one for one in words if not one.startswith("-")]
    everything = any(programs.GIT_ALL.fullmatch(one) for one in words)
    return GitChange(tracked=True, specs=() if everything else tuple(named or _HERE))


def _parse_read_tree(words: list[str]) -> GitChange | None:
    """`read-tree` may read any tree."""
    updates = any(programs.GIT_UPDATES.fullmatch(one) for one in words)
    return GitChange(tracked=True, asks=False) if updates else None


def _parse_sparse_checkout(words: list[str]) -> GitChange | None:
    """`sparse-checkout` removes files by patterns."""
    return None if words[:1] == ["list"] else GitChange(tracked=True, asks=False)


WORK_TREE: Mapping[str, Callable[[list[str]], GitChange | None]] = {
    "checkout": _parse_checkout,
    "switch": _parse_switch,
    "restore": _parse_restore,
    "reset": _parse_reset,
    "clean": _parse_clean,
    "stash": _parse_stash,
    "rm": _parse_rm,
    "mv": _parse_mv,
    "checkout-index": _parse_checkout_index,
    "read-tree": _parse_read_tree,
    "sparse-checkout": _parse_sparse_checkout,
}


def _split_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words before `--`, and those after it."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _letters(words: list[str], known: str) -> set[str]:
    """Return the short options, combined or alone, that are in `known`."""
    short = (one[1:] for one in words if one.startswith("-") and not one.startswith("--"))
    return {letter for one in short for letter in one if letter in known}


def _without_values(words: list[str], option: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return the words without an option and its values, and the values."""
    rest: list[str] = []
    values: list[str] = []
    todo = iter(words)
    for word in todo:
        found = option.fullmatch(word)
        if found is None:
            rest.append(word)
        else:
            values.append(found["value"] or next(todo, ""))
    return rest, values


_HIDES = "git would not see changes of the named files, so rules about files would miss them"


class GitCall(NamedTuple):
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


def parse_git_call(words: list[str]) -> GitCall:
    """Parse the words after `git`."""
    rest = list(words)
    folder, work_tree, settings, is_usual = ".", "", [], True
    while rest and rest[0].startswith("-"):
        option, has_value, value = rest.pop(0).partition("=")
        if programs.GIT_VALUED.fullmatch(option):
            if not has_value:
                value = rest.pop(0) if rest else ""
            folder = _join(folder, value) if option == "-C" else folder
            work_tree = value if option == "--work-tree" else work_tree
            settings += [value] if option == "-c" else []
            is_usual &= option in {"-C", "-c"}
    where = _join(folder, work_tree) if work_tree else folder
    return GitCall(where, rest[0] if rest else "", rest[1:], settings, is_usual)


def git_commands(call: GitCall) -> Iterator[str]:
    """Yield the texts of commands that git runs, or may run: a setting can be one."""
    yield from (value.partition("=")[2].removeprefix("!") for value in call.settings)
    if call.verb == "bisect" and call.rest[:1] == ["run"]:
        yield shlex.join(call.rest[1:])
    if call.verb == "submodule" and "foreach" in call.rest:
        yield " ".join(call.rest[call.rest.index("foreach") + 1 :])
    option = programs.GIT_RUNS.get(call.verb)
    yield from option_values(option, call.rest) if option else ()


def git_targets(call: GitCall, state: GitState) -> Iterator[Target]:
    """Yield what git may change, by its subcommand."""
    folder, verb, rest, settings, _ = call
    # A setting can be the text of a command.
    yield from (Target(one) for value in settings for one in CODE_WORD.findall(value))
    if verb == "update-index" and any(programs.GIT_HIDES.fullmatch(one) for one in rest):
        yield Target(".git/index", why=_HIDES)
    read_work_tree = WORK_TREE.get(verb)
    if verb == "config":
        yield from _config_targets(rest)
    elif read_work_tree is not None:
        change = read_work_tree(rest)
        if change is not None:
            yield from _work_tree_targets(call, change, state)
    elif verb not in programs.GIT_READS:
        patch = verb in programs.GIT_PATCHES
        yield from (Target(one, patch=patch) for one in _paths(folder, rest))
    elif any(programs.GIT_OUTPUT.fullmatch(one) for one in rest):
        yield from (Target(one) for one in _paths(folder, rest))
    state.note(verb, rest)


def _paths(folder: str, words: list[str]) -> Iterator[str]:
    for word in words:
        if word != "--":
            yield from (_join(folder, one) for one in paths_in(word))


def _join(folder: str, path: str) -> str:
    """Join a folder and a path. In `.` a path stays as it is, so that an option looks like one."""
    return path if path and folder == "." else os.path.join(folder, path)  # noqa: PTH118 - a text


def _work_tree_targets(call: GitCall, change: GitChange, state: GitState) -> Iterator[Target]:
    folder, verb, rest, settings, is_usual = call
    # A protected file that is named counts, even if git would not change its content.
    yield from (Target(one) for one in _paths(folder, list(change.specs)))
    if verb == "mv":
        yield from move_targets([_join(folder, one) for one in rest if not one.startswith("-")])
        return
    known = state.is_known and is_usual and not settings
    revisions = (*change.revisions, *(state.revisions if change.tracked else ()))
    asked = change._replace(asks=change.asks and known, revisions=revisions)
    yield Target(folder, git=asked)


def _config_targets(words: list[str]) -> Iterator[Target]:
    """Yield the file of settings if `git config` changes one that decides what git runs or sees."""
    if any(programs.GIT_CONFIG_READS.fullmatch(one) for one in words):
        return
    if "--file" in words or "-f" in words:
        yield from (Target(one) for one in words)
    named = [one for one in words if programs.GIT_SETTING.fullmatch(one)]
    values = [one for one in words if not one.startswith("-") and one not in {"set", "unset"}]
    if named and len(values) > 1:
        yield Target(".git/config")
    if any(one in {"-e", "--edit", "edit", "--unset", "--unset-all", "unset"} for one in words):
        yield from (Target(".git/config") for _ in named[:1])
