"""A call of git → the files that it may change, and the commands that it runs."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.protect import shell_programs as programs
from bylaw.hosts.hooks.protect.shell_arguments import CODE_WORD, Target, given_to, paths_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDES = "git would no longer see changes of the named files, and so would no rule about files"


class Called(NamedTuple):
    """A call of git: the folder in which it works, its verb, and what stands behind that."""

    folder: str
    verb: str
    rest: list[str]
    settings: list[str]


def called(words: list[str]) -> Called:
    """What stands behind `git`."""
    rest = list(words)
    folder, settings = ".", []
    while rest and rest[0].startswith("-"):
        option, has_value, value = rest.pop(0).partition("=")
        if programs.GIT_VALUED.fullmatch(option):
            if not has_value:
                value = rest.pop(0) if rest else ""
            folder = f"{folder}/{value}" if option == "-C" else folder
            if option == "--work-tree":
                folder = value
            settings += [value] if option == "-c" else []
    return Called(folder, rest[0] if rest else "", rest[1:], settings)


def run_by_git(call: Called) -> Iterator[str]:
    """Texts of commands that git runs itself."""
    if call.verb == "bisect" and call.rest[:1] == ["run"]:
        yield shlex.join(call.rest[1:])
    if call.verb == "submodule" and "foreach" in call.rest:
        yield " ".join(call.rest[call.rest.index("foreach") + 1 :])
    option = programs.GIT_RUNS.get(call.verb)
    yield from given_to(option, call.rest) if option else ()


def git_targets(call: Called) -> Iterator[Target]:
    """What git may change, by its verb."""
    folder, verb, rest, settings = call
    # A setting can be the text of a command.
    yield from (Target(one) for value in settings for one in CODE_WORD.findall(value))
    paths = [one if folder == "." else f"{folder}/{one}" for one in rest if one != "--"]
    if verb == "update-index" and any(programs.GIT_HIDES.fullmatch(one) for one in rest):
        yield Target(".git/index", why=_HIDES)
    if verb == "config":
        yield from _configured(rest)
    elif verb in programs.GIT_READS:
        if any(programs.GIT_OUTPUT.fullmatch(one) for one in rest):
            yield from (Target(one) for word in paths for one in paths_in(word))
    else:
        whole = verb in programs.GIT_WHOLE
        patch = verb in programs.GIT_PATCHES
        yield from (
            Target(one, whole=whole, patch=patch) for word in paths for one in paths_in(word)
        )
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
