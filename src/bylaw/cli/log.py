"""`bylaw log`, `bylaw explain` and `bylaw verify`: show, explain and verify a journal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import emit, progress, screen_columns, text_or_json, uses_color, write
from bylaw.model.display import brief, visible
from bylaw.model.vocabulary import Kind, Verdict
from bylaw.report.explain import explain
from bylaw.report.log import (
    follow_entries,
    measure_columns,
    read_entries,
    session_counts,
    to_milliseconds,
)
from bylaw.report.printers import explain as explain_printer
from bylaw.report.printers import log as log_printer
from bylaw.report.printers import verify as verify_printer
from bylaw.report.printers.explain import explanation_data
from bylaw.report.verify import verify
from bylaw.runtime.journal_access import journal_path
from bylaw.store.journal.search import RecordFilter
from bylaw.store.system import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.report.log import LogEntry

MAX_LAST = 1_000_000_000

journal_option = click.option(
    "--journal",
    metavar="PATH",
    type=click.Path(),
    default="",
    help="Journal to use. Default: the journal of this repository.",
)


def parse_time(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Parse a time into milliseconds."""
    if value is None:
        return None
    try:
        return to_milliseconds(value, now_ms())
    except ValueError:
        words = f"invalid time `{value}`; write 2026-07-28T10:00, or 90s, 5m, 2h, 1d for a time ago"
        raise click.BadParameter(words, ctx, param) from None


@click.command(context_settings=HELP_OPTIONS)
@click.argument("session", required=False)
@journal_option
@click.option("--sessions", is_flag=True, help="List the sessions, with counts.")
@click.option(
    "--kind",
    "kinds",
    metavar="KIND",
    type=click.Choice([kind.value for kind in Kind]),
    multiple=True,
    help="Show only events of this kind; may be repeated.",
)
@click.option("--rule", metavar="ID", default="", help="Show only records that involve this rule.")
@click.option(
    "--verdict",
    type=click.Choice([verdict.value for verdict in Verdict]),
    help="Show records with this verdict or a stronger one.",
)
@click.option(
    "--since",
    metavar="TIME",
    callback=parse_time,
    help="Show records from this time on: ISO time, or 90s, 5m, 2h, 1d ago.",
)
@click.option("--until", metavar="TIME", callback=parse_time, help="Show records up to this time.")
@click.option(
    "--last", metavar="N", type=click.IntRange(0, MAX_LAST), help="Show only the last N records."
)
@click.option("--follow", is_flag=True, help="Keep printing new records until Ctrl-C.")
@text_or_json
def log_command(  # noqa: PLR0913 - one parameter for each option
    session: str | None,
    *,
    journal: str,
    sessions: bool,
    kinds: tuple[str, ...],
    rule: str,
    verdict: str | None,
    since: int | None,
    until: int | None,
    last: int | None,
    follow: bool,
    form: str,
) -> None:
    """Show the journal: events, decisions and their reasons.

    Records are shown oldest first, of all sessions or of SESSION. Below a record are its
    reasons, the changes that it made at once and the actions that its rules plan, with their
    places. Records that it caused are indented. With --format json, each line is {"seq",
    "session", "at", "time", "kind", "verdict", "event", "decision", "rules", "version",
    "redacted", "erased", "damaged"}.

    \b
    Examples:
      bylaw log --last 20
      bylaw log default --verdict deny --since 1h
      bylaw log --rule token-usage-warning
      bylaw log --follow --kind tool.before --format json

    A record involves a rule that fired, failed, was limited or gated there, or caused the
    event. ID is the id or uid of a rule. As text, the effects of a record are shown with it,
    regardless of --kind and --verdict.
    """
    path = journal or journal_path()
    if sessions:
        _refuse_filters(session, kinds, rule, verdict, since, until, last, follow)
        _print_sessions(path, form)
        return
    if follow and until is not None:
        raise click.UsageError("cannot combine --follow and --until")
    wanted = RecordFilter(
        session=session,
        kinds=tuple(map(Kind, kinds)),
        verdicts=tuple(one for one in Verdict if verdict and one >= Verdict(verdict)),
        rule=rule,
        since=since,
        until=until,
        with_effects=form == "text",
    )
    places = form == "text"
    entries = (
        follow_entries(path, wanted, last, _print_note, places=places)
        if follow
        else read_entries(path, wanted, last, places=places)
    )
    _print(entries, path, form, one_session=session is not None, at_once=follow)


def _refuse_filters(*given: object) -> None:
    if any(one not in (None, "", (), False) for one in given):
        raise click.UsageError(
            "--sessions lists all sessions; combine it only with --journal and --format"
        )


def _print_sessions(path: str, form: str) -> None:
    counts = session_counts(path)
    if form == "json":
        for one in counts:
            emit(log_printer.session_as_data(one))
    else:
        write(log_printer.render_sessions(counts))


def _print(
    entries: Iterator[LogEntry], path: str, form: str, *, one_session: bool, at_once: bool
) -> None:
    lines, entry = None, None
    for entry in entries:
        if form == "json":
            emit(log_printer.record_data(entry.stored))
        else:
            if lines is None:
                lines = log_printer.LogPrinter.of(
                    measure_columns(path),
                    screen_columns(),
                    color=uses_color(sys.stdout),
                    one_session=one_session,
                )
            write(lines.render(entry))
        if at_once:
            sys.stdout.flush()
    if entry is None:
        _print_note("no matching records")


def _print_note(words: str) -> None:
    click.echo(f"note: {words}", err=True)


MAX_SEQ = 2**63 - 1  # largest integer of SQLite
MAX_DIGITS = 20  # more than `MAX_SEQ` has


def _parse_record_number(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> int | None:
    """Parse a record number. The usage error says where to find one."""
    if value is None:
        return None
    number = int(value[:MAX_DIGITS]) if value.isdecimal() else 0
    if not 1 <= number <= MAX_SEQ:
        wanted = "use the number of a record, as `bylaw log` shows it, or leave it out"
        words = f"invalid record number `{visible(brief(value))}`; {wanted}"
        raise click.BadParameter(words, ctx, param)
    return number


@click.command(context_settings=HELP_OPTIONS)
@click.argument("decision", required=False, callback=_parse_record_number)
@click.option(
    "--rule", metavar="ID", default="", help="Explain why this rule fired or did not fire."
)
@journal_option
@text_or_json
def explain_command(decision: int | None, rule: str, journal: str, form: str) -> None:
    """Explain a decision: the rules that took part in it, and the values that they read.

    DECISION is the number of a record, as `bylaw log` shows it. Default: the newest record in
    which a rule fired, failed, was limited or gated. Rules and the values of their conditions
    are shown as they were at that time. Nothing is changed or performed. Exit code 0 on
    success, 1 if the record or the rule is unknown.

    \b
    Examples:
      bylaw explain
      bylaw explain 42
      bylaw explain 42 --rule token-usage-warning
      bylaw explain --format json
    """
    path = journal or journal_path()
    with progress() as tell:
        explanation = explain(path, decision, rule, tell)
    if form == "json":
        emit(explanation_data(explanation))
    else:
        write(
            explain_printer.render_explanation(
                explanation, limit=screen_columns(), color=uses_color(sys.stdout)
            )
        )


@click.command(context_settings=HELP_OPTIONS)
@journal_option
@click.option("--decisions", is_flag=True, help="Also replay every recorded decision.")
@text_or_json
def verify_command(journal: str, form: str, *, decisions: bool) -> int:
    """Verify that a journal is complete and unchanged.

    Checks that the hash chain has no gap from the first record to the last, that every payload
    matches the digest of its record or was erased by a recorded purge, that every session is
    the result of its records, and that the journal is not behind the anchor in your state
    folder ($XDG_STATE_HOME or ~/.local/state). With --decisions, replays every decision with
    its recorded facts and the rules of that time, and compares the bytes. Decisions that cannot
    be replayed are counted and listed. Nothing is changed. Exit code 0 on success, 1 if there
    are problems.

    \b
    Examples:
      bylaw verify
      bylaw verify --decisions
      bylaw verify --journal copies/journal.db --format json
    """
    path = journal or journal_path()
    with progress() as tell:
        report = verify(path, decisions=decisions, tell=tell)
    if form == "json":
        emit(verify_printer.verify_data(report))
    else:
        write(verify_printer.render_verify(report))
    return int(bool(report.wrong))
