"""`bylaw bus`: messages and changes of files → handled under law; what waits; a new message."""

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
    subcommand_metavar="VERB …",
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
    """Run the bus of a repository under its law (RULE_DSL).

    Agents put messages into runtime/bus/input; the rules in runtime/rules/ say what becomes of
    them. Evidence is written to runtime/bus/output and runtime/bus/error.
    """


@command.command(context_settings=HELP_OPTIONS)
@root_option
@click.option("--once", is_flag=True, help="Handle the messages that are there now, then end.")
@click.option("--trust", is_flag=True, help="Trust what is started for this run; for CI.")
@always_json
def run(*, root: str, once: bool, trust: bool) -> int:
    """Handle messages, and changes of files, as they come.

    Every message is claimed, judged by the rules and carried out, or held until somebody
    approves it. One JSON line tells what became of it: "msg_id", "file", "verdict", "rule",
    "status" (done, held, refused, failed) and the "evidence". Changes of files that a rule is
    about get a line with "change" and "path". Several may run on one repository. Ends with
    Ctrl-C or a TERM signal, and ends the command that runs.

    Commands run only if `bylaw trust` or --trust allows it. With --once, changes of files are
    left for the next `bylaw bus run`. Exits 1 if a message was refused or failed, else 0.

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
    """One line for each thing that was handled."""

    def __init__(self) -> None:
        self.found_wanting = False

    def handled(self, one: Handled) -> None:
        self.found_wanting = self.found_wanting or one.found_wanting
        emit(one.as_json())
        if sys.stdout is not None:
            sys.stdout.flush()  # somebody may wait for it


def _note(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class _Ending:
    """While this lasts, Ctrl-C and TERM end the bus in good order; a second Ctrl-C at once."""

    def __init__(self, opened: OpenBus) -> None:
        self._opened = opened
        self._before: dict[int, signal.Handlers] = {}
        self.interrupted = False

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._end)  # type: ignore[assignment] # as it was
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
