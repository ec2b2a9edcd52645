"""A tool call → the protected files that it would change.

Of a tool that writes files, the files count; of a shell, its text; of a tool that nobody knows,
what stands under names such as `path` or `command`. A text that cannot be read, or changes what
nobody can know, counts if it speaks of a protected file. This is a fence, no wall: what was changed
all the same is found by `watch`.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.patch import diffed_paths
from bylaw.hosts.hooks.protect.archives import members
from bylaw.hosts.hooks.protect.shell_targets import ShellStart, shell_targets
from bylaw.hosts.hooks.protect.shell_values import UNKNOWN
from bylaw.hosts.hooks.protect.shell_word import ShellTextError
from bylaw.model.facts import Protected
from bylaw.runtime.configuration import PROJECT
from bylaw.runtime.paths import as_text, folder_of, is_folder
from bylaw.runtime.protected_names import HOLDS_SETTINGS
from bylaw.runtime.protection import MAX_DEEP, ProtectedPath, files_in
from bylaw.runtime.reading import regular_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.base import Call
    from bylaw.hosts.hooks.protect.shell_arguments import Target
    from bylaw.model.values import JSON
    from bylaw.runtime.protection import Protection

SHELL, WRITES, MCP = "shell", "file.write", "mcp:"
# What our names for other tools say: they change no file by themselves.
CHANGES_NOTHING = frozenset({"file.read", "web.fetch", "web.search", "web.run", "agent.run"})
MAX_FOUND = 20
MAX_ARGUMENTS = 5_000
MAX_COPIED = 2_000  # files that come out of a folder or a patch
MAX_PATCH = 4 << 20
MAX_PATHS = 8_000  # that are looked for; the rest is only read
_COMMANDS = ("command", "cmd", "script", "code", "input", "chars")
_LIKE_COMMAND = ("command", "cmd", "commands", "script")
_FOLDERS = ("cwd", "workdir", "working_directory", "directory", "dir_path")
_LIKE_PATH = re.compile(r"path|file|dir|folder|uri|target|dest|source|location|name", re.IGNORECASE)
_URI = re.compile(r"file://(?:localhost)?(?=/)")
_US = "bylaw"


def protected_by(call: Call, folder: str, protection: Protection) -> tuple[Protected, ...]:
    """What a call that begins in a folder must not change, but would."""
    found = dict.fromkeys(_Looking(call, folder, protection).found())
    return tuple(Protected(path=one.path, why=one.why) for one in list(found)[:MAX_FOUND])


def named_paths(call: Call) -> Iterator[str]:
    """The files that a tool for writing files names."""
    named = call.args.get("paths") if WRITES in call.also else None
    for one in named if isinstance(named, list) else ():
        if isinstance(one, str):
            yield one


class _Looking:
    def __init__(self, call: Call, folder: str, protection: Protection) -> None:
        self._call = call
        self._protection = protection
        self._folder = folder

    def found(self) -> Iterator[ProtectedPath]:
        also = self._call.also
        if SHELL in also:
            yield from self._in_shell(_COMMANDS)
        yield from self._at(named_paths(self._call))
        if not also or any(one.startswith(MCP) for one in also):
            yield from self._at(_paths_in(self._call.args))
            yield from self._in_shell(_LIKE_COMMAND)

    def _in_shell(self, keys: Iterable[str]) -> Iterator[ProtectedPath]:
        args = self._call.args
        folders = [args[key] for key in _FOLDERS if isinstance(args.get(key), str)]
        base = next((str(one) for one in folders if one), "")
        folder = os.path.join(self._folder, base)  # noqa: PTH118 - a text
        for key in keys:
            text = _text(args.get(key))
            if text:
                yield from self._in_text(text, folder)

    def _in_text(self, text: str, folder: str) -> Iterator[ProtectedPath]:
        protection = self._protection
        try:
            targets, folders = shell_targets(text, ShellStart(folder, protection.root, os.environ))
        except ShellTextError:
            mentioned = protection.mentioned(text)
            if mentioned is not None:
                yield mentioned
            return
        speaks = _US in text.casefold()
        each = list(dict.fromkeys(targets))
        if len(each) * len(folders) > MAX_PATHS and (named := protection.mentioned(text)):
            yield named
        for target in each[: MAX_PATHS // len(folders)]:
            yield from self._target(target, folders, speaks=speaks)
            if _is_anybodys_guess(target, folders) and (named := protection.mentioned(text)):
                yield named

    def _target(
        self, target: Target, folders: Iterable[str], *, speaks: bool
    ) -> Iterator[ProtectedPath]:
        if target.why:
            yield ProtectedPath(target.path, target.why)
        if not target.path or "\n" in target.path:
            return
        for folder in folders:
            path = os.path.join(folder, target.path)  # noqa: PTH118 - a text
            if UNKNOWN in path:
                yield from self._partly_known(path)
                continue
            if target.inside and not is_folder(folder_of(path)):
                continue
            if target.source:
                yield from self._copied(path, os.path.join(folder, target.source))  # noqa: PTH118 - a text
                continue
            if target.archive:
                yield from self._unpacked(path, target, folder)
                continue
            yield from self._one(path, speaks=speaks)
            for named in _diffed(path) if target.patch else ():
                yield from self._one(os.path.join(folder, named), speaks=False)  # noqa: PTH118 - same
            below = self._protection.found_below(path, target.sought.fits) if target.whole else None
            if below is not None:
                yield below

    def _copied(self, path: str, source: str) -> Iterator[ProtectedPath]:
        """What comes out of a folder to where a path is."""
        for file in islice(files_in(source, MAX_DEEP), MAX_COPIED) if is_folder(source) else ():
            yield from self._one(f"{path}/{file[len(source) :].lstrip('/')}", speaks=False)

    def _unpacked(self, path: str, target: Target, folder: str) -> Iterator[ProtectedPath]:
        """What is in an archive, where it is put."""
        archive = os.path.join(folder, target.archive)  # noqa: PTH118 - a text
        for name in members(archive) or ():
            inside = name.split("/")[target.stripped :]
            yield from self._one("/".join([path, *inside]), speaks=False)

    def _partly_known(self, path: str) -> Iterator[ProtectedPath]:
        """The end of it, and the folder in which it lies for certain."""
        ending = path.rpartition(UNKNOWN)[2].lstrip("/")
        kept = self._protection.found_ending(f"/{ending}") if ending else None
        if kept is not None:
            yield kept
        start = path.partition(UNKNOWN)[0]
        if start.endswith("/"):
            yield from self._one(start, speaks=False)

    def _at(self, paths: Iterable[str]) -> Iterator[ProtectedPath]:
        """Paths that a tool names itself."""
        speaks = _US in repr(self._call.args).casefold()
        for path in paths:
            plain = _URI.sub("", path)
            full = os.path.join(self._folder, os.path.expanduser(plain))  # noqa: PTH111, PTH118 - same
            yield from self._one(full, speaks=speaks)

    def _one(self, path: str, *, speaks: bool) -> Iterator[ProtectedPath]:
        if "\0" in path:
            return
        kept = self._protection.found(path)
        if kept is not None:
            yield kept
        elif speaks and path.rpartition("/")[2].casefold() == PROJECT:
            # It would hold settings of ours, and so be the root of the folder in which it lies.
            yield ProtectedPath(self._protection.shown(path), HOLDS_SETTINGS)


def _is_anybodys_guess(target: Target, folders: Iterable[str]) -> bool:
    """Whether nothing is known of a path, or it is that of a patch that cannot be read."""
    if target.patch:
        return not any(_diffed(os.path.join(folder, target.path)) for folder in folders)  # noqa: PTH118 - a text
    return bool(target.path) and not target.path.strip(f"{UNKNOWN}/")


def _diffed(path: str) -> list[str]:
    """The files that a patch names; none if it cannot be read, or is none."""
    try:
        text = as_text(regular_bytes(path, MAX_PATCH))
    except (OSError, ValueError):
        return []
    return list(islice(diffed_paths(text), MAX_COPIED))


def _text(value: JSON) -> str:
    if isinstance(value, list):
        return shlex.join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _paths_in(args: dict[str, JSON]) -> Iterator[str]:
    """Whole texts that stand under a name for paths, however deep."""
    todo: list[tuple[str, JSON]] = list(args.items())
    for _ in range(MAX_ARGUMENTS):
        if not todo:
            return
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += value.items()
        elif isinstance(value, list):
            todo += [(key, one) for one in value]
        elif isinstance(value, str) and value and _LIKE_PATH.search(key):
            yield value
