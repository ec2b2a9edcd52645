"""Make our hook entries in the form of each client, and find hooks that call Bylaw."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from bylaw.hosts.hooks.adapters import adapter_named
from bylaw.hosts.hooks.closing import ENDS, is_gate, patience_s
from bylaw.hosts.hooks.install.our_entries import HOOKS, HookEntry
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from bylaw.hosts.hooks.install.json_text import Document, Node, Path
    from bylaw.model.values import JSON

    Entries: TypeAlias = Callable[[str, str], Sequence[HookEntry]]
    Finder: TypeAlias = Callable[[Document], list[tuple[Path, str]]]
    Sets: TypeAlias = Callable[[Document], list[Sequence[HookEntry]]]

PLUGIN = "plugin"
PLUGIN_FILE = "opencode_plugin.js"
PLUGIN_PYTHON = "python"
_PLUGIN_END = f"/bylaw/hosts/hooks/install/{PLUGIN_FILE}"
COMMAND_KEYS = ("command", "bash")
_MS = 1000
# The client must wait longer than Bylaw, so that Bylaw decides what a failure means.
_LONGER_S = 15
_END_S = 3  # clients grant no more
# The interpreter as `command` writes it: one shell word without expansions. A person may write
# `bylaw` instead.
_PLAIN, _SINGLE, _DOUBLE = r"[\w@%+=:,./-]", r"'[^']*'", r'"[^"$`\\]*"'
_PYTHON = rf"(?:{_PLAIN}|{_SINGLE}|{_DOUBLE})+"
_PROGRAM = r"""(?:(?:[\w@%+=:,./-]*/)?bylaw|'(?:[^']*/)?bylaw'|"(?:[^"$`\\]*/)?bylaw")"""
_INSTALLED = re.compile(rf"(?P<python>{_PYTHON}) -I -m bylaw hook .*", re.ASCII)


def command(host: str, event: str, python: str) -> str:
    """Return the shell command that a client starts at an event."""
    return shlex.join([python, "-I", "-m", "bylaw", "hook", host, event])


def grouped(host: str, python: str, *, unit: int = 1) -> Sequence[HookEntry]:
    """Return groups of hooks by event, the format of Claude Code.

    A group without a matcher is for all tools.
    """
    entries = []
    for event in adapter_named(host).moments:
        hook: dict[str, JSON] = {"type": "command", "command": command(host, event, python)}
        hook["timeout"] = _wait_s(event) * unit
        if host == CLAUDE and is_gate(host, event):
            hook["onFailure"] = "block"
        entries.append(HookEntry((HOOKS, event), {HOOKS: [hook]}))
    return entries


def grouped_ms(host: str, python: str) -> Sequence[HookEntry]:
    """Return the same with timeouts in milliseconds."""
    return grouped(host, python, unit=_MS)


def for_copilot(host: str, python: str) -> Sequence[HookEntry]:
    """Return hooks by event, without groups."""
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
    """Return hooks by event, without groups; gates fail closed."""
    entries = []
    for event in adapter_named(host).moments:
        hook: dict[str, JSON] = {"command": command(host, event, python)}
        hook["timeout"] = _wait_s(event)
        if is_gate(host, event):
            hook["failClosed"] = True
        entries.append(HookEntry((HOOKS, event), hook))
    return entries


def for_opencode(_host: str, python: str) -> Sequence[HookEntry]:
    """Return our plugin, with the interpreter that runs Bylaw as its option."""
    where = quote(str(files("bylaw.hosts.hooks.install") / PLUGIN_FILE))
    return [HookEntry((PLUGIN,), [f"file://{where}", {PLUGIN_PYTHON: python}])]


def _wait_s(event: str) -> int:
    return _END_S if event in ENDS else int(patience_s(event)) + _LONGER_S


def in_groups(host: str) -> Finder:
    """Return a finder of hooks in groups that call Bylaw, each with its command."""

    def found(document: Document) -> Iterator[tuple[Path, str]]:
        for path, group in _listed(document):
            hooks = group.child(HOOKS)
            for index, hook in enumerate(hooks.children if hooks and hooks.is_list else ()):
                line = _call(host, document, hook)
                if line:
                    yield (*path, HOOKS, index), line

    return lambda document: list(found(document))


def by_event(host: str) -> Finder:
    """Return a finder of hooks outside groups that call Bylaw, each with its command."""
    return lambda document: [
        (path, line) for path, hook in _listed(document) if (line := _call(host, document, hook))
    ]


def as_plugin(_host: str) -> Finder:
    """Return a finder of our plugin, with or without options."""

    def found(document: Document) -> Iterator[tuple[Path, str]]:
        plugins = document.root.child(PLUGIN)
        for index, one in enumerate(plugins.children if plugins and plugins.is_list else ()):
            value = document.plain(one)
            name = value[0] if isinstance(value, list) and value else value
            if isinstance(name, str) and name.endswith(_PLUGIN_END):
                yield (PLUGIN, index), name

    return lambda document: list(found(document))


def hook_sets(host: str, entries: Entries, callers: Finder) -> Sets:
    """Return a function that finds interpreters in commands of our form.

    For each of them it returns the entries of an installation with that interpreter.
    """

    def sets(document: Document) -> list[Sequence[HookEntry]]:
        named = (_INSTALLED.fullmatch(line) for _, line in callers(document))
        pythons = dict.fromkeys(shlex.split(one["python"])[0] for one in named if one)
        return [entries(host, python) for python in pythons]

    return sets


def plugin_sets(_host: str, _entries: Entries, callers: Finder) -> Sets:
    """Return a function that finds our plugin with the options of an installation.

    One such entry is a complete set, wherever Bylaw is installed.
    """

    def sets(document: Document) -> list[Sequence[HookEntry]]:
        nodes = (document.at(path) for path, _ in callers(document))
        values = [document.plain(node) for node in nodes if node is not None]
        different = [one for at, one in enumerate(values) if one not in values[:at]]
        return [[HookEntry((PLUGIN,), one)] for one in different if _is_told_python(one)]

    return sets


def _is_told_python(plugin: JSON) -> bool:
    """Whether a plugin entry has the options that Bylaw writes, and no others."""
    options = plugin[1] if isinstance(plugin, list) and len(plugin) == 2 else None  # noqa: PLR2004 - a pair
    return isinstance(options, dict) and options.keys() == {PLUGIN_PYTHON}


def _listed(document: Document) -> Iterator[tuple[Path, Node]]:
    """Yield the elements of the lists below `hooks`, with their paths."""
    hooks = document.root.child(HOOKS)
    for event in hooks.children if hooks and hooks.is_object else ():
        for index, one in enumerate(event.children if event.is_list else ()):
            yield (HOOKS, event.key, index), one


def _call(host: str, document: Document, hook: Node) -> str:
    """Return the command of a hook if it only calls `bylaw hook`, otherwise an empty text."""
    line = next((one for key in COMMAND_KEYS if (one := hook.child(key))), None)
    said = "" if line is None else document.plain(line)
    ours = rf"(?:{_PYTHON} -I -m bylaw|{_PROGRAM}) hook {re.escape(host)}(?: [A-Za-z.]+)?\s*"
    is_call = isinstance(said, str) and re.fullmatch(ours, said, re.ASCII)
    return str(said) if is_call else ""
