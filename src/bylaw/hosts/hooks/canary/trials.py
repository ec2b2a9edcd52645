"""Test each client that is installed, and report why the others were not tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.canary.clients import TRIED, client_named
from bylaw.hosts.hooks.canary.trial import try_client
from bylaw.hosts.hooks.client_programs import NoProgramError, programs_of
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.runtime.effects import TITLES
from bylaw.runtime.reading import in_plain_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.hosts.hooks.canary.trial import Trial


class Tried(Struct, frozen=True):
    """The result for one client. If it was not tested, `trial` is None and `why` is the reason."""

    host: str
    version: str = ""
    trial: Trial | None = None
    why: str = ""

    @property
    def title(self) -> str:
        """The name that people know."""
        return TITLES[self.host]

    @property
    def ending(self) -> str:
        """How the client exited, as text."""
        code = self.trial.ran.exit_code if self.trial else None
        return "killed after the time limit" if code is None else f"exit code {code}"


def try_clients(hosts: Sequence[str], tell: Callable[[str], None]) -> list[Tried]:
    """Test the clients one after the other. `tell` receives texts about the progress."""
    tell("reading the versions of clients")
    programs = programs_of(CLIENTS[host] for host in hosts)
    versions = {host: one.version for host, one in programs.items()}
    found = []
    for host in hosts:
        tell(f"testing {TITLES[host]}")
        found.append(_tried(host, versions.get(host, "")))
    return found


def _tried(host: str, version: str) -> Tried:
    if host not in TRIED:
        return Tried(host, version, why="cannot be tested: it needs a server of its own")
    try:
        return Tried(host, version, try_client(client_named(host)))
    except NoProgramError as missing:
        return Tried(host, version, why=f"not installed: {missing}")
    except OSError as wrong:
        return Tried(host, version, why=f"cannot be started: {in_plain_words(wrong)}")
