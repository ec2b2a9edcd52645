"""`bylaw journal`: erase payloads of a journal. The hash chain stays valid."""

from __future__ import annotations

import click

from bylaw.cli.asking import agreed
from bylaw.cli.frame import HELP_OPTIONS, Verbs
from bylaw.cli.log import a_moment, journal_option
from bylaw.cli.output import emit, text_or_json, write
from bylaw.model.errors import BylawError
from bylaw.runtime.clock import now_ms
from bylaw.runtime.journal.keeping import DAY_MS
from bylaw.runtime.journal.purge import Purge, Purged
from bylaw.runtime.journal.reader import journal_path
from bylaw.tools import purging
from bylaw.tools.printers.wording import number_of

MAX_DAYS = 36_500


@click.group(
    cls=Verbs,
    name="journal",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw journal purge --older 30 --dry-run
      bylaw journal purge --session 6f0c1b2e
    """,
)
def command() -> None:
    """Erase payloads of a journal.

    Default: the journal of this repository, see `[journal]` in bylaw.toml.
    """


@command.command(context_settings=HELP_OPTIONS)
@click.option(
    "--before",
    metavar="TIME",
    callback=a_moment,
    help="Erase what is older than this ISO time, or than 90s, 5m, 2h, 1d ago.",
)
@click.option(
    "--older",
    metavar="DAYS",
    type=click.IntRange(0, MAX_DAYS),
    help="Erase what is older than this many days.",
)
@click.option("--session", metavar="ID", help="Erase everything of one session.")
@click.option("--all", "everything", is_flag=True, help="Erase everything.")
@click.option("--dry-run", is_flag=True, help="Show how much would be erased, and erase nothing.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@journal_option
@text_or_json
def purge(
    *,
    before: int | None,
    older: int | None,
    session: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    journal: str,
    form: str,
) -> int:
    """Erase the payloads of events and decisions permanently.

    Without an option that selects records, erases those that are older than `keep_days` of
    `[journal]`. The hash chain stays valid: each record keeps its time, kind, session, verdict
    and digests, and a new record documents the purge. An open session continues: its counters
    stay, its texts become [erased]. Then the file is rewritten, so that no erased bytes remain
    in it. Other processes wait meanwhile.

    Needs a terminal or --yes, and refuses calls by a coding agent. Exit code 0 on success,
    else 1.

    \b
    Examples:
      bylaw journal purge --older 30 --dry-run
      bylaw journal purge --before 2026-07-01
      bylaw journal purge --session 6f0c1b2e --yes
    """
    wanted = _wanted(before, older, session, everything=everything)
    path = journal or journal_path()
    found = purging.look(path, wanted)
    if dry_run:
        return _tell(path, wanted, found, form, "would erase")
    if found.payloads and not yes:
        if form == "json":
            raise BylawError(
                "cannot ask for confirmation with `--format json`; pass `--yes` or `--dry-run`"
            )
        if not agreed(f"Erase {_payloads(found)} permanently? [y/N] "):
            write("nothing was erased\n")
            return 1
    return _tell(path, wanted, purging.purge(path, wanted), form, "erased")


def _wanted(
    before: int | None, older: int | None, session: str | None, *, everything: bool
) -> Purge:
    given = [before is not None, older is not None, session is not None, everything]
    if sum(given) > 1:
        raise click.UsageError("use only one of `--before`, `--older`, `--session` and `--all`")
    if older is not None:
        before = now_ms() - older * DAY_MS
    return Purge(session, before) if any(given) else purging.too_old()


def _payloads(found: Purged) -> str:
    return f"{number_of(found.payloads, 'payload')} of {number_of(found.sessions, 'session')}"


def _tell(path: str, wanted: Purge, found: Purged, form: str, done: str) -> int:
    if form == "json":
        emit(
            {
                "journal": path,
                "session": wanted.session,
                "before": wanted.before,
                "payloads": found.payloads,
                "sessions": found.sessions,
                "erased": done == "erased",
            }
        )
    elif not found.payloads:
        write("nothing to erase\n")
    else:
        write(f"{done} {_payloads(found)}\n")
    return 0
