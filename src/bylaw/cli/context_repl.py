"""`bylaw context repl`: send lines to a document, one after the other, and show the results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.context_moment import files_argument, seen
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import write
from bylaw.cli.progress import progress
from bylaw.dialects.context.render import rendered
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief
from bylaw.tools.context.completing import DELIMITERS, completions
from bylaw.tools.context.conversation import Conversation, Result
from bylaw.tools.context.documents import read_given
from bylaw.tools.context.variables import variables
from bylaw.tools.event_lines import event_lines
from bylaw.tools.printers import context as printer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.dialects.context.document import Document

PROMPT = "> "
STATE, ENABLED, RENDER, QUIT = WORDS = (":state", ":enabled", ":render", ":quit")
WELCOME = "/ and Tab complete a call; :state, :enabled, :render show the session; :quit exits\n"


@click.command(context_settings=HELP_OPTIONS)
@files_argument
def repl(files: tuple[str, ...]) -> int:
    """Try a document: each line is a user message, all in one session.

    Prints what a user would see: nothing if a call ran, the payload of an error, or a warning.
    :state, :enabled and :render show the variables, what is enabled, and the text for the model.
    :quit or the end of input exits. On a terminal, Tab completes commands, names of arguments
    and values of enums, and the arrow keys bring back earlier lines. In a pipe there is no
    prompt, and the exit code is 1 if a message was an error.

    \b
    Examples:
      bylaw context repl modes.md
      printf '/mode(plan)\\n:state\\n' | bylaw context repl modes.md
    """
    with progress() as tell:
        contract = read_given(files, tell)
    session = _Repl(contract.sound, Conversation(contract))
    if sys.stdin is None:
        return 0
    if not (sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        return MISTAKE if session.take(_piped()) else 0
    _offer_completions(contract.sound)
    write(WELCOME)
    session.take(_typed())
    return 0


class _Repl:
    """One session, on a terminal or in a pipe."""

    def __init__(self, document: Document, conversation: Conversation) -> None:
        self._document = document
        self._conversation = conversation
        self._shows: dict[str, Callable[[], str]] = {
            STATE: self._state,
            ENABLED: lambda: printer.render_enabled(conversation.slate.enabled),
            RENDER: lambda: rendered(document, conversation.slate),
        }

    def take(self, lines: Iterator[str]) -> bool:
        """Answer lines up to `:quit`. Return whether one of them was an error."""
        failed = False
        for line in lines:
            if line.strip() == QUIT:
                break
            if line.startswith(":"):
                self._show(line.strip())
            else:
                answer = self._conversation.say(line)
                failed |= answer.result is Result.ERROR
                _say(seen(answer.output) + "\n" if answer.output else "")
        return failed

    def _show(self, asked: str) -> None:
        if asked in self._shows:
            _say(self._shows[asked]())
        else:
            hint = did_you_mean(asked, WORDS)
            click.echo(f"`{seen(brief(asked))}` is not a command; {hint}", err=True)

    def _state(self) -> str:
        return printer.render_variables(variables(self._document, self._conversation.slate))


def _say(text: str) -> None:
    write(text)
    sys.stdout.flush()


def _piped() -> Iterator[str]:
    for line in event_lines(sys.stdin.buffer):
        if line.data is None:
            click.echo(f"line {line.number} is too long and was skipped", err=True)
        else:
            yield line.data.decode("utf-8", "surrogateescape")


def _typed() -> Iterator[str]:
    """Yield lines from the terminal. Ctrl-C drops a line; the end of input ends the loop."""
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            write("\n")
            return
        except KeyboardInterrupt:
            write("\n")
            continue
        if line.strip():
            yield line


def _offer_completions(document: Document) -> None:
    try:
        import readline  # noqa: PLC0415 - not every Python has it, and only a terminal needs it
    except ImportError:
        return

    def complete(_: str, number: int) -> str | None:
        line = readline.get_line_buffer()[: readline.get_endidx()]
        ours = [word for word in WORDS if line and word.startswith(line)]
        found = ours or completions(document, line)
        return found[number] if number < len(found) else None

    readline.set_completer_delims(DELIMITERS)
    readline.set_completer(complete)
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
