"""`bylaw journal`: count and erase payloads of a journal. The hash chain stays intact."""

from __future__ import annotations

import click

from bylaw.cli.frame import HELP_OPTIONS, CommandGroup
from bylaw.cli.log import journal_option, parse_time
from bylaw.cli.terminal import confirm, emit, text_or_json, write
from bylaw.hosts.clients.caller import require_person
from bylaw.model.display import number_of
from bylaw.model.errors import BylawError
from bylaw.runtime.journal_access import anchor_of, journal_path
from bylaw.runtime.root import find_root, read_configuration
from bylaw.store.journal.errors import unknown_session
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.purge import DAY_MS, Purge, PurgeResult, keep_since, preview_purge
from bylaw.store.journal.search import JournalReader
from bylaw.store.system import now_ms

MAX_KNOWN = 1_000  # sessions that are searched for a similar name


def expired_records() -> Purge:
    """Select the records older than `keep_days` of the root. Raise BylawError if it is not set."""
    days = read_configuration(find_root()).settings.journal.keep_days
    if days is None:
        raise BylawError(
            "nothing selected to erase: pass `--before`, `--older`, `--session` or `--all`, "
            "or set `keep_days` under `[journal]` in `bylaw.toml`"
        )
    return Purge(before=keep_since(days))


def count_purge(path: str, wanted: Purge) -> PurgeResult:
    """Count what would be erased. Raise JournalError if the journal or session is unknown."""
    with JournalReader(path) as reader:
        if not reader.newest:
            return PurgeResult()
        question = "SELECT 1 FROM records WHERE session = ? LIMIT 1"
        if wanted.session is not None and not reader.query(question, (wanted.session,)):
            known = reader.query("SELECT id FROM sessions LIMIT ?", (MAX_KNOWN,))
            raise unknown_session(wanted.session, [name for (name,) in known])
        return preview_purge(reader, wanted)


def purge_journal(path: str, wanted: Purge) -> PurgeResult:
    """Erase the payloads.

    Raises BylawError if an agent runs this process, JournalError if bytes may be left.
    """
    require_person("erasing records")
    with Journal(path, anchor=anchor_of(find_root(), path)) as journal:
        return journal.purge(wanted)


MAX_DAYS = 36_500


@click.group(
    cls=CommandGroup,
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
def journal_command() -> None:
    """Erase payloads of a journal.

    Default: the journal of this repository, see `[journal]` in bylaw.toml.
    """


@journal_command.command(context_settings=HELP_OPTIONS)
@click.option(
    "--before",
    metavar="TIME",
    callback=parse_time,
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
    wanted = _make_purge(before, older, session, everything=everything)
    path = journal or journal_path()
    found = count_purge(path, wanted)
    if dry_run:
        return _print_result(path, wanted, found, form, "would erase")
    if found.payloads and not yes:
        if form == "json":
            raise BylawError(
                "cannot ask for confirmation with `--format json`; pass `--yes` or `--dry-run`"
            )
        if not confirm(f"Erase {_count_text(found)} permanently? [y/N] "):
            write("nothing was erased\n")
            return 1
    return _print_result(path, wanted, purge_journal(path, wanted), form, "erased")


def _make_purge(
    before: int | None, older: int | None, session: str | None, *, everything: bool
) -> Purge:
    given = [before is not None, older is not None, session is not None, everything]
    if sum(given) > 1:
        raise click.UsageError("use only one of `--before`, `--older`, `--session` and `--all`")
    if older is not None:
        before = now_ms() - older * DAY_MS
    return Purge(session, before) if any(given) else expired_records()


def _count_text(found: PurgeResult) -> str:
    return f"{number_of(found.payloads, 'payload')} of {number_of(found.sessions, 'session')}"


def _print_result(path: str, wanted: Purge, found: PurgeResult, form: str, done: str) -> int:
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
        write(f"{done} {_count_text(found)}\n")
    return 0
