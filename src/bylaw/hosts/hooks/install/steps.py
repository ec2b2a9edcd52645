"""What a person still has to do after hooks are installed in a client."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.install.clients import CLIENTS, GUESTS
from bylaw.hosts.hooks.install.entries import calls_us, has_set
from bylaw.hosts.hooks.install.hook_switches import switched_off
from bylaw.hosts.hooks.install.installing import to_remove
from bylaw.hosts.hooks.install.places import Scope, file_of
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.hooks.install.clients import Client, Guest
    from bylaw.hosts.hooks.install.entries import WantedEntries
    from bylaw.hosts.hooks.install.hook_switches import SwitchedOff
    from bylaw.model.source import SourceFile


class Twice(NamedTuple):
    """A step that keeps events from being decided twice.

    `certain` is False if settings of the client can prevent that, too.
    """

    step: str
    certain: bool = True


def steps(client: Client, scope: Scope, root: str, python: str) -> list[str]:
    """Return the steps in their order."""
    found = [f"restart running sessions of {client.title}: they have no hooks yet"]
    found += [switch_step(one) for one in switched_off(client, root)]
    if scope is Scope.PROJECT:
        found += client.in_project
    found += client.steps
    if client.node:
        found.append(node_step(client))
    if scope is Scope.PROJECT:
        shown = visible(file_of(client, scope, root).shown)
        found.append(
            f"do not commit `{shown}`, or tell others to run `bylaw install {client.host}` "
            "themselves: it names the interpreter of this machine"
        )
    return [*found, *(one.step for one in judged_twice(client, scope, root, python))]


def node_step(client: Client) -> str:
    """Return how a person checks the version of node."""
    return f"check that `node --version` prints {client.node} or newer: {client.title} needs it"


def switch_step(off: SwitchedOff) -> str:
    """Return how a person enables hooks again."""
    said = "true" if off.switch.off else "false"
    return (
        f"remove `{off.switch.name}` from `{visible(off.file)}`: while it is {said}, "
        "the client runs no hooks"
    )


def judged_twice(client: Client, scope: Scope, root: str, python: str) -> list[Twice]:
    """Return what to do if hooks in more than one place would send an event to Bylaw."""
    other = Scope.USER if scope is Scope.PROJECT else Scope.PROJECT
    found = []
    there = hooks_in(client, other, root, python)
    if there:
        why = f"hooks are also in `{visible(there)}`, so every event would be decided twice"
        way = f"run `bylaw uninstall {client.host} --{other}`"
        if not _can_be_removed(client, other, root, python):
            way = "remove the other hooks that call Bylaw"
        found.append(Twice(f"{way}: {why}"))
    if client.guest is not None:
        places = (hooks_in(CLIENTS[CLAUDE], one, root, python) for one in Scope)
        found += [_guest_step(client, client.guest, scope, one) for one in places if one][:1]
    if client.host == CLAUDE:
        here = visible(file_of(client, scope, root).shown)
        for host, guest in GUESTS.items():
            scopes = (one for one in Scope if hooks_in(CLIENTS[host], one, root, python))
            found += [_guest_step(CLIENTS[host], guest, one, here) for one in scopes]
    return found


def _guest_step(client: Client, guest: Guest, scope: Scope, file: str) -> Twice:
    way = guest.way.format(scope=scope)
    runs = f"{client.title} also runs the hooks for Claude Code in `{visible(file)}`"
    why = f"{runs if guest.always else f'otherwise {runs}'}, so its events would be decided twice"
    return Twice(f"{way}: {why}", certain=guest.always)


def hooks_in(client: Client, scope: Scope, root: str, python: str) -> str:
    """Return the file that has hooks that call Bylaw; empty without a readable one."""
    return _file_where(calls_us, client, scope, root, python)


def set_in(client: Client, scope: Scope, root: str, python: str) -> str:
    """Return the file that has a complete set of hooks, or hooks that Bylaw installed."""
    if _can_be_removed(client, scope, root, python):
        return file_of(client, scope, root).shown
    return _file_where(has_set, client, scope, root, python)


def _file_where(
    holds: Callable[[SourceFile, WantedEntries], bool],
    client: Client,
    scope: Scope,
    root: str,
    python: str,
) -> str:
    with suppress(BylawError):
        file = file_of(client, scope, root)
        data = file.content()
        if data is not None and holds(file.source(data), client.wanted_entries(python)):
            return file.shown
    return ""


def _can_be_removed(client: Client, scope: Scope, root: str, python: str) -> bool:
    """Whether `bylaw uninstall` would change the file."""
    with suppress(BylawError):
        return to_remove(client, scope, root, python).changed
    return False
