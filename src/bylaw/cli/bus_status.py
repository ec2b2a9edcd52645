"""`bylaw bus status`: show the bus as a table, once or after every change."""

from __future__ import annotations

import shutil
import sys
from time import sleep
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.live_screen import live_screen
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.bus.report.status import BusStatus
from bylaw.tools.printers import bus as printer

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.tools.bus_report import BusReport

LOOK_S = 0.5  # pause between two readings
MAX_LIMIT = 100_000


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option(
    "--follow/--no-follow",
    default=None,
    help="Show the table again after every change. Default on a terminal.",
)
@click.option(
    "--limit",
    type=click.IntRange(0, MAX_LIMIT),
    metavar="N",
    default=10,
    show_default=True,
    help="Show at most N rows of each kind.",
)
@text_or_json
def status(*, root: str, follow: bool | None, limit: int, form: str) -> int:
    """Show waiting, held, running and finished messages, and why messages are held.

    On a terminal, the table updates with the bus until Ctrl-C. In a pipe and as JSON, it is
    printed once; with --follow, again after every change. Nothing is changed. You can run this
    several times at once, and while `bylaw bus run` is running.

    A held message shows the rules that lack only an approval, and whose approval. A waiting
    message that will be refused is marked. Exit code 0, even if there is no bus.

    \b
    Examples:
      bylaw bus status
      bylaw bus status --no-follow --limit 100
      bylaw bus status --format json
    """
    looked_at = BusStatus(chosen_root(root), limit)
    on_screen = form == "text" and sys.stdout is not None and sys.stdout.isatty()
    if not (on_screen if follow is None else follow):
        _print(looked_at.read(), form)
    elif on_screen:
        with live_screen() as show:
            _follow(looked_at, lambda report: show(_text(report)))
    else:
        _follow(looked_at, lambda report: _print(report, form))
    return 0


def _follow(looked_at: BusStatus, show: Callable[[BusReport], None]) -> None:
    last: object = None
    while True:
        report = looked_at.read()
        now = (report, shutil.get_terminal_size())
        if now != last:
            show(report)
            sys.stdout.flush()
        last = now
        sleep(LOOK_S)


def _print(report: BusReport, form: str) -> None:
    if form == "json":
        emit(printer.as_data(report))
    else:
        write(_text(report))


def _text(report: BusReport) -> str:
    return printer.render(report, screen_columns(), color=in_color(sys.stdout))
