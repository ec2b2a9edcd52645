"""`bylaw verify`: a journal → whether it is whole, and whether it can be decided again."""

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
@click.option("--decisions", is_flag=True, help="Also decide every recorded event again.")
@text_or_json
def command(journal: str, form: str, *, decisions: bool) -> int:
    """Check that a journal is whole.

    The chain must fit from the first record to the last, without a gap; every payload must have
    the digest of its record, or a purge must tell that it was erased; every session must be what
    its records give; and the journal must not be behind the head that was noted in your state
    folder ($XDG_STATE_HOME or ~/.local/state). With --decisions, every event is decided again
    with its recorded facts under the rules of then, and the bytes are compared; what cannot be
    decided again is counted and listed. Nothing is changed. Exits 1 if something is wrong.

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
