"""The clients as data: the form of their configuration, and what a person has to do.

The paths of their configuration files are in `PLACES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.install import forms
from bylaw.hosts.hooks.install.entries import WantedEntries
from bylaw.hosts.hooks.install.json_text import STRICT, Form
from bylaw.runtime import effects
from bylaw.runtime.client_places import PLACES
from bylaw.runtime.effects import ABILITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.hosts.hooks.install.forms import Entries, Finder, Sets
    from bylaw.model.values import JSON
    from bylaw.runtime.client_places import ClientPlaces

# Tested with the real clients, as far as they run here. For the others, strict JSON is assumed.
MARKED = Form(mark=True)
COMMENTS = Form(comments=True)


class Guest(Struct, frozen=True, kw_only=True):
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
    sets: Callable[[str, Entries, Finder], Sets] = forms.hook_sets
    form: Form = STRICT
    top: tuple[tuple[str, JSON], ...] = ()
    steps: tuple[str, ...] = ()
    in_project: tuple[str, ...] = ()
    node: int = 0
    equal_once: bool = False
    guest: Guest | None = None

    @property
    def title(self) -> str:
        """The name shown to people."""
        return ABILITIES[self.host].title

    @property
    def places(self) -> ClientPlaces:
        """Where its configuration files are."""
        return PLACES[self.host]

    def wanted_entries(self, python: str) -> WantedEntries:
        """Return the entries that its file needs for hooks that this interpreter runs."""
        callers = self.callers(self.host)
        return WantedEntries(
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
            form=MARKED,
            entries=forms.grouped,
            callers=forms.in_groups,
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
            entries=forms.grouped,
            callers=forms.in_groups,
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
            form=COMMENTS,
            entries=forms.grouped_ms,
            callers=forms.in_groups,
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
            form=Form(comments=True, mark=True),
            entries=forms.grouped_ms,
            callers=forms.in_groups,
            traces=(".qwen", "QWEN.md"),
            programs=("qwen",),
            node=22,
        ),
        Client(
            host=effects.COPILOT,
            entries=forms.for_copilot,
            callers=forms.by_event,
            traces=(".github/hooks", ".github/copilot", ".github/copilot-instructions.md"),
            programs=("copilot",),
            guest=Guest(
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
            form=COMMENTS,
            entries=forms.grouped,
            callers=forms.in_groups,
            traces=(".factory",),
            programs=("droid",),
        ),
        Client(
            host=effects.OPENCODE,
            form=Form(comments=True, last_commas=True, mark=True),
            entries=forms.for_opencode,
            callers=forms.as_plugin,
            sets=forms.plugin_sets,
            traces=("opencode.json", "opencode.jsonc", ".opencode"),
            programs=("opencode",),
        ),
        Client(
            host=effects.CURSOR,
            entries=forms.for_cursor,
            callers=forms.by_event,
            traces=(".cursor", ".cursorrules"),
            programs=("cursor", "cursor-agent"),
            guest=Guest(
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
GUESTS: Mapping[str, Guest] = {
    host: client.guest for host, client in CLIENTS.items() if client.guest is not None
}
