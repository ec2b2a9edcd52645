"""Files, messages, a recorded session → a document of the context language and the moment meant."""

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
        help="As it was after the last record of this session in a journal; chat:FILE is a chat.",
    ),
    click.option(
        "--after",
        "messages",
        metavar="MESSAGE",
        multiple=True,
        help="A message that is said first; may be repeated.",
    ),
)


def moment_options(verb: Callable[..., int]) -> Callable[..., int]:
    """The options that say which moment is meant."""
    for option in _OPTIONS:
        verb = option(verb)
    return verb


def at_moment(
    files: Sequence[str], messages: Sequence[str], session: str, journal: str
) -> tuple[Document, Conversation]:
    """A document that loads, and the session in which the messages were said."""
    if journal and not session:
        raise click.UsageError("--journal goes with --session")
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
    """An output of the language as a terminal may show it."""
    return "\n".join(map(visible, output.split("\n")))
