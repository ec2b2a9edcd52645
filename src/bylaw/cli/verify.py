"""`bylaw verify`: verify a journal and replay its decisions."""

from __future__ import annotations

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.log import journal_option
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.runtime.journal.reader import journal_path
from bylaw.tools.printers import verify as printer
from bylaw.tools.verify.whole import verify


@click.command(context_settings=HELP_OPTIONS)
@journal_option
@click.option("--decisions", is_flag=True, help="Also replay every recorded decision.")
@text_or_json
def command(journal: str, form: str, *, decisions: bool) -> int:
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
        emit(printer.as_data(report))
    else:
        write(printer.render(report))
    return int(bool(report.wrong))
