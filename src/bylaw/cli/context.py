"""`bylaw context`: check, call, show, format and try documents of the context language."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.check import print_report, report_format
from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS, CommandGroup
from bylaw.cli.log import journal_option
from bylaw.cli.terminal import always_json, emit, progress, text_or_json, write
from bylaw.languages.context.output import render_state
from bylaw.model.display import brief, visible
from bylaw.model.errors import BylawError
from bylaw.model.suggest import did_you_mean
from bylaw.report.check import build_report
from bylaw.report.context import (
    DELIMITERS,
    Conversation,
    MessageResult,
    completions,
    read_context_files,
    recorded_session,
    variables,
)
from bylaw.report.context_format import format_documents
from bylaw.report.decide import read_lines
from bylaw.report.printers import verify as printer
from bylaw.runtime.journal_access import journal_path
from bylaw.store.files import os_error_text, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.languages.context.declarations import Document
    from bylaw.report.context_format import FormattedFile

files_argument = click.argument(
    "files", type=click.Path(), metavar="FILE…", nargs=-1, required=True
)
_SESSION_OPTIONS = (
    journal_option,
    click.option(
        "--session",
        metavar="ID",
        default="",
        help="Use this session of a journal, after its last record; chat:FILE for a chat.",
    ),
    click.option(
        "--after",
        "messages",
        metavar="MESSAGE",
        multiple=True,
        help="Send this message first; may be repeated.",
    ),
)


def session_options(verb: Callable[..., int]) -> Callable[..., int]:
    """Add the options that select the session."""
    for option in _SESSION_OPTIONS:
        verb = option(verb)
    return verb


def open_session(
    files: Sequence[str], messages: Sequence[str], session: str, journal: str
) -> tuple[Document, Conversation]:
    """Return a valid document, and its session after the messages.

    Exits with 1 if a message is an error.
    """
    if journal and not session:
        raise click.UsageError("--journal needs --session")
    with progress() as tell:
        contract = read_context_files(files, tell)
        document = contract.required_document
        past = recorded_session(journal or journal_path(), session, tell) if session else None
    conversation = Conversation(contract, past)
    for message in messages:
        answer = conversation.say(message)
        if answer.output:
            click.echo(escape_output(answer.output), err=True)
        if answer.result is MessageResult.ERROR:
            raise click.exceptions.Exit(MISTAKE)
    return document, conversation


def escape_output(output: str) -> str:
    """Escape an output of the language for the terminal."""
    return "\n".join(map(visible, output.split("\n")))


@click.command(context_settings=HELP_OPTIONS)
@files_argument
@click.option(
    "--check", "checks", is_flag=True, help="List files that would change. Exit code 1 if any."
)
@click.option("--write", "writes", is_flag=True, help="Write the files that change.")
@text_or_json
def fmt(*, files: tuple[str, ...], checks: bool, writes: bool, form: str) -> int:
    """Print a document in its canonical form, or write it to its files.

    Each marker starts its line. Bodies of blocks are rewritten: keys in the order of their
    schema, two blanks for each level, quotes only where YAML 1.2 needs them, types as List<Int>
    and Map<String, Int>. Comments stay with what they describe. Prose, text blocks and the
    body of LANGUAGE_SPEC stay byte for byte. The meaning does not change, and formatting again
    changes nothing. If a document does not load, nothing is printed or written.

    Several FILEs are one document and are printed one after the other. Exit code 0 on success,
    1 if the document does not load or --check finds a file that would change.

    \b
    Examples:
      bylaw context fmt modes.md
      bylaw context fmt .bylaw/context --check
      bylaw context fmt modes.md review.md --write
    """
    if checks and writes:
        raise click.UsageError("cannot combine --check and --write")
    with progress() as tell:
        found = format_documents(read_context_files(files, tell))
    if writes:
        _write(found)
    if form == "json":
        emit(printer.formatted_files_data(found, with_text=not (checks or writes)))
    elif checks or writes:
        write(printer.render_changed_files(found, "changed" if writes else "would change"))
    else:
        write("".join(one.text for one in found))
    return MISTAKE if checks and any(one.changed for one in found) else 0


def _write(files: Sequence[FormattedFile]) -> None:
    for one in files:
        try:
            if one.changed:
                replace_file(one.location, one.text.encode())
        except (OSError, ValueError) as wrong:
            raise BylawError(f"cannot write `{one.path}`: {os_error_text(wrong)}") from None


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
        contract = read_context_files(files, tell)
    session = _Repl(contract.required_document, Conversation(contract))
    if sys.stdin is None:
        return 0
    if not (sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        return MISTAKE if session.take(_pipe_lines()) else 0
    _enable_completion(contract.required_document)
    write(WELCOME)
    session.take(_terminal_lines())
    return 0


class _Repl:
    """One session, on a terminal or in a pipe."""

    def __init__(self, document: Document, conversation: Conversation) -> None:
        self._document = document
        self._conversation = conversation
        self._shows: dict[str, Callable[[], str]] = {
            STATE: self._state,
            ENABLED: lambda: printer.render_enabled(conversation.slate.enabled),
            RENDER: lambda: render_state(document, conversation.slate),
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
                failed |= answer.result is MessageResult.ERROR
                _show_text(escape_output(answer.output) + "\n" if answer.output else "")
        return failed

    def _show(self, asked: str) -> None:
        if asked in self._shows:
            _show_text(self._shows[asked]())
        else:
            hint = did_you_mean(asked, WORDS)
            click.echo(f"`{escape_output(brief(asked))}` is not a command; {hint}", err=True)

    def _state(self) -> str:
        return printer.render_variables(variables(self._document, self._conversation.slate))


def _show_text(text: str) -> None:
    write(text)
    sys.stdout.flush()


def _pipe_lines() -> Iterator[str]:
    for line in read_lines(sys.stdin.buffer):
        if line.data is None:
            click.echo(f"line {line.number} is too long and was skipped", err=True)
        else:
            yield line.data.decode("utf-8", "surrogateescape")


def _terminal_lines() -> Iterator[str]:
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


def _enable_completion(document: Document) -> None:
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


DASHES = "--"


@click.group(
    cls=CommandGroup,
    name="context",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw context check modes.md
      bylaw context call modes.md -- "/mode(design)"
      bylaw context repl modes.md
    """,
)
def context_command() -> None:
    """Check, call and format documents of the context language.

    All FILEs are read as one document. For a folder, the documents in it are read. Nothing is
    performed. Only `fmt --write` writes files.
    """


@context_command.command(context_settings=HELP_OPTIONS)
@files_argument
@report_format
def check(files: tuple[str, ...], form: str) -> int:
    """Load a document and report errors.

    Error codes are those of the language. A document is checked in phases: framing, YAML,
    schemas, unique names, references, types. Bylaw reports all errors of the first phase that
    finds one. Exit code 0 on success, 1 if there is an error.

    \b
    Examples:
      bylaw context check modes.md
      bylaw context check modes.md review.md --format json
    """
    with progress() as tell:
        contract = read_context_files(files, tell)
    return print_report(build_report(contract.library), form)


class _MessagesCommand(click.Command):
    """A command that takes all words after `--` as messages, even if they look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words before `--` as usual, and store the words after it."""
        at = args.index(DASHES) if DASHES in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params["messages"] = tuple(args[at + 1 :])
        if not ctx.params["messages"] and not ctx.resilient_parsing:
            raise click.UsageError(f"write the messages after {DASHES}", ctx)
        return rest


@context_command.command(cls=_MessagesCommand, context_settings=HELP_OPTIONS)
@click.argument("files", type=click.Path(), metavar="FILE… -- MESSAGE…", nargs=-1, required=True)
@always_json
def call(files: tuple[str, ...], messages: tuple[str, ...]) -> int:
    """Send user messages to a document and print the results.

    All messages are sent in one session; a MESSAGE may have several lines. For each message it
    prints one line: {"message", "result", "output", "state", "enabled"}. The result is "ok" if
    a call ran, "error" if a call failed, "warning" if a line is almost a call, else "prose".
    The output is the exact text that a user sees: the payload of the error, the lines of the
    warning, or nothing. State and enabled are the values after the message. If the document
    does not load, every message gets its first error. Exit code 0 on success, 1 if there was
    an error.

    \b
    Examples:
      bylaw context call modes.md -- "/mode(design)"
      bylaw context call a.md b.md -- "/a.mode(plan)" "/review()"
    """
    with progress() as tell:
        contract = read_context_files(files, tell)
    conversation = Conversation(contract)
    failed = False
    for message in messages:
        answer = conversation.say(message)
        failed |= answer.result is MessageResult.ERROR
        emit(printer.answer_as_data(answer))
    return MISTAKE if failed else 0


@context_command.command(context_settings=HELP_OPTIONS)
@files_argument
@session_options
@text_or_json
def state(
    *, files: tuple[str, ...], messages: tuple[str, ...], session: str, journal: str, form: str
) -> int:
    """Show the variables of a document with their types and values.

    The values are those of a new session, unless you pass --session or --after. Exit code 0 on
    success, 1 if the document does not load or a message is an error.

    \b
    Examples:
      bylaw context state modes.md
      bylaw context state modes.md --after "/mode(plan)" --format json
      bylaw context state .bylaw/context --session chat:prompts/main.chatmd
    """
    document, conversation = open_session(files, messages, session, journal)
    slate = conversation.slate
    found = variables(document, slate)
    if form == "json":
        emit(printer.state_as_data(found, slate.enabled))
    else:
        write(printer.render_variables(found) + "\n" + printer.render_enabled(slate.enabled))
    return 0


@context_command.command(context_settings=HELP_OPTIONS)
@files_argument
@session_options
def render(*, files: tuple[str, ...], messages: tuple[str, ...], session: str, journal: str) -> int:
    """Print the text for the model: what is enabled, and the state.

    The same document and the same state give the same bytes. Exit code 0 on success, 1 if the
    document does not load or a message is an error.

    \b
    Examples:
      bylaw context render modes.md --after "/review()"
    """
    document, conversation = open_session(files, messages, session, journal)
    write(render_state(document, conversation.slate))
    return 0


context_command.add_command(fmt)
context_command.add_command(repl)
