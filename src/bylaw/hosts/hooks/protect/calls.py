"""A tool call → the protected files that it would change.

Of a tool that writes files, the files count; of a shell, its text; of a tool that nobody knows, or
that names no file where it should, what stands under names such as `path` or `command`. A text that
cannot be read, or changes what nobody can know, counts if it speaks of a protected file. This is a
fence, no wall: what was changed all the same is found by `watch`.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect.touched import TouchedByText, named_file, speaks_of_us
from bylaw.model.facts import Protected
from bylaw.runtime.protection import ProtectedPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.base import Call
    from bylaw.model.values import JSON
    from bylaw.runtime.protection import Protection

SHELL, WRITES, MCP = "shell", "file.write", "mcp:"
# What our names for other tools say: they change no file by themselves.
CHANGES_NOTHING = frozenset({"file.read", "web.fetch", "web.search", "web.run", "agent.run"})
MAX_FOUND = 20
MAX_NAMED = 10_000  # files of one call
TOO_MANY = f"no more than {MAX_NAMED:,} files of one call are looked at"
_COMMANDS = ("command", "cmd", "script", "code", "input", "chars")
_LIKE_COMMAND = ("command", "cmd", "commands", "script")
_FOLDERS = ("cwd", "workdir", "working_directory", "directory", "dir_path")
_LIKE_PATH = re.compile(r"path|file|dir|folder|uri|target|dest|source|location|name", re.IGNORECASE)
_URI = re.compile(r"file://(?:localhost)?(?=/)")


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
        # The working directory may be gone.
        self._folder = folder if folder.startswith("/") else f"{os.getcwd()}/{folder}"  # noqa: PTH109 - a text

    def found(self) -> Iterator[ProtectedPath]:
        also = self._call.also
        if SHELL in also:
            yield from self._in_shell(_COMMANDS)
        named = list(named_paths(self._call))
        yield from self._at(named)
        is_anybodys = not also or any(one.startswith(MCP) for one in also)
        if is_anybodys or (WRITES in also and not named):
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
                yield from TouchedByText(text, folder, self._protection).found()

    def _at(self, paths: Iterable[str]) -> Iterator[ProtectedPath]:
        """Paths that a tool names itself."""
        speaks = speaks_of_us(repr(self._call.args))
        each = iter(dict.fromkeys(paths))
        for path in islice(each, MAX_NAMED):
            plain = _URI.sub("", path)
            full = os.path.join(self._folder, os.path.expanduser(plain))  # noqa: PTH111, PTH118 - a text
            yield from named_file(full, self._protection, speaks=speaks)
        for path in islice(each, 1):
            yield ProtectedPath(path, TOO_MANY)


def _text(value: JSON) -> str:
    if isinstance(value, list):
        return shlex.join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _paths_in(args: dict[str, JSON]) -> Iterator[str]:
    """Whole texts that stand under a name for paths, however deep."""
    todo: list[tuple[str, JSON]] = list(args.items())
    while todo:
        key, value = todo.pop()
        if isinstance(value, dict):
            todo += value.items()
        elif isinstance(value, list):
            todo += [(key, one) for one in value]
        elif isinstance(value, str) and value and _LIKE_PATH.search(key):
            yield value
