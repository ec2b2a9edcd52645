"""`bylaw log`: show the records of a journal as lines for people or as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind
from bylaw.runtime.clock import now_ms
from bylaw.runtime.journal.reader import journal_path
from bylaw.runtime.journal.search import Wanted
from bylaw.tools.printers import timeline as printer
from bylaw.tools.timeline import followed, moment, scale_of, session_counts, timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.tools.timeline import Entry

MAX_LAST = 1_000_000_000

journal_option = click.option(
    "--journal",
    metavar="PATH",
    type=click.Path(),
    default="",
    help="Journal to use. Default: the journal of this repository.",
)


def a_moment(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Parse a time into milliseconds."""
    if value is None:
        return None
    try:
        return moment(value, now_ms())
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
    callback=a_moment,
    help="Show records from this time on: ISO time, or 90s, 5m, 2h, 1d ago.",
)
@click.option("--until", metavar="TIME", callback=a_moment, help="Show records up to this time.")
@click.option(
    "--last", metavar="N", type=click.IntRange(0, MAX_LAST), help="Show only the last N records."
)
@click.option("--follow", is_flag=True, help="Keep printing new records until Ctrl-C.")
@text_or_json
def command(  # noqa: PLR0913 - one parameter for each option
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
    wanted = Wanted(
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
        followed(path, wanted, last, _tell, places=places)
        if follow
        else timeline(path, wanted, last, places=places)
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
            emit(printer.session_as_data(one))
    else:
        write(printer.render_sessions(counts))


def _print(
    entries: Iterator[Entry], path: str, form: str, *, one_session: bool, at_once: bool
) -> None:
    lines, entry = None, None
    for entry in entries:
        if form == "json":
            emit(printer.as_data(entry.stored))
        else:
            if lines is None:
                lines = printer.Lines.of(
                    scale_of(path),
                    screen_columns(),
                    color=in_color(sys.stdout),
                    one_session=one_session,
                )
            write(lines.render(entry))
        if at_once:
            sys.stdout.flush()
    if entry is None:
        _tell("no matching records")


def _tell(words: str) -> None:
    click.echo(f"note: {words}", err=True)
