"""Load a context document and the session in which it is shown: new, recorded or after messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.failure import MISTAKE
from bylaw.cli.log import journal_option
from bylaw.cli.progress import progress
from bylaw.model.visible import visible
from bylaw.runtime.journal.reader import journal_path
from bylaw.tools.context.conversation import Conversation, Result
from bylaw.tools.context.documents import read_given
from bylaw.tools.context.variables import recorded_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.dialects.context.document import Document

files_argument = click.argument(
    "files", type=click.Path(), metavar="FILE…", nargs=-1, required=True
)
_OPTIONS = (
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


def moment_options(verb: Callable[..., int]) -> Callable[..., int]:
    """Add the options that select the session."""
    for option in _OPTIONS:
        verb = option(verb)
    return verb


def at_moment(
    files: Sequence[str], messages: Sequence[str], session: str, journal: str
) -> tuple[Document, Conversation]:
    """Return a valid document, and its session after the messages.

    Exits with 1 if a message is an error.
    """
    if journal and not session:
        raise click.UsageError("--journal needs --session")
    with progress() as tell:
        contract = read_given(files, tell)
        document = contract.sound
        past = recorded_session(journal or journal_path(), session, tell) if session else None
    conversation = Conversation(contract, past)
    for message in messages:
        answer = conversation.say(message)
        if answer.output:
            click.echo(seen(answer.output), err=True)
        if answer.result is Result.ERROR:
            raise click.exceptions.Exit(MISTAKE)
    return document, conversation


def seen(output: str) -> str:
    """Escape an output of the language for the terminal."""
    return "\n".join(map(visible, output.split("\n")))
