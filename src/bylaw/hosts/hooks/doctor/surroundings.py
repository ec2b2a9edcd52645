"""A root → whether what hooks need is in order: rules, journal, gates, the resident, payloads."""

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
_MEND_JOURNAL = "mend that; meanwhile `bylaw doctor --release 10` opens gates for ten minutes"


def surroundings(root: str) -> Iterator[Finding]:
    """What was found, part by part."""
    library = load_root(root)
    yield from _rules(library)
    try:
        configuration = read_configuration(root)
    except LoadError:
        configuration = None  # told with the rules
    if configuration is not None:
        yield from _trust(root, library, configuration)
        yield _journal(root, configuration)
    yield from _gates(root, library, configuration)
    yield _resident()
    yield from _payloads(root)


def _rules(library: Library) -> Iterator[Finding]:
    errors = [one for one in library.diagnostics if one.severity is Severity.ERROR]
    for one in errors[:MAX_SHOWN]:
        yield wrong(RULES, f"{_place(one)}: {one.headline}", "`bylaw check` shows what is wrong")
    if len(errors) > MAX_SHOWN:
        yield wrong(RULES, f"{len(errors) - MAX_SHOWN} more errors", "`bylaw check` shows them all")
    for one in overlooked_chats(library):
        yield note(RULES, one.headline, one.help)
    files = sum(len(book.files) for book in library.governing)
    if errors:
        return
    if files:
        yield fine(RULES, f"{number_of(files, 'rule file')} in force for coding agents")
    else:
        step = "write rules, or name a ChatMD file in a `[[book]]` of `bylaw.toml`"
        yield note(RULES, "no rule file is in force for coding agents", step)


def _place(one: Diagnostic) -> str:
    line = one.source.position(one.span.start).line
    return visible(f"{one.source.path}:{line}")


def _trust(root: str, library: Library, configuration: Configuration) -> Iterator[Finding]:
    trust = trust_of(root, library, configuration)
    if not trust.suffices:
        step = "`bylaw trust` shows what rules can start, and asks you"
        yield note(RULES, f"not trusted, so they start nothing: {trust.why}", step)


def _journal(root: str, configuration: Configuration) -> Finding:
    """Whether the next event can be recorded; a journal that is not there is not made."""
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
        return fine(JOURNAL, f"{shown} is made with the first event")
    return wrong(JOURNAL, f"{shown} cannot be made in `{visible(folder)}`", _MEND_JOURNAL)


def _gates(root: str, library: Library, configuration: Configuration | None) -> Iterator[Finding]:
    until = released_until()
    if until:
        when = local_minute(until * 1_000)
        text = f"a person has opened them until {when}: a failure of Bylaw closes nothing"
        yield note(GATES, text, "`bylaw doctor --release 0` closes them")
        return
    if configuration is not None:
        settings = trust_of(root, library, configuration).in_force(configuration.settings)
        if settings.hooks.on_failure is OnFailure.OPEN:
            text = "`[hooks] on_failure` leaves them open when Bylaw fails"
            yield note(GATES, text)
            return
    yield fine(GATES, "closed when Bylaw fails")


def _resident() -> Finding:
    if os.environ.get(SWITCH) == OFF:
        return note(RESIDENT, f"switched off by {SWITCH}={OFF}: every hook starts from nothing")
    if not state_home():
        step = "set `XDG_STATE_HOME` to the absolute path of a folder outside of the repository"
        text = "there is no safe state folder: gates cannot be opened, and no process stays"
        return note(RESIDENT, text, step)
    if not is_wanted():
        return fine(RESIDENT, "none on this system: every hook starts from nothing")
    line = connected()
    if line is None:
        return fine(RESIDENT, "none runs; the next hook starts one")
    line.close()
    return fine(RESIDENT, "runs, so hooks are answered quickly")


def _payloads(root: str) -> Iterator[Finding]:
    try:
        noted = unknown_fields(root)
    except (BylawError, OSError):
        return  # a journal that cannot be written tells of that folder
    for host, fields in noted.items():
        # Names are written out where they are kept; the file may be anybody's all the same.
        title, shown = TITLES.get(host, visible(host)), visible_once(listed(fields, MAX_SHOWN))
        yield note(PAYLOADS, f"{title} sends what Bylaw does not know: {shown}")
