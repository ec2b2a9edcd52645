"""What subcommands of git do to the files of the work tree, by their arguments.

No subcommand changes the folder `.git` in this way. Those that change only the index return None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.target import GitChange

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping

_HERE = (".",)
_LAST_STASH = "stash@{0}"
_FROM_FILE = "--pathspec-from-file"


def _checked_out(words: list[str]) -> GitChange | None:
    """`checkout` restores named files. To switch branches, it changes only unmodified files."""
    before, after = _parted(words)
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


def _switched(words: list[str]) -> GitChange | None:
    named = [one for one in words if not one.startswith("-")]
    forced = any(programs.GIT_FORCED.fullmatch(one) for one in words)
    return GitChange(tracked=True, revisions=tuple(named[-1:])) if forced else None


def _restored(words: list[str]) -> GitChange | None:
    before, after = _parted(words)
    flags = _letters(before, "SWs")
    staged = "S" in flags or "--staged" in before
    if staged and not ("W" in flags or any(one.startswith("--w") for one in before)):
        return None
    rest, sources = _without_values(before, programs.GIT_SOURCE)
    specs = [one for one in rest if not one.startswith("-")] + after
    return GitChange(tracked=True, revisions=tuple(sources), specs=tuple(specs))


def _set_back(words: list[str]) -> GitChange | None:
    """`reset` changes files only in some modes."""
    if not any(programs.GIT_HARD.fullmatch(one) for one in words):
        return None
    named = [one for one in words if not one.startswith("-")]
    return GitChange(tracked=True, revisions=tuple(named[:1]))


def _cleaned(words: list[str]) -> GitChange | None:
    before, after = _parted(words)
    rest, _ = _without_values(before, programs.GIT_PASSED_OVER)
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


def _stashed(words: list[str]) -> GitChange | None:
    before, after = _parted(words)
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


def _removed(words: list[str]) -> GitChange | None:
    before, after = _parted(words)
    if "--cached" in before or any(programs.GIT_TRIED.fullmatch(one) for one in before):
        return None
    specs = [one for one in before if not one.startswith("-")] + after
    return GitChange(tracked=True, specs=tuple(specs), asks=False)


def _renamed(words: list[str]) -> GitChange | None:
    return None if any(programs.GIT_TRIED.fullmatch(one) for one in words) else GitChange()


def _from_index(words: list[str]) -> GitChange | None:
    named = [one for one in words if not one.startswith("-")]
    everything = any(programs.GIT_ALL.fullmatch(one) for one in words)
    return GitChange(tracked=True, specs=() if everything else tuple(named or _HERE))


def _read_in(words: list[str]) -> GitChange | None:
    """`read-tree` may read any tree."""
    updates = any(programs.GIT_UPDATES.fullmatch(one) for one in words)
    return GitChange(tracked=True, asks=False) if updates else None


def _thinned(words: list[str]) -> GitChange | None:
    """`sparse-checkout` removes files by patterns."""
    return None if words[:1] == ["list"] else GitChange(tracked=True, asks=False)


WORK_TREE: Mapping[str, Callable[[list[str]], GitChange | None]] = {
    "checkout": _checked_out,
    "switch": _switched,
    "restore": _restored,
    "reset": _set_back,
    "clean": _cleaned,
    "stash": _stashed,
    "rm": _removed,
    "mv": _renamed,
    "checkout-index": _from_index,
    "read-tree": _read_in,
    "sparse-checkout": _thinned,
}


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
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
