"""`bylaw journal`: what a journal keeps → less of it, and the chain stays whole."""

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
    subcommand_metavar="VERB …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw journal purge --older 30 --dry-run
      bylaw journal purge --session 6f0c1b2e
    """,
)
def command() -> None:
    """Change what a journal keeps.

    The journal is that of the root, as `[journal]` in bylaw.toml says it.
    """


@command.command(context_settings=HELP_OPTIONS)
@click.option(
    "--before",
    metavar="TIME",
    callback=a_moment,
    help="What is older than an ISO time, or than 90s, 5m, 2h, 1d ago.",
)
@click.option(
    "--older", metavar="DAYS", type=click.IntRange(0, MAX_DAYS), help="What is older than days."
)
@click.option("--session", metavar="ID", help="Everything of one session.")
@click.option("--all", "everything", is_flag=True, help="Everything.")
@click.option("--dry-run", is_flag=True, help="Only say how much it would be.")
@click.option("--yes", is_flag=True, help="Do not ask.")
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
    """Erase events and decisions of a journal, for good.

    Without an option that says which, those that `keep_days` of `[journal]` does not keep. The
    chain stays whole: that there was a record, when, of which kind and session, with which
    verdict and digests, is not erased, and a record tells of the purge. A session that has not
    ended goes on: its counters stay, its texts read as [erased]. Then the file is written anew,
    so that no bytes are left in it; this takes a moment, in which others wait.

    Wants a terminal or --yes, and refuses to be called by a coding agent. Exits 1 if it is not
    erased in the end.

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
            raise BylawError("nothing is asked for programs; call with `--yes` or `--dry-run`")
        if not agreed(f"Erase {_payloads(found)} for good? [y/N] "):
            write("nothing was erased\n")
            return 1
    return _tell(path, wanted, purging.purge(path, wanted), form, "erased")


def _wanted(
    before: int | None, older: int | None, session: str | None, *, everything: bool
) -> Purge:
    given = [before is not None, older is not None, session is not None, everything]
    if sum(given) > 1:
        raise click.UsageError("give one of `--before`, `--older`, `--session` and `--all`")
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
        write("there is nothing to erase\n")
    else:
        write(f"{done} {_payloads(found)}\n")
    return 0
