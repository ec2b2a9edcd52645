"""Protect files from tool calls, before a call and after it.

For a tool that writes files, all arguments except the content of a file are checked. For a shell,
its text is parsed. For an unknown tool, arguments with names such as `path` or `command` are
checked. A text that cannot be parsed, or whose targets are unknown, counts as a change of the
protected files that it mentions. This check can be bypassed; files that were changed anyway are
found after the call. Approvals that appear while a call runs do not count until a person confirms
them.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.hosts.clients.tools import COMMANDS, FOLDERS, MCP_PREFIX, RUNS_SHELL, WRITES_FILES
from bylaw.hosts.hooks.events import MAX_PATH, location_of, may_change_files, named_paths
from bylaw.hosts.hooks.protect.shell_changes import (
    ProtectedTargets,
    find_named_file,
    mentions_settings,
)
from bylaw.hosts.hooks.protect.shell_state import ShellStart
from bylaw.hosts.hooks.protect.watch import FileComparison, compare_files, has_state, mark_reported
from bylaw.hosts.protected_paths import ProtectedPath, Protection
from bylaw.languages import law
from bylaw.model.display import brief, visible
from bylaw.model.facts import ProtectedFile
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.approvals import (
    record_call_denied,
    record_call_end,
    record_call_start,
    record_calls_end,
)
from bylaw.runtime.shared_context import SHARED_CONTEXT, TOKENS, SharedFiles, is_confirmed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.hosts.clients.base import Call, HookEvent
    from bylaw.model.values import JSON
    from bylaw.runtime.approvals import ApprovalKey
    from bylaw.runtime.loader import Library
    from bylaw.runtime.settings import ProtectSettings

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


def find_protected(call: Call, folder: str, protection: Protection) -> tuple[ProtectedFile, ...]:
    """Return the protected files that a call would change; it starts in `folder`."""
    found = dict.fromkeys(_CallTargets(call, folder, protection).found())
    return tuple(ProtectedFile(path=one.path, why=one.why) for one in list(found)[:MAX_FOUND])


def find_waiting_program(call: Call, folder: str, root: str) -> str:
    """Return the program that waits for typed input, if a shell call starts one."""
    from bylaw.hosts.hooks.protect.shell_prompts import waiting_program  # noqa: PLC0415 - for Codex

    for key in COMMANDS if RUNS_SHELL in call.also else ():
        found = waiting_program(
            _command_text(call.args.get(key)), ShellStart(folder, root, os.environ)
        )
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
        is_anybodys = not also or any(one.startswith(MCP_PREFIX) for one in also)
        if is_anybodys or WRITES_FILES in also:
            # It is unknown which of several path arguments a client uses.
            others = _argument_paths(self._call.args, any_name=WRITES_FILES in also)
            yield from self._at([*named, *others])
        if is_anybodys or (WRITES_FILES in also and not named):
            yield from self._in_shell(_LIKE_COMMAND)

    def _in_shell(self, keys: Iterable[str]) -> Iterator[ProtectedPath]:
        args = self._call.args
        folders = [args[key] for key in FOLDERS if isinstance(args.get(key), str)]
        base = next((str(one) for one in folders if one), "")
        folder = os.path.join(self._folder, base)  # noqa: PTH118 - a text
        for key in keys:
            text = _command_text(args.get(key))
            if text:
                yield from ProtectedTargets(text, folder, self._protection).found()

    def _at(self, paths: Iterable[str]) -> Iterator[ProtectedPath]:
        """Yield the protected files among the paths that the arguments name."""
        speaks = mentions_settings(repr(self._call.args))
        each = iter(dict.fromkeys(paths))
        for path in islice(each, MAX_NAMED):
            full = location_of(_URI.sub("", path), self._folder)
            if full is not None:
                yield from find_named_file(full, self._protection, speaks=speaks)
        for path in islice(each, 1):
            yield ProtectedPath(path, TOO_MANY)


def _command_text(value: JSON) -> str:
    if isinstance(value, list):
        return shlex.join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


def _argument_paths(args: dict[str, JSON], *, any_name: bool) -> Iterator[str]:
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


DEFAULT_REASON = "it is protected"


class ProtectedFiles:
    """The protected files of one root.

    `has_law` says that the root has RULE_DSL rules; then files with approvals are protected, too.
    `note` receives messages for the person.
    """

    def __init__(
        self, root: str, library: Library, settings: ProtectSettings, note: Callable[[str], None]
    ) -> None:
        self.has_law = any(book.dialect.name == law.name for book in library.books)
        self._root = root
        self._note = note
        self._last: FileComparison | None = None
        self._protection = Protection(
            root,
            settings,
            files=tuple(found.location for book in library.books for found in book.files),
            places=library.search.places,
            approvals=(SHARED_CONTEXT, TOKENS) if self.has_law else (),
        )

    def before(self, call: Call, folder: str) -> tuple[ProtectedFile, ...]:
        """Return the protected files that a call would change."""
        if not self._protection.settings.enabled:
            return ()
        return find_protected(call, folder, self._protection)

    def record_first_state(self, session: str) -> None:
        """Record the files as they are, if the session has no record of them yet."""
        if self._protection.settings.enabled and not has_state(self._root, session):
            self.changed(session)

    def changed(self, session: str) -> tuple[ProtectedFile, ...]:
        """Return the protected files that were changed since the session last saw them."""
        if not self._protection.settings.enabled:
            return ()
        protection = self._protection
        self._last = compare_files(self._root, session, protection.watched_paths(), self._note)
        return tuple(
            ProtectedFile(path=protection.shown(path), why=protection.why(path) or DEFAULT_REASON)
            for path in self._last.changed
            if not is_confirmed(self._root, path)
        )

    def mark_reported(self, session: str) -> None:
        """Record that the changes of the last comparison were reported."""
        last, self._last = self._last, None
        if last is not None:
            mark_reported(self._root, session, last)


MAX_WARNINGS = 5


class ApprovalCalls:
    """Watches the approvals of a root that has RULE_DSL rules."""

    def __init__(self, root: str, bus_path: str) -> None:
        self._root = root
        self._files = SharedFiles(root, bus_path)

    def hear(self, heard: HookEvent, session: str) -> Iterator[str]:
        """Record an event. Yield warnings for the person."""
        call = heard.call
        if heard.moment is HookPoint.PROMPT and not heard.text:
            return  # not typed by a person: calls may still run
        if call is None:
            # This agent has no running call. Other agents of the session may have one.
            everybody = heard.moment is HookPoint.SESSION_END
            start = f"{session}\n" if everybody else _agent_prefix(heard, session)
            yield from self._warnings(record_calls_end(self._root, start, self._files.grants()))
        elif may_change_files(call):
            name = _call_name(call, heard, session)
            if heard.moment is HookPoint.BEFORE_TOOL:
                yield from self._warnings(record_call_start(self._root, name, self._files.grants()))
            else:
                yield from self._warnings(record_call_end(self._root, name, self._files.grants()))

    def denied(self, heard: HookEvent, session: str) -> None:
        """Record that a call was denied and never runs."""
        if heard.call is not None and may_change_files(heard.call):
            record_call_denied(self._root, _call_name(heard.call, heard, session))

    def _warnings(self, came: list[ApprovalKey]) -> Iterator[str]:
        yield from (_warning(one) for one in came[:MAX_WARNINGS])
        if len(came) > MAX_WARNINGS:
            yield f"{len(came) - MAX_WARNINGS:,} more approvals appeared while the agent worked"


def _agent_prefix(heard: HookEvent, session: str) -> str:
    """Return how the names of all calls of an agent begin."""
    return f"{session}\n{heard.agent}\n"


def _call_name(call: Call, heard: HookEvent, session: str) -> str:
    return f"{_agent_prefix(heard, session)}{call.id}\n"


def _warning(mark: ApprovalKey) -> str:
    msg_id = visible(brief(mark.msg_id))
    return (
        f"`{visible(mark.where)}` has an approval of `{msg_id}` that appeared while a call of the "
        f"agent ran: it does not count until a person confirms it with `bylaw approve {msg_id}`"
    )
