"""`bylaw context`: check, call and show documents of the context language."""

from __future__ import annotations

import click

from bylaw.cli.check import print_report, report_format
from bylaw.cli.context_fmt import fmt
from bylaw.cli.context_moment import at_moment, files_argument, moment_options
from bylaw.cli.context_repl import repl
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS, Verbs
from bylaw.cli.output import always_json, emit, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.dialects.context.render import rendered
from bylaw.tools.check import report_on
from bylaw.tools.context.conversation import Conversation, Result
from bylaw.tools.context.documents import read_given
from bylaw.tools.context.variables import variables
from bylaw.tools.printers import context as printer

DASHES = "--"


@click.group(
    cls=Verbs,
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
def command() -> None:
    """Check, call and format documents of the context language.

    All FILEs are read as one document. For a folder, the documents in it are read. Nothing is
    performed. Only `fmt --write` writes files.
    """


@command.command(context_settings=HELP_OPTIONS)
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
        contract = read_given(files, tell)
    return print_report(report_on(contract.library), form)


class _WithMessages(click.Command):
    """A command that takes all words after `--` as messages, even if they look like options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words before `--` as usual, and store the words after it."""
        at = args.index(DASHES) if DASHES in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params["messages"] = tuple(args[at + 1 :])
        if not ctx.params["messages"] and not ctx.resilient_parsing:
            raise click.UsageError(f"write the messages after {DASHES}", ctx)
        return rest


@command.command(cls=_WithMessages, context_settings=HELP_OPTIONS)
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
        contract = read_given(files, tell)
    conversation = Conversation(contract)
    failed = False
    for message in messages:
        answer = conversation.say(message)
        failed |= answer.result is Result.ERROR
        emit(printer.answer_as_data(answer))
    return MISTAKE if failed else 0


@command.command(context_settings=HELP_OPTIONS)
@files_argument
@moment_options
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
    document, conversation = at_moment(files, messages, session, journal)
    slate = conversation.slate
    found = variables(document, slate)
    if form == "json":
        emit(printer.state_as_data(found, slate.enabled))
    else:
        write(printer.render_variables(found) + "\n" + printer.render_enabled(slate.enabled))
    return 0


@command.command(context_settings=HELP_OPTIONS)
@files_argument
@moment_options
def render(*, files: tuple[str, ...], messages: tuple[str, ...], session: str, journal: str) -> int:
    """Print the text for the model: what is enabled, and the state.

    The same document and the same state give the same bytes. Exit code 0 on success, 1 if the
    document does not load or a message is an error.

    \b
    Examples:
      bylaw context render modes.md --after "/review()"
    """
    document, conversation = at_moment(files, messages, session, journal)
    write(rendered(document, conversation.slate))
    return 0


command.add_command(fmt)
command.add_command(repl)
