"""Collect everything that `bylaw doctor` reports about a root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.client_programs import NODE, Program, major, programs_of
from bylaw.hosts.hooks.doctor.finding import Level, note, wrong
from bylaw.hosts.hooks.doctor.hooks_there import HooksThere
from bylaw.hosts.hooks.doctor.surroundings import surroundings
from bylaw.hosts.hooks.doctor.trusted_by_client import still_needed
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.hook_switches import switched_off
from bylaw.hosts.hooks.install.interpreter import interpreter
from bylaw.hosts.hooks.install.places import Scope
from bylaw.hosts.hooks.install.steps import judged_twice, switch_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.hosts.hooks.doctor.finding import Finding
    from bylaw.hosts.hooks.install.clients import Client


class Examination(Struct, frozen=True):
    """Result of `bylaw doctor`.

    `programs` are the installed clients by host, `hooked` the clients that have hooks of Bylaw.
    """

    root: str
    programs: Mapping[str, Program]
    hooked: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def is_fine(self) -> bool:
        """Whether no finding is wrong."""
        return not any(one.level is Level.WRONG for one in self.findings)


def examine(root: str, tell: Callable[[str], None]) -> Examination:
    """Check clients, hooks, rules, journal and gates of a root; `tell` shows the progress.

    Changes nothing, and starts no program of the repository.
    """
    tell("reading the versions of the clients")
    programs = programs_of(CLIENTS.values())
    python = interpreter()
    found: list[Finding] = []
    hooked: list[str] = []
    for client in CLIENTS.values():
        tell(f"checking {client.title}")
        there = {scope: HooksThere(client, scope, root, python) for scope in Scope}
        if any(one.found for one in there.values()):
            hooked.append(client.host)
        found += _of_client(client, root, there, python, programs)
    if not hooked:
        step = "run `bylaw install NAME` to install them"
        found.append(note("hooks", "none: Bylaw enforces no rule in a coding agent", step))
    tell("checking rules and journal")
    found += surroundings(root)
    clients = {host: one for host, one in programs.items() if host != NODE}
    return Examination(root, clients, tuple(hooked), tuple(found))


def _of_client(
    client: Client,
    root: str,
    there: Mapping[Scope, HooksThere],
    python: str,
    programs: Mapping[str, Program],
) -> Iterator[Finding]:
    found = [scope for scope in Scope if there[scope].found]
    is_here = client.host in programs
    # The steps of a client are needed only if the client is installed.
    needed = {s: list(still_needed(client, s, root, there[s])) if is_here else [] for s in found}
    for scope, one in there.items():
        # Complete hooks are not fine if the client does not run them.
        idle = any(lacking.level is Level.WRONG for lacking in needed.get(scope, ()))
        yield from (each for each in one.findings if not (idle and each.level is Level.FINE))
    if is_here:
        yield from _of_program(client, programs)
    elif found:
        # The client may be part of an editor, so its hooks are checked even without a program.
        yield note(client.host, "not installed, or its program is not on the search path")
    if not found and is_here:
        step = f"run `bylaw install {client.host}` to install them"
        yield note(client.host, "no hooks of Bylaw: your rules do not apply to it", step)
    if found:
        for twice in judged_twice(client, found[0], root, python):
            if twice.certain:
                yield wrong(client.host, "every event is decided twice", twice.step)
            else:
                yield note(client.host, "events may be decided twice", twice.step)
        for off in switched_off(client, root):
            yield wrong(client.host, "its hooks are disabled", switch_step(off))
    for scope in found:
        yield from needed[scope]


def _of_program(client: Client, programs: Mapping[str, Program]) -> Iterator[Finding]:
    program = programs[client.host]
    if not program.version:
        step = f"run `{program.path} --version` to see why"
        yield wrong(client.host, f"`{program.path}` does not print its version", step)
    node = programs.get(NODE)
    if client.node and node is not None and major(node.version) < client.node:
        text = f"needs node {client.node} or newer, but `{node.path}` is {node.version}"
        step = f"install node {client.node} or newer, and put it first on the search path"
        yield wrong(client.host, text, step)
