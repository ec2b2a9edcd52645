"""What a person still has to do after hooks are installed, and offers to install them.

Used by `bylaw install`, `bylaw init` and `bylaw doctor`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.hosts.hooks.install.config_file import Scope, find_config_file, find_disabled_hooks
from bylaw.hosts.hooks.install.detect import find_clients
from bylaw.hosts.hooks.install.entries import calls_bylaw, has_set, own_hook_steps
from bylaw.hosts.hooks.install.forms import CLAUDE_HOOK_READERS, CLIENTS
from bylaw.hosts.hooks.install.install import carry_out, plan_install, plan_removal
from bylaw.model.display import visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.hooks.install.config_file import DisabledHooks
    from bylaw.hosts.hooks.install.entries import EntryPlan
    from bylaw.hosts.hooks.install.forms import ClaudeHookReader, Client
    from bylaw.hosts.hooks.install.install import ConfigChange
    from bylaw.model.source import SourceFile


class DuplicateHooks(NamedTuple):
    """A step that keeps events from being decided twice.

    `certain` is False if settings of the client can prevent that, too.
    """

    step: str
    certain: bool = True


def remaining_steps(client: Client, scope: Scope, root: str, python: str) -> list[str]:
    """Return the steps in their order."""
    found = [f"restart running sessions of {client.title}: they have no hooks yet"]
    found += [switch_step(one) for one in find_disabled_hooks(client, root)]
    if scope is Scope.PROJECT:
        found += client.in_project
    found += client.steps
    if client.node:
        found.append(node_step(client))
    if scope is Scope.PROJECT:
        shown = visible(find_config_file(client, scope, root).shown)
        found.append(
            f"do not commit `{shown}`, or tell others to run `bylaw install {client.host}` "
            "themselves: it names the interpreter of this machine"
        )
    return [*found, *(one.step for one in find_duplicates(client, scope, root, python))]


def node_step(client: Client) -> str:
    """Return how a person checks the version of node."""
    return f"check that `node --version` prints {client.node} or newer: {client.title} needs it"


def switch_step(off: DisabledHooks) -> str:
    """Return how a person enables hooks again."""
    said = "true" if off.switch.off else "false"
    return (
        f"remove `{off.switch.name}` from `{visible(off.file)}`: while it is {said}, "
        "the client runs no hooks"
    )


def find_duplicates(client: Client, scope: Scope, root: str, python: str) -> list[DuplicateHooks]:
    """Return what to do if hooks in more than one place would send an event to Bylaw."""
    other = Scope.USER if scope is Scope.PROJECT else Scope.PROJECT
    found = []
    there = file_with_hooks(client, other, root, python)
    if there:
        why = f"hooks are also in `{visible(there)}`, so every event would be decided twice"
        way = f"run `bylaw uninstall {client.host} --{other}`"
        if not _can_be_removed(client, other, root, python):
            way = "remove the other hooks that call Bylaw"
        found.append(DuplicateHooks(f"{way}: {why}"))
    if client.guest is not None:
        places = (file_with_hooks(CLIENTS[CLAUDE], one, root, python) for one in Scope)
        found += [_guest_step(client, client.guest, scope, one) for one in places if one][:1]
    if client.host == CLAUDE:
        here = visible(find_config_file(client, scope, root).shown)
        for host, guest in CLAUDE_HOOK_READERS.items():
            scopes = (one for one in Scope if file_with_hooks(CLIENTS[host], one, root, python))
            found += [_guest_step(CLIENTS[host], guest, one, here) for one in scopes]
    return found


def _guest_step(client: Client, guest: ClaudeHookReader, scope: Scope, file: str) -> DuplicateHooks:
    way = guest.way.format(scope=scope)
    runs = f"{client.title} also runs the hooks for Claude Code in `{visible(file)}`"
    why = f"{runs if guest.always else f'otherwise {runs}'}, so its events would be decided twice"
    return DuplicateHooks(f"{way}: {why}", certain=guest.always)


def file_with_hooks(client: Client, scope: Scope, root: str, python: str) -> str:
    """Return the file that has hooks that call Bylaw; empty without a readable one."""
    return _file_where(calls_bylaw, client, scope, root, python)


def file_with_set(client: Client, scope: Scope, root: str, python: str) -> str:
    """Return the file that has a complete set of hooks, or hooks that Bylaw installed."""
    if _can_be_removed(client, scope, root, python):
        return find_config_file(client, scope, root).shown
    return _file_where(has_set, client, scope, root, python)


def _file_where(
    holds: Callable[[SourceFile, EntryPlan], bool],
    client: Client,
    scope: Scope,
    root: str,
    python: str,
) -> str:
    with suppress(BylawError):
        file = find_config_file(client, scope, root)
        data = file.content()
        if data is not None and holds(file.source(data), client.wanted_entries(python)):
            return file.shown
    return ""


def _can_be_removed(client: Client, scope: Scope, root: str, python: str) -> bool:
    """Whether `bylaw uninstall` would change the file."""
    with suppress(BylawError):
        return plan_removal(client, scope, root, python).changed
    return False


class HookOffer(Struct):
    """A client, the trace by which it was `found`, and the planned change of its file.

    `problem` says why hooks cannot be installed. Without a change and a problem, the hooks in the
    file are sufficient.
    """

    client: Client
    found: str
    path: str
    scope: Scope = Scope.PROJECT
    change: ConfigChange | None = None
    problem: str = ""

    @property
    def is_new(self) -> bool:
        """Whether hooks can and need to be installed."""
        return self.change is not None and self.change.changed and not self.problem

    def accept(self) -> None:
        """Install the hooks. A failure becomes `problem`; it does not affect other clients."""
        assert self.change is not None, "only new offers are accepted"
        try:
            carry_out(self.change)
        except BylawError as wrong:
            self.problem = _error_text(wrong)

    def steps(self, root: str, python: str) -> list[str]:
        """Return what a person still has to do."""
        about_own = own_hook_steps(self.change.own, self.path) if self.change else []
        return [*remaining_steps(self.client, self.scope, root, python), *about_own]


def find_offers(root: str, python: str) -> list[HookOffer]:
    """Return an offer for each client that is found.

    Raises BylawError if the root cannot have hooks for any client.
    """
    found = find_clients(root)
    if CLAUDE in found:
        for host, guest in CLAUDE_HOOK_READERS.items():
            if guest.always:  # it runs the hooks for Claude Code; more would decide events twice
                found.pop(host, None)
    return [_make_offer(CLIENTS[host], why, root, python) for host, why in found.items()]


def _make_offer(client: Client, found: str, root: str, python: str) -> HookOffer:
    there = file_with_set(client, Scope.USER, root, python)
    if there:
        return HookOffer(client, found, there, Scope.USER)
    offer = HookOffer(client, found, find_config_file(client, Scope.PROJECT, root).shown)
    try:
        offer.change = plan_install(client, Scope.PROJECT, root, python)
    except BylawError as wrong:
        offer.problem = _error_text(wrong)
    return offer


def _error_text(wrong: BylawError) -> str:
    return wrong.headline if isinstance(wrong, LoadError) else str(wrong)
