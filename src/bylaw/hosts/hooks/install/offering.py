"""Offer to install hooks for the clients that are used in a root."""

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
            self.problem = _words(wrong)

    def steps(self, root: str, python: str) -> list[str]:
        """Return what a person still has to do."""
        about_own = own_hook_steps(self.change.own, self.path) if self.change else []
        return [*steps(self.client, self.scope, root, python), *about_own]


def offers(root: str, python: str) -> list[HookOffer]:
    """Return an offer for each client that is found.

    Raises BylawError if the root cannot have hooks for any client.
    """
    found = clients_of(root)
    if CLAUDE in found:
        for host, guest in GUESTS.items():
            if guest.always:  # it runs the hooks for Claude Code; more would decide events twice
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
