"""`bylaw explain`: show why a record of a journal was decided as it was."""

from __future__ import annotations

import sys

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.log import journal_option
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.model.visible import brief, visible
from bylaw.runtime.journal.reader import journal_path
from bylaw.tools.explain.telling import explain
from bylaw.tools.printers import explain as printer
from bylaw.tools.printers.explain_data import as_data

MAX_SEQ = 2**63 - 1  # largest integer of SQLite
MAX_DIGITS = 20  # more than `MAX_SEQ` has


def _record_number(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
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
@click.argument("decision", required=False, callback=_record_number)
@click.option(
    "--rule", metavar="ID", default="", help="Explain why this rule fired or did not fire."
)
@journal_option
@text_or_json
def command(decision: int | None, rule: str, journal: str, form: str) -> None:
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
        emit(as_data(explanation))
    else:
        write(printer.render(explanation, limit=screen_columns(), color=in_color(sys.stdout)))
