"""`bylaw bus status`: what lies in a bus → a table, once or as it changes."""

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

LOOK_S = 0.5  # how long it waits before it looks again
MAX_LIMIT = 100_000


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option(
    "--follow/--no-follow",
    default=None,
    help="Show it anew whenever something changes; the default on a terminal.",
)
@click.option(
    "--limit",
    type=click.IntRange(0, MAX_LIMIT),
    metavar="N",
    default=10,
    show_default=True,
    help="How much of each kind is shown.",
)
@text_or_json
def status(*, root: str, follow: bool | None, limit: int, form: str) -> int:
    """Show what waits, what is held and why, what runs, and what has ended.

    On a terminal the table stays and changes with the bus, until Ctrl-C ends it. In a pipe, and
    as JSON, it is printed once; with --follow, once more after every change. Nothing is changed,
    and several may look while `bylaw bus run` is at work.

    A held message names the rules that lack nothing but an approval, and whose. What waits and
    will be refused says so before it is. Exits 0, also where there is no bus.

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
