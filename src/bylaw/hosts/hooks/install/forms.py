"""A client, an interpreter → our entries in that client's form, and how they are known again."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from bylaw.hosts.hooks.adapters import adapter_named
from bylaw.hosts.hooks.closing import ENDS, is_gate, patience_s
from bylaw.hosts.hooks.install.entries import HookEntry
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.hosts.hooks.install.json_text import Document, Node, Path
    from bylaw.model.values import JSON

HOOKS = "hooks"
PLUGIN = "plugin"
PLUGIN_FILE = "opencode_plugin.js"
PLUGIN_PYTHON = "python"
COMMAND_KEYS = ("command", "bash")
_MS = 1000
# The client waits longer than we do, so that it is we who say what a failure means.
_LONGER_S = 15
_END_S = 3  # more is not granted
# What we write: our interpreter, as one word of a shell in which nothing has a meaning; people may
# have written `bylaw` in its place.
_PLAIN, _SINGLE, _DOUBLE = r"[\w@%+=:,./-]", r"'[^']*'", r'"[^"$`\\]*"'
_PYTHON = rf"(?:{_PLAIN}|{_SINGLE}|{_DOUBLE})+"
_PROGRAM = r"""(?:(?:[\w@%+=:,./-]*/)?bylaw|'(?:[^']*/)?bylaw'|"(?:[^"$`\\]*/)?bylaw")"""


def command(host: str, event: str, python: str) -> str:
    """What a client starts at an event, as a line for a shell."""
    return shlex.join([python, "-I", "-m", "bylaw", "hook", host, event])


def grouped(host: str, python: str, *, unit: int = 1) -> Sequence[HookEntry]:
    """Groups of hooks by event, as Claude Code began it; a group without a matcher is for all."""
    entries = []
    for event in adapter_named(host).moments:
        hook: dict[str, JSON] = {"type": "command", "command": command(host, event, python)}
        hook["timeout"] = _wait_s(event) * unit
        if host == CLAUDE and is_gate(host, event):
            hook["onFailure"] = "block"
        entries.append(HookEntry((HOOKS, event), {HOOKS: [hook]}))
    return entries


def grouped_ms(host: str, python: str) -> Sequence[HookEntry]:
    """The same with milliseconds."""
    return grouped(host, python, unit=_MS)


def for_copilot(host: str, python: str) -> Sequence[HookEntry]:
    """Hooks by event, each for itself."""
    return [
        HookEntry(
            (HOOKS, event),
            {
                "type": "command",
                "bash": command(host, event, python),
                "timeoutSec": _wait_s(event),
            },
        )
        for event in adapter_named(host).moments
    ]


def for_cursor(host: str, python: str) -> Sequence[HookEntry]:
    """Hooks by event; a gate is closed when ours fails."""
    entries = []
    for event in adapter_named(host).moments:
        hook: dict[str, JSON] = {"command": command(host, event, python)}
        hook["timeout"] = _wait_s(event)
        if is_gate(host, event):
            hook["failClosed"] = True
        entries.append(HookEntry((HOOKS, event), hook))
    return entries


def for_opencode(_host: str, python: str) -> Sequence[HookEntry]:
    """Our plugin, which is told the interpreter that runs us."""
    where = quote(str(files("bylaw.hosts.hooks.install") / PLUGIN_FILE))
    return [HookEntry((PLUGIN,), [f"file://{where}", {PLUGIN_PYTHON: python}])]


def _wait_s(event: str) -> int:
    return _END_S if event in ENDS else int(patience_s(event)) + _LONGER_S


def in_groups(host: str) -> Callable[[Document], list[Path]]:
    """Finds our hooks in groups: the whole group where it holds nothing else."""

    def found(document: Document) -> Iterator[Path]:
        for path, group in _listed(document):
            hooks = group.child(HOOKS)
            if hooks is None or not hooks.is_list or not hooks.children:
                continue
            ours = [i for i, hook in enumerate(hooks.children) if _is_ours(host, document, hook)]
            if len(ours) == len(hooks.children):
                yield path
            else:
                yield from ((*path, HOOKS, index) for index in ours)

    return lambda document: list(found(document))


def by_event(host: str) -> Callable[[Document], list[Path]]:
    """Finds our hooks where they stand in no group."""
    return lambda document: [
        path for path, hook in _listed(document) if _is_ours(host, document, hook)
    ]


def as_plugin(_host: str) -> Callable[[Document], list[Path]]:
    """Finds our plugin, with and without options."""

    def is_ours(value: JSON) -> bool:
        name = value[0] if isinstance(value, list) and value else value
        return isinstance(name, str) and name.endswith(f"/bylaw/hosts/hooks/install/{PLUGIN_FILE}")

    def found(document: Document) -> Iterator[Path]:
        plugins = document.root.child(PLUGIN)
        for index, one in enumerate(plugins.children if plugins and plugins.is_list else ()):
            if is_ours(document.plain(one)):
                yield (PLUGIN, index)

    return lambda document: list(found(document))


def _listed(document: Document) -> Iterator[tuple[Path, Node]]:
    """The elements of the lists below `hooks`, with their paths."""
    hooks = document.root.child(HOOKS)
    for event in hooks.children if hooks and hooks.is_object else ():
        for index, one in enumerate(event.children if event.is_list else ()):
            yield (HOOKS, event.key, index), one


def _is_ours(host: str, document: Document, hook: Node) -> bool:
    """Whether it is a call of `bylaw hook` and nothing else; one with more to it is theirs."""
    line = next((one for key in COMMAND_KEYS if (one := hook.child(key))), None)
    said = "" if line is None else document.plain(line)
    ours = rf"(?:{_PYTHON} -I -m bylaw|{_PROGRAM}) hook {re.escape(host)}(?: [A-Za-z.]+)?\s*"
    return isinstance(said, str) and re.fullmatch(ours, said, re.ASCII) is not None
