"""Check the setup of a root: the work behind `bylaw doctor`.

Checks installed clients and their hooks, rules, trust, journal, gates, resident and payloads.
Changes nothing, and starts nothing of the repository.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.failure_state import release_end
from bylaw.hosts.hooks.install.advice import find_duplicates, switch_step
from bylaw.hosts.hooks.install.config_file import Scope, find_disabled_hooks
from bylaw.hosts.hooks.install.detect import NODE, Program, find_programs, major_version
from bylaw.hosts.hooks.install.forms import CLIENTS, interpreter
from bylaw.hosts.hooks.payload import read_unknown
from bylaw.hosts.hooks.resident_client import RESIDENT_OFF, RESIDENT_VARIABLE, connect, is_enabled
from bylaw.model.diagnostic import Severity
from bylaw.model.display import list_limited, number_of, visible, visible_once
from bylaw.model.errors import BylawError, LoadError
from bylaw.report.check import find_unlisted_chats
from bylaw.report.doctor_clients import (
    FindingLevel,
    InstalledHooks,
    fine,
    missing_steps,
    note,
    wrong,
)
from bylaw.report.printers.layout import local_minute
from bylaw.runtime.effects import TITLES
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loader import load_root
from bylaw.runtime.root import read_configuration
from bylaw.runtime.settings import OnFailure
from bylaw.runtime.trust import check_trust
from bylaw.store.files import absolute, os_error_text
from bylaw.store.journal.records import NO_RULES
from bylaw.store.paths import as_bytes, folder_of, state_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.hosts.hooks.install.forms import Client
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.report.doctor_clients import DoctorFinding
    from bylaw.runtime.loader import Library
    from bylaw.runtime.root import Configuration

RULES, JOURNAL, GATES = "rules", "journal", "gates"
RESIDENT, PAYLOADS = "resident", "payloads"
MAX_SHOWN = 5
_FIX_JOURNAL = (
    "fix this; meanwhile `bylaw doctor --release 10` releases failed gates for ten minutes"
)


def check_surroundings(root: str) -> Iterator[DoctorFinding]:
    """Yield the findings, part by part."""
    library = load_root(root)
    yield from _check_rules(library)
    try:
        configuration = read_configuration(root)
    except LoadError:
        configuration = None  # the error is among those of the rules
    if configuration is not None:
        yield from _check_trust(root, library, configuration)
        yield _check_journal(root, configuration)
    yield from _check_gates(root, library, configuration)
    yield _check_resident()
    yield from _check_payloads(root)


def _check_rules(library: Library) -> Iterator[DoctorFinding]:
    errors = [one for one in library.diagnostics if one.severity is Severity.ERROR]
    for one in errors[:MAX_SHOWN]:
        yield wrong(RULES, f"{_place(one)}: {one.headline}", "run `bylaw check` for details")
    if len(errors) > MAX_SHOWN:
        step = "run `bylaw check` to see all of them"
        yield wrong(RULES, f"{len(errors) - MAX_SHOWN} more errors", step)
    for one in find_unlisted_chats(library):
        yield note(RULES, one.headline, one.help)
    files = sum(len(book.files) for book in library.governing)
    if errors:
        return
    if files:
        yield fine(RULES, f"{number_of(files, 'rule file')} active for coding agents")
    else:
        step = "write a rule file, or list a ChatMD file as a `[[book]]` in `bylaw.toml`"
        yield note(RULES, "no rule file is active for coding agents", step)


def _place(one: Diagnostic) -> str:
    line = one.source.position(one.span.start).line
    return visible(f"{one.source.path}:{line}")


def _check_trust(
    root: str, library: Library, configuration: Configuration
) -> Iterator[DoctorFinding]:
    trust = check_trust(root, library, configuration)
    if not trust.is_sufficient:
        step = "run `bylaw trust` to review the commands that rules can run"
        yield note(RULES, f"not trusted, so they run no commands: {trust.why}", step)


def _check_journal(root: str, configuration: Configuration) -> DoctorFinding:
    """Check that the next event can be recorded. A missing journal is not created."""
    path = configuration.settings.journal.path
    place = absolute(path, root)
    try:
        if not os.path.lexists(as_bytes(place)):
            return _check_new_journal(visible(path), place)
        with open_journal(root, configuration) as journal:
            journal.transact("", NO_RULES, lambda *_: None)
    except BylawError as problem:
        return wrong(JOURNAL, str(problem), _FIX_JOURNAL)
    except OSError as problem:
        return wrong(JOURNAL, f"`{visible(path)}`: {os_error_text(problem)}", _FIX_JOURNAL)
    return fine(JOURNAL, f"{visible(path)} can be written")


def _check_new_journal(shown: str, place: str) -> DoctorFinding:
    folder = folder_of(place)
    while not os.path.lexists(as_bytes(folder)):
        folder = folder_of(folder)
    if os.access(as_bytes(folder), os.W_OK | os.X_OK):
        return fine(JOURNAL, f"{shown} will be created at the first event")
    return wrong(JOURNAL, f"{shown} cannot be created in `{visible(folder)}`", _FIX_JOURNAL)


def _check_gates(
    root: str, library: Library, configuration: Configuration | None
) -> Iterator[DoctorFinding]:
    until = release_end()
    if until:
        when = local_minute(until * 1_000)
        text = f"released by a person until {when}: if Bylaw fails, they allow everything"
        yield note(GATES, text, "run `bylaw doctor --release 0` to close them")
        return
    if configuration is not None:
        settings = check_trust(root, library, configuration).in_force(configuration.settings)
        if settings.hooks.on_failure is OnFailure.OPEN:
            text = "`[hooks] on_failure` is `open`: if Bylaw fails, they allow everything"
            yield note(GATES, text)
            return
    yield fine(GATES, "fail closed: if Bylaw fails, they deny")


def _check_resident() -> DoctorFinding:
    if os.environ.get(RESIDENT_VARIABLE) == RESIDENT_OFF:
        return note(
            RESIDENT, f"disabled by {RESIDENT_VARIABLE}={RESIDENT_OFF}, so each hook takes longer"
        )
    if not state_home():
        step = "set `XDG_STATE_HOME` to the absolute path of a folder outside the repository"
        text = "no safe state folder: gates cannot be released, and no resident can run"
        return note(RESIDENT, text, step)
    if not is_enabled():
        return fine(RESIDENT, "not available on this system, so each hook takes longer")
    line = connect()
    if line is None:
        return fine(RESIDENT, "not running; the next hook starts it")
    line.close()
    return fine(RESIDENT, "running, so hooks answer quickly")


def _check_payloads(root: str) -> Iterator[DoctorFinding]:
    try:
        noted = read_unknown(root)
    except (BylawError, OSError):
        return  # the finding about the journal reports a bad state folder
    for host, fields in noted.items():
        # Bylaw escapes names before it stores them, but another program may have written the file.
        title, shown = (
            TITLES.get(host, visible(host)),
            visible_once(list_limited(fields, MAX_SHOWN)),
        )
        yield note(PAYLOADS, f"{title} sends fields or events that Bylaw does not know: {shown}")


class Examination(Struct, frozen=True):
    """Result of `bylaw doctor`.

    `programs` are the installed clients by host, `hooked` the clients that have hooks of Bylaw.
    """

    root: str
    programs: Mapping[str, Program]
    hooked: tuple[str, ...]
    findings: tuple[DoctorFinding, ...]

    @property
    def is_fine(self) -> bool:
        """Whether no finding is wrong."""
        return not any(one.level is FindingLevel.WRONG for one in self.findings)


def examine(root: str, tell: Callable[[str], None]) -> Examination:
    """Check clients, hooks, rules, journal and gates of a root; `tell` shows the progress.

    Changes nothing, and starts no program of the repository.
    """
    tell("reading the versions of the clients")
    programs = find_programs(CLIENTS.values())
    python = interpreter()
    found: list[DoctorFinding] = []
    hooked: list[str] = []
    for client in CLIENTS.values():
        tell(f"checking {client.title}")
        there = {scope: InstalledHooks(client, scope, root, python) for scope in Scope}
        if any(one.found for one in there.values()):
            hooked.append(client.host)
        found += _check_client(client, root, there, python, programs)
    if not hooked:
        step = "run `bylaw install NAME` to install them"
        found.append(note("hooks", "none: Bylaw enforces no rule in a coding agent", step))
    tell("checking rules and journal")
    found += check_surroundings(root)
    clients = {host: one for host, one in programs.items() if host != NODE}
    return Examination(root, clients, tuple(hooked), tuple(found))


def _check_client(
    client: Client,
    root: str,
    there: Mapping[Scope, InstalledHooks],
    python: str,
    programs: Mapping[str, Program],
) -> Iterator[DoctorFinding]:
    found = [scope for scope in Scope if there[scope].found]
    is_here = client.host in programs
    # The steps of a client are needed only if the client is installed.
    needed = {s: list(missing_steps(client, s, root, there[s])) if is_here else [] for s in found}
    for scope, one in there.items():
        # Complete hooks are not fine if the client does not run them.
        idle = any(lacking.level is FindingLevel.WRONG for lacking in needed.get(scope, ()))
        yield from (each for each in one.findings if not (idle and each.level is FindingLevel.FINE))
    if is_here:
        yield from _check_program(client, programs)
    elif found:
        # The client may be part of an editor, so its hooks are checked even without a program.
        yield note(client.host, "not installed, or its program is not on the search path")
    if not found and is_here:
        step = f"run `bylaw install {client.host}` to install them"
        yield note(client.host, "no hooks of Bylaw: your rules do not apply to it", step)
    if found:
        for twice in find_duplicates(client, found[0], root, python):
            if twice.certain:
                yield wrong(client.host, "every event is decided twice", twice.step)
            else:
                yield note(client.host, "events may be decided twice", twice.step)
        for off in find_disabled_hooks(client, root):
            yield wrong(client.host, "its hooks are disabled", switch_step(off))
    for scope in found:
        yield from needed[scope]


def _check_program(client: Client, programs: Mapping[str, Program]) -> Iterator[DoctorFinding]:
    program = programs[client.host]
    if not program.version:
        step = f"run `{program.path} --version` to see why"
        yield wrong(client.host, f"`{program.path}` does not print its version", step)
    node = programs.get(NODE)
    if client.node and node is not None and major_version(node.version) < client.node:
        text = f"needs node {client.node} or newer, but `{node.path}` is {node.version}"
        step = f"install node {client.node} or newer, and put it first on the search path"
        yield wrong(client.host, text, step)
