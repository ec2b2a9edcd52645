"""A client whose hooks are installed → what a person still has to do, step by step."""

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
    """What a person does lest events are judged twice; whether they certainly are."""

    step: str
    certain: bool = True


def steps(client: Client, scope: Scope, root: str, python: str) -> list[str]:
    """The steps in their order."""
    found = [f"end sessions of {client.title} that run now: they go on without hooks"]
    found += [switch_step(one) for one in switched_off(client, root)]
    if scope is Scope.PROJECT:
        found += client.in_project
    found += client.steps
    if client.node:
        found.append(node_step(client))
    if scope is Scope.PROJECT:
        shown = visible(file_of(client, scope, root).shown)
        found.append(
            f"keep `{shown}` out of commits, or tell others: it names the interpreter of this "
            f"machine, so everybody calls `bylaw install {client.host}` for themselves"
        )
    return [*found, *(one.step for one in judged_twice(client, scope, root, python))]


def node_step(client: Client) -> str:
    """How a person finds out about node."""
    return f"look whether `node --version` says {client.node} or newer: {client.title} needs it"


def switch_step(off: SwitchedOff) -> str:
    """How a person gets hooks to run again."""
    said = "true" if off.switch.off else "false"
    return (
        f"take `{off.switch.name}` out of `{visible(off.file)}`: as long as it is {said}, "
        "no hook is run"
    )


def judged_twice(client: Client, scope: Scope, root: str, python: str) -> list[Twice]:
    """What to do where an event would come to us in more than one way."""
    other = Scope.USER if scope is Scope.PROJECT else Scope.PROJECT
    found = []
    there = hooks_in(client, other, root, python)
    if there:
        why = f"hooks are in `{visible(there)}` too, and every event would be judged twice"
        way = f"call `bylaw uninstall {client.host} --{other}`"
        if not _can_be_removed(client, other, root, python):
            way = "take out what calls Bylaw there"
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
    why = f"{runs if guest.always else f'else {runs}'}, and every event of it would be judged twice"
    return Twice(f"{way}: {why}", certain=guest.always)


def hooks_in(client: Client, scope: Scope, root: str, python: str) -> str:
    """The file that holds hooks that call us; empty if there is none that can be read."""
    return _file_where(calls_us, client, scope, root, python)


def set_in(client: Client, scope: Scope, root: str, python: str) -> str:
    """The same of a whole set of hooks, or one that was installed."""
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
    """Whether there is something that `bylaw uninstall` would take out."""
    with suppress(BylawError):
        return to_remove(client, scope, root, python).changed
    return False
