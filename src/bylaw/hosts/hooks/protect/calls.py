"""Find the protected files that a tool call would change.

For a tool that writes files, all arguments except the content of a file are checked. For a shell,
its text is parsed. For an unknown tool, arguments with names such as `path` or `command` are
checked. A text that cannot be parsed, or whose targets are unknown, counts as a change of the
protected files that it mentions. This check can be bypassed. Files that were changed anyway are
found after the call.
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
TOO_MANY = f"Bylaw checks only {MAX_NAMED:,} files of one call"
_LIKE_COMMAND = ("command", "cmd", "commands", "script")
_LIKE_PATH = re.compile(
    r"path|file|dir|folder|uri|target|dest|source|location|name|\b(?:to|from|dst|src)\b",
    re.IGNORECASE,
)
# Arguments for the content of a file, or for a comment. They may equal the name of another file.
_LIKE_CONTENT = re.compile(
    r"(?:(?:new|old|file|insert)_)?(?:contents?|text|str|string|body|data)|(?:new|old)_source|patch|diff|input"
    r"|code(?:_edit)?|search|replace(?:ment)?|query|pattern|prompt|title|description|explanation"
    r"|instructions?",
    re.IGNORECASE,
)
_URI = re.compile(r"file://(?:localhost)?(?=/)")


def protected_by(call: Call, folder: str, protection: Protection) -> tuple[Protected, ...]:
    """Return the protected files that a call would change; it starts in `folder`."""
    found = dict.fromkeys(_CallTargets(call, folder, protection).found())
    return tuple(Protected(path=one.path, why=one.why) for one in list(found)[:MAX_FOUND])


def waiting_in(call: Call, folder: str, root: str) -> str:
    """Return the program that waits for typed input, if a shell call starts one."""
    from bylaw.hosts.hooks.protect.shell_waiting import waiting_program  # noqa: PLC0415 - for Codex

    for key in COMMANDS if RUNS_SHELL in call.also else ():
        found = waiting_program(_text(call.args.get(key)), ShellStart(folder, root, os.environ))
        if found:
            return found
    return ""


class _CallTargets:
    def __init__(self, call: Call, folder: str, protection: Protection) -> None:
        self._call = call
        self._protection = protection
        # Call `getcwd` only if needed: the working directory may be gone.
        self._folder = folder if folder.startswith("/") else f"{os.getcwd()}/{folder}"  # noqa: PTH109 - a text

    def found(self) -> Iterator[ProtectedPath]:
        also = self._call.also
        if RUNS_SHELL in also:
            yield from self._in_shell(COMMANDS)
        named = list(named_paths(self._call))
        is_anybodys = not also or any(one.startswith(OF_SERVER) for one in also)
        if is_anybodys or WRITES_FILES in also:
            # It is unknown which of several path arguments a client uses.
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
        """Yield the protected files among the paths that the arguments name."""
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
    """Yield texts of arguments that have a name for paths, at any depth.

    With `any_name`, yield all texts but those of arguments for content.
    """
    todo: list[tuple[str, bool, JSON]] = [("", False, args)]
    while todo:
        key, is_path, value = todo.pop()
        if isinstance(value, dict):
            # Values below a name for paths may be paths, too.
            todo += [(one, is_path or bool(_LIKE_PATH.search(one)), value[one]) for one in value]
        elif isinstance(value, list):
            todo += [(key, is_path, one) for one in value]
        elif isinstance(value, str) and value:
            may_be = is_path or (any_name and len(value) <= MAX_PATH)
            if may_be and not _LIKE_CONTENT.fullmatch(key):
                yield value
