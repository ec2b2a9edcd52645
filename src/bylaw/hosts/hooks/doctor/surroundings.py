"""Check what hooks need in a root: rules, trust, journal, gates, the resident and payloads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.doctor.finding import fine, note, wrong
from bylaw.hosts.hooks.line import OFF, SWITCH, connected, is_wanted
from bylaw.hosts.hooks.open_gates import released_until
from bylaw.hosts.hooks.unknown_fields import unknown_fields
from bylaw.model.diagnostic import Severity
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.visible import listed, visible, visible_once
from bylaw.runtime.effects import TITLES
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.journal.sources import NO_RULES
from bylaw.runtime.loading import load_root
from bylaw.runtime.own_place import state_home
from bylaw.runtime.paths import as_bytes, folder_of
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.root import absolute, read_configuration
from bylaw.runtime.settings.tables import OnFailure
from bylaw.runtime.trust import trust_of
from bylaw.tools.overlooked import overlooked_chats
from bylaw.tools.printers.moments import local_minute
from bylaw.tools.printers.wording import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.doctor.finding import Finding
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.runtime.configuration import Configuration
    from bylaw.runtime.loading import Library

RULES, JOURNAL, GATES = "rules", "journal", "gates"
RESIDENT, PAYLOADS = "resident", "payloads"
MAX_SHOWN = 5
_MEND_JOURNAL = (
    "fix this; meanwhile `bylaw doctor --release 10` releases failed gates for ten minutes"
)


def surroundings(root: str) -> Iterator[Finding]:
    """Yield the findings, part by part."""
    library = load_root(root)
    yield from _rules(library)
    try:
        configuration = read_configuration(root)
    except LoadError:
        configuration = None  # the error is among those of the rules
    if configuration is not None:
        yield from _trust(root, library, configuration)
        yield _journal(root, configuration)
    yield from _gates(root, library, configuration)
    yield _resident()
    yield from _payloads(root)


def _rules(library: Library) -> Iterator[Finding]:
    errors = [one for one in library.diagnostics if one.severity is Severity.ERROR]
    for one in errors[:MAX_SHOWN]:
        yield wrong(RULES, f"{_place(one)}: {one.headline}", "run `bylaw check` for details")
    if len(errors) > MAX_SHOWN:
        step = "run `bylaw check` to see all of them"
        yield wrong(RULES, f"{len(errors) - MAX_SHOWN} more errors", step)
    for one in overlooked_chats(library):
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


def _trust(root: str, library: Library, configuration: Configuration) -> Iterator[Finding]:
    trust = trust_of(root, library, configuration)
    if not trust.suffices:
        step = "run `bylaw trust` to review the commands that rules can run"
        yield note(RULES, f"not trusted, so they run no commands: {trust.why}", step)


def _journal(root: str, configuration: Configuration) -> Finding:
    """Check that the next event can be recorded. A missing journal is not created."""
    path = configuration.settings.journal.path
    place = absolute(path, root)
    try:
        if not os.path.lexists(as_bytes(place)):
            return _room_for_journal(visible(path), place)
        with open_journal(root, configuration) as journal:
            journal.transact("", NO_RULES, lambda *_: None)
    except BylawError as problem:
        return wrong(JOURNAL, str(problem), _MEND_JOURNAL)
    except OSError as problem:
        return wrong(JOURNAL, f"`{visible(path)}`: {in_plain_words(problem)}", _MEND_JOURNAL)
    return fine(JOURNAL, f"{visible(path)} can be written")


def _room_for_journal(shown: str, place: str) -> Finding:
    folder = folder_of(place)
    while not os.path.lexists(as_bytes(folder)):
        folder = folder_of(folder)
    if os.access(as_bytes(folder), os.W_OK | os.X_OK):
        return fine(JOURNAL, f"{shown} will be created at the first event")
    return wrong(JOURNAL, f"{shown} cannot be created in `{visible(folder)}`", _MEND_JOURNAL)


def _gates(root: str, library: Library, configuration: Configuration | None) -> Iterator[Finding]:
    until = released_until()
    if until:
        when = local_minute(until * 1_000)
        text = f"released by a person until {when}: if Bylaw fails, they allow everything"
        yield note(GATES, text, "run `bylaw doctor --release 0` to close them")
        return
    if configuration is not None:
        settings = trust_of(root, library, configuration).in_force(configuration.settings)
        if settings.hooks.on_failure is OnFailure.OPEN:
            text = "`[hooks] on_failure` is `open`: if Bylaw fails, they allow everything"
            yield note(GATES, text)
            return
    yield fine(GATES, "fail closed: if Bylaw fails, they deny")


def _resident() -> Finding:
    if os.environ.get(SWITCH) == OFF:
        return note(RESIDENT, f"disabled by {SWITCH}={OFF}, so each hook takes longer")
    if not state_home():
        step = "set `XDG_STATE_HOME` to the absolute path of a folder outside the repository"
        text = "no safe state folder: gates cannot be released, and no resident can run"
        return note(RESIDENT, text, step)
    if not is_wanted():
        return fine(RESIDENT, "not available on this system, so each hook takes longer")
    line = connected()
    if line is None:
        return fine(RESIDENT, "not running; the next hook starts it")
    line.close()
    return fine(RESIDENT, "running, so hooks answer quickly")


def _payloads(root: str) -> Iterator[Finding]:
    try:
        noted = unknown_fields(root)
    except (BylawError, OSError):
        return  # the finding about the journal reports a bad state folder
    for host, fields in noted.items():
        # Bylaw escapes names before it stores them, but another program may have written the file.
        title, shown = TITLES.get(host, visible(host)), visible_once(listed(fields, MAX_SHOWN))
        yield note(PAYLOADS, f"{title} sends fields or events that Bylaw does not know: {shown}")
