"""The clients as data, and the form of their hook entries.

Says for each client how our entries look, how hooks that call Bylaw are found, and what a person
has to do. Also finds the interpreter that clients start, and checks that it finds Bylaw by itself.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from importlib.resources import files
from os import fsencode
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.fail_closed import SESSION_END_NAMES, is_gate, patience_s
from bylaw.hosts.clients.places import PLACES
from bylaw.hosts.hooks.install.entries import HOOKS, EntryPlan, HookEntry
from bylaw.hosts.hooks.install.json_edit import STRICT, JsonDialect
from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.runtime import effects
from bylaw.runtime.effects import ABILITIES, CLAUDE
from bylaw.runtime.sandbox.command import Process
from bylaw.store.paths import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from bylaw.hosts.clients.places import ClientPlaces
    from bylaw.hosts.hooks.install.json_edit import JsonDocument, JsonNode, JsonPath
    from bylaw.model.values import JSON

    Entries: TypeAlias = Callable[[str, str], Sequence[HookEntry]]
    Finder: TypeAlias = Callable[[JsonDocument], list[tuple[JsonPath, str]]]
    Sets: TypeAlias = Callable[[JsonDocument], list[Sequence[HookEntry]]]


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
_INSTALLED_COMMAND = re.compile(rf"(?P<python>{_PYTHON}) -I -m bylaw hook .*", re.ASCII)


def hook_command(host: str, event: str, python: str) -> str:
    """Return the shell command that a client starts at an event."""
    return shlex.join([python, "-I", "-m", "bylaw", "hook", host, event])


def grouped_hooks(host: str, python: str, *, unit: int = 1) -> Sequence[HookEntry]:
    """Return groups of hooks by event, the format of Claude Code.

    A group without a matcher is for all tools.
    """
    entries = []
    for event in load_adapter(host).moments:
        hook: dict[str, JSON] = {"type": "command", "command": hook_command(host, event, python)}
        hook["timeout"] = _wait_s(event) * unit
        if host == CLAUDE and is_gate(host, event):
            hook["onFailure"] = "block"
        entries.append(HookEntry((HOOKS, event), {HOOKS: [hook]}))
    return entries


def grouped_hooks_ms(host: str, python: str) -> Sequence[HookEntry]:
    """Return the same with timeouts in milliseconds."""
    return grouped_hooks(host, python, unit=_MS)


def copilot_hooks(host: str, python: str) -> Sequence[HookEntry]:
    """Return hooks by event, without groups."""
    return [
        HookEntry(
            (HOOKS, event),
            {
                "type": "command",
                "bash": hook_command(host, event, python),
                "timeoutSec": _wait_s(event),
            },
        )
        for event in load_adapter(host).moments
    ]


def cursor_hooks(host: str, python: str) -> Sequence[HookEntry]:
    """Return hooks by event, without groups; gates fail closed."""
    entries = []
    for event in load_adapter(host).moments:
        hook: dict[str, JSON] = {"command": hook_command(host, event, python)}
        hook["timeout"] = _wait_s(event)
        if is_gate(host, event):
            hook["failClosed"] = True
        entries.append(HookEntry((HOOKS, event), hook))
    return entries


def opencode_plugin(_host: str, python: str) -> Sequence[HookEntry]:
    """Return our plugin, with the interpreter that runs Bylaw as its option."""
    where = quote(str(files("bylaw.hosts.hooks.install") / PLUGIN_FILE))
    return [HookEntry((PLUGIN,), [f"file://{where}", {PLUGIN_PYTHON: python}])]


def _wait_s(event: str) -> int:
    return _END_S if event in SESSION_END_NAMES else int(patience_s(event)) + _LONGER_S


def find_in_groups(host: str) -> Finder:
    """Return a finder of hooks in groups that call Bylaw, each with its command."""

    def found(document: JsonDocument) -> Iterator[tuple[JsonPath, str]]:
        for path, group in _list_elements(document):
            hooks = group.child(HOOKS)
            for index, hook in enumerate(hooks.children if hooks and hooks.is_list else ()):
                line = _bylaw_command(host, document, hook)
                if line:
                    yield (*path, HOOKS, index), line

    return lambda document: list(found(document))


def find_by_event(host: str) -> Finder:
    """Return a finder of hooks outside groups that call Bylaw, each with its command."""
    return lambda document: [
        (path, line)
        for path, hook in _list_elements(document)
        if (line := _bylaw_command(host, document, hook))
    ]


def find_plugin(_host: str) -> Finder:
    """Return a finder of our plugin, with or without options."""

    def found(document: JsonDocument) -> Iterator[tuple[JsonPath, str]]:
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

    def sets(document: JsonDocument) -> list[Sequence[HookEntry]]:
        named = (_INSTALLED_COMMAND.fullmatch(line) for _, line in callers(document))
        pythons = dict.fromkeys(shlex.split(one["python"])[0] for one in named if one)
        return [entries(host, python) for python in pythons]

    return sets


def plugin_sets(_host: str, _entries: Entries, callers: Finder) -> Sets:
    """Return a function that finds our plugin with the options of an installation.

    One such entry is a complete set, wherever Bylaw is installed.
    """

    def sets(document: JsonDocument) -> list[Sequence[HookEntry]]:
        nodes = (document.at(path) for path, _ in callers(document))
        values = [document.plain(node) for node in nodes if node is not None]
        different = [one for at, one in enumerate(values) if one not in values[:at]]
        return [[HookEntry((PLUGIN,), one)] for one in different if _has_python_option(one)]

    return sets


def _has_python_option(plugin: JSON) -> bool:
    """Whether a plugin entry has the options that Bylaw writes, and no others."""
    options = plugin[1] if isinstance(plugin, list) and len(plugin) == 2 else None  # noqa: PLR2004 - a pair
    return isinstance(options, dict) and options.keys() == {PLUGIN_PYTHON}


def _list_elements(document: JsonDocument) -> Iterator[tuple[JsonPath, JsonNode]]:
    """Yield the elements of the lists below `hooks`, with their paths."""
    hooks = document.root.child(HOOKS)
    for event in hooks.children if hooks and hooks.is_object else ():
        for index, one in enumerate(event.children if event.is_list else ()):
            yield (HOOKS, event.key, index), one


def _bylaw_command(host: str, document: JsonDocument, hook: JsonNode) -> str:
    """Return the command of a hook if it only calls `bylaw hook`, otherwise an empty text."""
    line = next((one for key in COMMAND_KEYS if (one := hook.child(key))), None)
    said = "" if line is None else document.plain(line)
    ours = rf"(?:{_PYTHON} -I -m bylaw|{_PROGRAM}) hook {re.escape(host)}(?: [A-Za-z.]+)?\s*"
    is_call = isinstance(said, str) and re.fullmatch(ours, said, re.ASCII)
    return str(said) if is_call else ""


# Tested with the real clients, as far as they run here. For the others, strict JSON is assumed.
WITH_BOM = JsonDialect(mark=True)
WITH_COMMENTS = JsonDialect(comments=True)


class ClaudeHookReader(Struct, frozen=True, kw_only=True):
    """How a client also runs the hooks for Claude Code: `always`, or only if a person enables it.

    The client sets `variable` for hooks, which identifies it. `way` is what a person does to stop
    it; the text may contain `{scope}`.
    """

    variable: str
    always: bool
    way: str


class Client(Struct, frozen=True, kw_only=True):
    """One client.

    `entries` makes our hooks. `callers` finds hooks that call Bylaw, and `sets` returns the
    complete sets that these could be part of. The client is used in a root if one of `traces` is
    there or one of `programs` is on the search path. `steps` are what a person has to do;
    `in_project` only for hooks of a project. `node` is the version of node that the client needs, 0
    if it brings its own or takes any. `equal_once` says that it runs equal commands at one event
    only once.
    """

    host: str
    entries: Entries
    callers: Callable[[str], Finder]
    traces: tuple[str, ...]
    programs: tuple[str, ...]
    sets: Callable[[str, Entries, Finder], Sets] = hook_sets
    form: JsonDialect = STRICT
    top: tuple[tuple[str, JSON], ...] = ()
    steps: tuple[str, ...] = ()
    in_project: tuple[str, ...] = ()
    node: int = 0
    equal_once: bool = False
    guest: ClaudeHookReader | None = None

    @property
    def title(self) -> str:
        """The name shown to people."""
        return ABILITIES[self.host].title

    @property
    def places(self) -> ClientPlaces:
        """Where its configuration files are."""
        return PLACES[self.host]

    def wanted_entries(self, python: str) -> EntryPlan:
        """Return the entries that its file needs for hooks that this interpreter runs."""
        callers = self.callers(self.host)
        return EntryPlan(
            form=self.form,
            entries=self.entries(self.host, python),
            callers=callers,
            sets=self.sets(self.host, self.entries, callers),
            top=dict(self.top),
        )


CLIENTS: Mapping[str, Client] = {
    one.host: one
    for one in (
        Client(
            host=effects.CLAUDE,
            form=WITH_BOM,
            entries=grouped_hooks,
            callers=find_in_groups,
            equal_once=True,
            traces=(".claude", "CLAUDE.md"),
            programs=("claude",),
            in_project=(
                (
                    "start `claude` in this folder once and trust the folder: "
                    "until then, it runs no hooks in a conversation"
                ),
            ),
        ),
        Client(
            host=effects.CODEX,
            entries=grouped_hooks,
            callers=find_in_groups,
            traces=(".codex",),
            programs=("codex",),
            steps=(
                (
                    "start `codex`, type `/hooks` and trust each hook of Bylaw: Codex silently "
                    "skips hooks that you have not trusted or that changed since"
                ),
            ),
            in_project=("start `codex` in this folder and trust the project",),
        ),
        Client(
            host=effects.GEMINI,
            form=WITH_COMMENTS,
            entries=grouped_hooks_ms,
            callers=find_in_groups,
            equal_once=True,
            traces=(".gemini", "GEMINI.md"),
            programs=("gemini",),
            in_project=(
                (
                    "start `gemini` in this folder and trust it, or type `/permissions`; for "
                    "unattended runs, set `GEMINI_CLI_TRUST_WORKSPACE=true`"
                ),
            ),
        ),
        Client(
            host=effects.QWEN,
            form=JsonDialect(comments=True, mark=True),
            entries=grouped_hooks_ms,
            callers=find_in_groups,
            traces=(".qwen", "QWEN.md"),
            programs=("qwen",),
            node=22,
        ),
        Client(
            host=effects.COPILOT,
            entries=copilot_hooks,
            callers=find_by_event,
            traces=(".github/hooks", ".github/copilot", ".github/copilot-instructions.md"),
            programs=("copilot",),
            guest=ClaudeHookReader(
                variable="COPILOT_CLI",
                always=True,
                way="run `bylaw uninstall copilot --{scope}`",
            ),
            top=(("version", 1),),
            in_project=(
                (
                    "start `copilot` in this folder and choose to trust it permanently: `copilot "
                    "-p` silently loads no hooks from a folder that is not trusted; hooks of "
                    "`bylaw install copilot --user` need no trust"
                ),
            ),
        ),
        Client(
            host=effects.DROID,
            form=WITH_COMMENTS,
            entries=grouped_hooks,
            callers=find_in_groups,
            traces=(".factory",),
            programs=("droid",),
        ),
        Client(
            host=effects.OPENCODE,
            form=JsonDialect(comments=True, last_commas=True, mark=True),
            entries=opencode_plugin,
            callers=find_plugin,
            sets=plugin_sets,
            traces=("opencode.json", "opencode.jsonc", ".opencode"),
            programs=("opencode",),
        ),
        Client(
            host=effects.CURSOR,
            entries=cursor_hooks,
            callers=find_by_event,
            traces=(".cursor", ".cursorrules"),
            programs=("cursor", "cursor-agent"),
            guest=ClaudeHookReader(
                variable="CURSOR_VERSION",
                always=False,  # only if third-party configurations are enabled
                way="disable third-party configurations in the settings of Cursor",
            ),
            top=(("version", 1),),
            in_project=("open this folder in Cursor and trust the workspace",),
        ),
    )
}
# Clients that also run the hooks for Claude Code.
CLAUDE_HOOK_READERS: Mapping[str, ClaudeHookReader] = {
    host: client.guest for host, client in CLIENTS.items() if client.guest is not None
}


_PATIENCE_S = 30.0
# Some clients replace variables in the texts of their settings, even in quotes.
_PLACEHOLDERS = frozenset("${")


def interpreter() -> str:
    """Return the absolute path of the interpreter that runs Bylaw.

    Raises BylawError if the path cannot be written into a configuration.
    """
    path = as_text(fsencode(sys.executable or ""))
    if not path.startswith("/") or not path.isprintable() or _PLACEHOLDERS.intersection(path):
        raise BylawError(f"`{visible(path)}` is not a path that clients can start")
    return path


def check_interpreter(path: str) -> None:
    """Raise BylawError if an interpreter does not find Bylaw without our environment."""
    process = Process([path, "-I", "-m", "bylaw", "--version"])
    try:
        process.hang_up()
        code = process.exit_code(time.monotonic() + _PATIENCE_S)
    except OSError:
        code = 1
    finally:
        process.kill()
    if code:
        raise BylawError(
            f"`{visible(path)} -I -m bylaw` does not start, so clients cannot run it; "
            "install Bylaw in an environment of its own, for example with `pipx` or `venv`"
        )
