"""A root → hooks for the clients that somebody uses there, as they could be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.install.clients import CLIENTS, GUESTS
from bylaw.hosts.hooks.install.installing import carry_out, to_install
from bylaw.hosts.hooks.install.looking import clients_of
from bylaw.hosts.hooks.install.own_hooks import own_hook_steps
from bylaw.hosts.hooks.install.places import Scope, file_of
from bylaw.hosts.hooks.install.steps import set_in, steps
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from bylaw.hosts.hooks.install.clients import Client
    from bylaw.hosts.hooks.install.installing import ConfigChange


class HookOffer(Struct):
    """A client, what tells of it, and what would become of its file; `problem`: why nothing can.

    Without a change or a problem, the hooks in that file are enough.
    """

    client: Client
    found: str
    path: str
    scope: Scope = Scope.PROJECT
    change: ConfigChange | None = None
    problem: str = ""

    @property
    def is_new(self) -> bool:
        """Whether hooks are still to be installed."""
        return self.change is not None and self.change.changed and not self.problem

    def accept(self) -> None:
        """Install them; a problem of one client spares the others."""
        assert self.change is not None, "only what is new is accepted"
        try:
            carry_out(self.change)
        except BylawError as wrong:
            self.problem = _words(wrong)

    def steps(self, root: str, python: str) -> list[str]:
        """What a person still has to do."""
        about_own = own_hook_steps(self.change.own, self.path) if self.change else []
        return [*steps(self.client, self.scope, root, python), *about_own]


def offers(root: str, python: str) -> list[HookOffer]:
    """One for each client that is found; BylawError if hooks can be installed for none."""
    found = clients_of(root)
    if CLAUDE in found:
        for host, guest in GUESTS.items():
            if guest.always:  # it runs hooks for Claude Code, and others would judge twice
                found.pop(host, None)
    return [_offer(CLIENTS[host], why, root, python) for host, why in found.items()]


def _offer(client: Client, found: str, root: str, python: str) -> HookOffer:
    there = set_in(client, Scope.USER, root, python)
    if there:
        return HookOffer(client, found, there, Scope.USER)
    offer = HookOffer(client, found, file_of(client, Scope.PROJECT, root).shown)
    try:
        offer.change = to_install(client, Scope.PROJECT, root, python)
    except BylawError as wrong:
        offer.problem = _words(wrong)
    return offer


def _words(wrong: BylawError) -> str:
    return wrong.headline if isinstance(wrong, LoadError) else str(wrong)
