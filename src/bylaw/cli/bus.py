"""`bylaw bus`: process messages and file changes, show the bus, write a message."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Self

import click

from bylaw.cli.bus_new import new
from bylaw.cli.bus_status import status
from bylaw.cli.failure import INTERRUPTED, MISTAKE
from bylaw.cli.frame import HELP_OPTIONS, Verbs
from bylaw.cli.output import always_json, emit
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.bus.opening import Telling, open_bus

if TYPE_CHECKING:
    from types import FrameType

    from bylaw.hosts.bus.handled import Handled
    from bylaw.hosts.bus.opening import OpenBus


@click.group(
    cls=Verbs,
    name="bus",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw bus run
      bylaw bus run --once --root .
      bylaw bus status
      bylaw bus new --title "Fix the lint errors" --category A --path src/app.py
    """,
)
def command() -> None:
    """Run the bus of a repository under its RULE_DSL rules.

    Agents write messages into runtime/bus/input. The rules in runtime/rules/ decide what
    happens to them. Bylaw writes evidence to runtime/bus/output and runtime/bus/error.
    """


@command.command(context_settings=HELP_OPTIONS)
@root_option
@click.option("--once", is_flag=True, help="Process the messages that are there now, then exit.")
@click.option("--trust", is_flag=True, help="Trust all commands for this run only. For CI.")
@always_json
def run(*, root: str, once: bool, trust: bool) -> int:
    """Process messages and file changes as they arrive.

    Bylaw claims each message, decides it under the rules, and carries it out or holds it until
    it is approved. Each message gets one JSON line: "msg_id", "file", "verdict", "rule",
    "status" (done, held, refused, failed) and "evidence". A file change that a rule covers
    gets a line with "change" and "path". Several processes may run on one repository. Ctrl-C
    or a TERM signal stops the bus and the command that it runs.

    Commands run only if `bylaw trust` or --trust allows them. With --once, file changes are
    left for the next `bylaw bus run`. Exit code 0 on success; with --once, 1 if a message was
    refused or failed.

    \b
    Examples:
      bylaw bus run
      bylaw bus run --once --root . --trust
    """
    printing = _Printing()
    telling = Telling(printing.handled, _note)
    with open_bus(chosen_root(root), telling, trust=trust) as opened, _Ending(opened) as ending:
        if once:
            opened.orchestrator.run_once()
        else:
            opened.run()
    if ending.interrupted:
        return INTERRUPTED
    return MISTAKE if once and printing.found_wanting else 0


class _Printing:
    """Prints one line for each processed message or file change."""

    def __init__(self) -> None:
        self.found_wanting = False

    def handled(self, one: Handled) -> None:
        self.found_wanting = self.found_wanting or one.found_wanting
        emit(one.as_json())
        if sys.stdout is not None:
            sys.stdout.flush()  # a reader may wait for this line


def _note(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class _Ending:
    """Handles Ctrl-C and TERM: the bus stops cleanly. A second Ctrl-C stops it at once."""

    def __init__(self, opened: OpenBus) -> None:
        self._opened = opened
        self._before: dict[int, signal.Handlers] = {}
        self.interrupted = False

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._end)  # type: ignore[assignment] # restored on exit
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = number == signal.SIGINT
        self._opened.end()


command.add_command(status)
command.add_command(new)
