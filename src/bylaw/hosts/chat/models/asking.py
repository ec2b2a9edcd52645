"""Request one turn of a model, and retry while that can help and no text was shown yet."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from time import sleep
from typing import TYPE_CHECKING, Any, Protocol

from bylaw.hosts.chat.models.base import ModelError
from bylaw.hosts.chat.models.patience import Failure
from bylaw.hosts.chat.models.turn import FormError, Turn
from bylaw.hosts.chat.models.wire_names import names_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.messages import Reply, Request
    from bylaw.hosts.chat.models.connection import Connection


class Reading(Protocol):
    """Reads the stream of one provider into a turn."""

    def __init__(self, turn: Turn) -> None:
        """Begin to read into a turn."""

    def take(self, event: Any) -> str:
        """Read an event into the turn, and return the text in it. FormError if it is malformed."""


def ask(
    line: Connection,
    open_stream: Callable[[], Any],
    reading: type[Reading],
    request: Request,
    on_text: Callable[[str], None],
) -> Reply:
    """Return one turn. Raises ModelError if it fails. `on_text` gets no text twice."""
    for asked in count(1):
        turn = Turn(request, on_text)
        try:
            return _attempt(line, open_stream, reading(turn), turn, request)
        except Failure as failure:
            if turn.released:
                raise ModelError(f"the turn was interrupted: {failure}") from None
            wait_s = line.patience.wait_s(asked, failure)
            if wait_s is None:
                times = f" (after {asked} attempts)" if asked > 1 else ""
                raise ModelError(f"{failure}{times}") from None
        sleep(wait_s)
    raise AssertionError("the loop does not end by itself")


def _attempt(
    line: Connection,
    open_stream: Callable[[], Any],
    reading: Reading,
    turn: Turn,
    request: Request,
) -> Reply:
    # An error in `on_text` is not a failure of the model, so only the reading is guarded.
    with closing(line.events(open_stream)) as events:
        for event in events:
            turn.say(_taken(line, reading, event))
    if not turn.ended:
        raise Failure(f"the answer of {line.name} ended too early", again=True)
    return turn.reply(names_back(request.tools))


def _taken(line: Connection, reading: Reading, event: Any) -> str:
    try:
        return reading.take(event)
    except (FormError, RecursionError) as wrong:
        raise Failure(f"the answer of {line.name} is malformed: {wrong}") from None
