"""`bylaw log`: a journal → its records, as lines for people or JSON for programs."""

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
    help="Another journal than that of the root.",
)


def a_moment(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A time in milliseconds."""
    if value is None:
        return None
    try:
        return moment(value, now_ms())
    except ValueError:
        words = f"`{value}` is no time; write 2026-07-28T10:00, or 90s, 5m, 2h, 1d for ago"
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
    help="Only events of this kind; may be repeated.",
)
@click.option("--rule", metavar="ID", default="", help="Only what this rule had a part in.")
@click.option(
    "--verdict",
    type=click.Choice([verdict.value for verdict in Verdict]),
    help="Only this verdict, or a stronger one.",
)
@click.option(
    "--since",
    metavar="TIME",
    callback=a_moment,
    help="Only from then on: an ISO time, or 90s, 5m, 2h, 1d ago.",
)
@click.option("--until", metavar="TIME", callback=a_moment, help="Only up to then.")
@click.option(
    "--last", metavar="N", type=click.IntRange(0, MAX_LAST), help="Only the newest so many."
)
@click.option("--follow", is_flag=True, help="Go on with records as they come; ctrl-C ends it.")
@text_or_json
def command(  # noqa: PLR0913 - one parameter an option
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
    """Show the records of a journal, oldest first: all sessions, or one.

    The journal is that of the root, see [journal] in bylaw.toml. Below a record stand its
    reasons, what changed at once and what rules plan, with their places; what it caused is
    indented. With --format json each line is {"seq", "session", "at", "time", "kind",
    "verdict", "event", "decision", "rules", "version", "redacted", "erased", "damaged"}.

    \b
    Examples:
      bylaw log --last 20
      bylaw log default --verdict deny --since 1h
      bylaw log --rule token-usage-warning
      bylaw log --follow --kind tool.before --format json

    A rule had a part in a record if it fired, failed, was limited or gated there, or caused
    the event. A rule is named by its id or uid. As text, the effects of a record come with it
    whatever --kind and --verdict say.
    """
    path = journal or journal_path()
    if sessions:
        _refuse_filters(session, kinds, rule, verdict, since, until, last, follow)
        _print_sessions(path, form)
        return
    if follow and until is not None:
        raise click.UsageError("--follow never ends, so --until cannot be given with it")
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
            "--sessions lists all sessions; only --journal and --format go with it"
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
        _tell("no record fits")


def _tell(words: str) -> None:
    click.echo(f"note: {words}", err=True)
