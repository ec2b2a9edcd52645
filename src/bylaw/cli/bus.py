"""`bylaw bus`: process messages and file changes, show the bus, write a message."""

from __future__ import annotations

import re
import shutil
import signal
import sys
from time import sleep
from typing import TYPE_CHECKING, Any, Self

import click

from bylaw.cli.errors import INTERRUPTED, MISTAKE
from bylaw.cli.frame import HELP_OPTIONS, CommandGroup
from bylaw.cli.terminal import (
    always_json,
    emit,
    live_screen,
    resolve_root,
    root_option,
    screen_columns,
    text_or_json,
    uses_color,
    write,
)
from bylaw.hosts.bus.evidence import message_bytes
from bylaw.hosts.bus.new_message import MAX_WORD, MessageOptions, NewMessages, id_word
from bylaw.hosts.bus.orchestrator import BusListener, open_bus
from bylaw.hosts.bus.status import BusStatus
from bylaw.languages.law.syntax import PHASES, Category, CommandType
from bylaw.model.vocabulary import Authority
from bylaw.report.printers import bus as printer
from bylaw.store.system import user_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from bylaw.hosts.bus.handle_message import MessageOutcome
    from bylaw.hosts.bus.orchestrator import OpenBus
    from bylaw.hosts.bus.snapshot import BusReport

_SLUG = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{MAX_WORD - 1}}}")
# Field of a message → option of this command.
_OPTIONS = {
    "title": "--title",
    "target_paths": "--path",
    "run": "--run",
    "notes": "--notes",
    "origin_ref": "--origin",
    "created_by": "--by",
    "phase": "--phase",
}


def _new_text(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Check that a message can contain the text: it must be UTF-8."""
    for one in value if isinstance(value, tuple) else (value or "",):
        try:
            one.encode()
        except UnicodeEncodeError:
            raise click.BadParameter("not UTF-8 text", ctx, param) from None
    return value


def _check_not_empty(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("must not be empty", ctx, param)
    return str(_new_text(ctx, param, value))


def _check_creator(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    by = user_name() if value is None else value
    if not id_word(by):
        words = "part of the id: it needs a letter from a to z, or a digit"
        raise click.BadParameter(words, ctx, param)
    return str(_new_text(ctx, param, by))


def _check_slug(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value and not _SLUG.fullmatch(value):
        words = f"invalid slug `{value}`: use 1 to {MAX_WORD} of a-z, A-Z, 0-9, _ and -"
        raise click.BadParameter(f"{words}, not starting with _ or -", ctx, param)
    return value


@click.command(context_settings=HELP_OPTIONS)
@root_option
@click.option("--title", metavar="TEXT", required=True, callback=_check_not_empty, help="Subject.")
@click.option(
    "--category",
    type=click.Choice([one.value for one in Category]),
    required=True,
    help="A needs no approval, B and C need one, D is an emergency.",
)
@click.option(
    "--command-type",
    type=click.Choice([one.value for one in CommandType]),
    help="Type of the request. Default: exec with --run, else task.",
)
@click.option(
    "--path",
    "paths",
    metavar="PATH",
    multiple=True,
    callback=_new_text,
    help="File that the message is about, relative to the root; may be repeated.",
)
@click.option(
    "--run",
    metavar="COMMAND",
    multiple=True,
    callback=_new_text,
    help="Command to run; may be repeated. It needs a rule that allows it, and an approval.",
)
@click.option("--notes", metavar="TEXT", default="", callback=_new_text, help="Additional notes.")
@click.option(
    "--origin",
    metavar="TEXT",
    default="",
    callback=_new_text,
    help="Source: an event, a path, or the id that an approval request is about.",
)
@click.option(
    "--by",
    metavar="NAME",
    callback=_check_creator,
    help="Creator. Default: the name of your account. It grants nothing.",
)
@click.option(
    "--approval-by",
    type=click.Choice([one.value for one in Authority]),
    multiple=True,
    help="Authority whose approval it requests; may be repeated.",
)
@click.option("--requires-approval", is_flag=True, help="Require an approval even in category A.")
@click.option(
    "--slug",
    metavar="WORD",
    default="",
    callback=_check_slug,
    help="Last part of the id. Default: made from the title.",
)
@click.option(
    "--phase",
    type=click.IntRange(PHASES[0], PHASES[-1]),
    help="Phase. Default: the active phase of SHARED_CONTEXT.md.",
)
@click.option("--dry-run", is_flag=True, help="Print the message without writing it.")
@text_or_json
def new(*, root: str, dry_run: bool, form: str, **wanted: Any) -> int:
    """Write a valid message into the bus.

    The id consists of the time (UTC), the creator and the shortened title. Before it is
    written, the message is validated as strictly as by `bylaw bus run`, so it is never refused
    for its form. Prints the path of the new file or, with --dry-run, its content.

    \b
    Examples:
      bylaw bus new --title "Fix the lint errors" --category A --path src/app.py
      bylaw bus new --title Deploy --category C --run "npm run deploy" \\
        --approval-by human
      bylaw bus new --title Tests --category B --run pytest --by cursor --dry-run
    """
    wish = MessageOptions(**wanted)
    if wish.command_type == CommandType.APPROVAL_REQUEST and not wish.origin:
        raise click.UsageError("an approval request needs the id of a message: add `--origin ID`")
    messages = NewMessages(resolve_root(root))
    draft = messages.draft(wish)
    if draft.problems:
        raise click.UsageError("; ".join(map(_with_option_name, draft.problems)))
    if dry_run:
        path = messages.place(draft)
    else:
        draft, path = messages.put(draft)
    _warn_idle_commands(wish)
    if form == "json":
        told = {"msg_id": draft.msg_id, "path": path, "written": not dry_run}
        emit(told | {"message": draft.message})
    else:
        write(message_bytes(draft.message).decode() if dry_run else f"{path}\n")
    return 0


def _with_option_name(problem: str) -> str:
    for key, option in _OPTIONS.items():
        if problem.startswith(f"`{key}`"):
            return f"`{option}`{problem[len(key) + 2 :]}"
    return problem


def _warn_idle_commands(wish: MessageOptions) -> None:
    """Note that commands in category A messages never run (LD-A18)."""
    if wish.run and wish.category == Category.A and sys.stderr is not None:
        click.echo("note: rules never run the commands of a category A message", err=True)


POLL_S = 0.5  # pause between two readings
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
    looked_at = BusStatus(resolve_root(root), limit)
    on_screen = form == "text" and sys.stdout is not None and sys.stdout.isatty()
    if not (on_screen if follow is None else follow):
        _print(looked_at.read(), form)
    elif on_screen:
        with live_screen() as show:
            _follow(looked_at, lambda report: show(_status_text(report)))
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
        sleep(POLL_S)


def _print(report: BusReport, form: str) -> None:
    if form == "json":
        emit(printer.as_data(report))
    else:
        write(_status_text(report))


def _status_text(report: BusReport) -> str:
    return printer.render(report, screen_columns(), color=uses_color(sys.stdout))


@click.group(
    cls=CommandGroup,
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
def bus_command() -> None:
    """Run the bus of a repository under its RULE_DSL rules.

    Agents write messages into runtime/bus/input. The rules in runtime/rules/ decide what
    happens to them. Bylaw writes evidence to runtime/bus/output and runtime/bus/error.
    """


@bus_command.command(context_settings=HELP_OPTIONS)
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
    printing = _OutcomePrinter()
    telling = BusListener(printing.handled, _note)
    with (
        open_bus(resolve_root(root), telling, trust=trust) as opened,
        _SignalHandler(opened) as ending,
    ):
        if once:
            opened.orchestrator.run_once()
        else:
            opened.run()
    if ending.interrupted:
        return INTERRUPTED
    return MISTAKE if once and printing.found_wanting else 0


class _OutcomePrinter:
    """Prints one line for each processed message or file change."""

    def __init__(self) -> None:
        self.found_wanting = False

    def handled(self, one: MessageOutcome) -> None:
        self.found_wanting = self.found_wanting or one.found_wanting
        emit(one.as_json())
        if sys.stdout is not None:
            sys.stdout.flush()  # a reader may wait for this line


def _note(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class _SignalHandler:
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


bus_command.add_command(status)
bus_command.add_command(new)
