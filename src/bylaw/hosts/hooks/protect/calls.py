"""A tool call → the protected files that it would change.

Of a tool that writes files, all that it is told counts but the text of a file; of a shell, its
text; of a tool that nobody knows, what stands under names such as `path` or `command`. A text that
cannot be read, or changes what nobody can know, counts if it speaks of a protected file. This is a
fence, no wall: what was changed all the same is found by `watch`.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.named_files import MAX_PATH, location_of, named_paths
from bylaw.hosts.hooks.protect.shell_state import ShellStart
from bylaw.hosts.hooks.protect.touched import TouchedByText, named_file, speaks_of_us
from bylaw.hosts.hooks.tool_names import COMMANDS, FOLDERS, OF_SERVER, RUNS_SHELL, WRITES_FILES
from bylaw.model.facts import Protected
from bylaw.runtime.protection import ProtectedPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.base import Call
    from bylaw.model.values import JSON
    from bylaw.runtime.protection import Protection

MAX_FOUND = 20
MAX_NAMED = 10_000  # files of one call
TOO_MANY = f"no more than {MAX_NAMED:,} files of one call are looked at"
_LIKE_COMMAND = ("command", "cmd", "commands", "script")
_LIKE_PATH = re.compile(
    r"path|file|dir|folder|uri|target|dest|source|location|name|\b(?:to|from|dst|src)\b",
    re.IGNORECASE,
)
# What is written to a file, or said about that; it may well be the name of another.
_LIKE_CONTENT = re.compile(
    r"(?:(?:new|old|file|insert)_)?(?:contents?|text|str|string|body|data)|(?:new|old)_source|patch|diff|input"
    r"|code(?:_edit)?|search|replace(?:ment)?|query|pattern|prompt|title|description|explanation"
    r"|instructions?",
    re.IGNORECASE,
)
_URI = re.compile(r"file://(?:localhost)?(?=/)")


def protected_by(call: Call, folder: str, protection: Protection) -> tuple[Protected, ...]:
    """What a call that begins in a folder must not change, but would."""
    found = dict.fromkeys(_CallTargets(call, folder, protection).found())
    return tuple(Protected(path=one.path, why=one.why) for one in list(found)[:MAX_FOUND])


def waiting_in(call: Call, folder: str, root: str) -> str:
    """The program that waits for what is typed, if a call of a shell starts one."""
    from bylaw.hosts.hooks.protect.shell_waiting import waiting_program  # noqa: PLC0415 - of Codex

    for key in COMMANDS if RUNS_SHELL in call.also else ():
        found = waiting_program(_text(call.args.get(key)), ShellStart(folder, root, os.environ))
        if found:
            return found
    return ""


class _CallTargets:
    def __init__(self, call: Call, folder: str, protection: Protection) -> None:
        self._call = call
        self._protection = protection
        # The working directory may be gone.
        self._folder = folder if folder.startswith("/") else f"{os.getcwd()}/{folder}"  # noqa: PTH109 - a text

    def found(self) -> Iterator[ProtectedPath]:
        also = self._call.also
        if RUNS_SHELL in also:
            yield from self._in_shell(COMMANDS)
        named = list(named_paths(self._call))
        is_anybodys = not also or any(one.startswith(OF_SERVER) for one in also)
        if is_anybodys or WRITES_FILES in also:
            # Which of several names a client goes by is not known.
            others = _paths_in(self._call.args, any_name=WRITES_FILES in also)
            yield from self._at([*named, *others])
        if is_anybodys or (WRITES_FILES in also and not named):
            yield from self._in_shell(_LIKE_COMMAND)

    def _in_shell(self, keys: Iterable[str]) -> Iterator[ProtectedPath]:
        args = self._call.args
        folders = [args[key] for key in FOLDERS if isinstance(args.get(key), str)]
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
            full = location_of(_URI.sub("", path), self._folder)
            if full is not None:
                yield from named_file(full, self._protection, speaks=speaks)
        for path in islice(each, 1):
            yield ProtectedPath(path, TOO_MANY)


def _text(value: JSON) -> str:
    if isinstance(value, list):
        return shlex.join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _paths_in(args: dict[str, JSON], *, any_name: bool) -> Iterator[str]:
    """Whole texts that stand under a name for paths, or under any but those for the text of a
    file; however deep."""
    todo: list[tuple[str, bool, JSON]] = [("", False, args)]
    while todo:
        key, is_path, value = todo.pop()
        if isinstance(value, dict):
            # What stands below a name for paths is named by it, too.
            todo += [(one, is_path or bool(_LIKE_PATH.search(one)), value[one]) for one in value]
        elif isinstance(value, list):
            todo += [(key, is_path, one) for one in value]
        elif isinstance(value, str) and value:
            may_be = is_path or (any_name and len(value) <= MAX_PATH)
            if may_be and not _LIKE_CONTENT.fullmatch(key):
                yield value
