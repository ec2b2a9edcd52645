"""A connection and a request → a reply, asking again while that helps and nothing was shown yet."""

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
    """How one provider tells a turn."""

    def __init__(self, turn: Turn) -> None:
        """Begin a turn."""

    def take(self, event: Any) -> str:
        """Note what an event tells; the text in it. FormError if it has another form."""


def ask(
    line: Connection,
    open_stream: Callable[[], Any],
    reading: type[Reading],
    request: Request,
    on_text: Callable[[str], None],
) -> Reply:
    """One turn; ModelError if there is none. No text is given to `on_text` twice."""
    for asked in count(1):
        turn = Turn(request, on_text)
        try:
            return _attempt(line, open_stream, reading(turn), turn, request)
        except Failure as failure:
            if turn.released:
                raise ModelError(f"the turn broke off in the middle: {failure}") from None
            wait_s = line.patience.wait_s(asked, failure)
            if wait_s is None:
                times = f" (asked {asked} times)" if asked > 1 else ""
                raise ModelError(f"{failure}{times}") from None
        sleep(wait_s)
    raise AssertionError("counting has no end")


def _attempt(
    line: Connection,
    open_stream: Callable[[], Any],
    reading: Reading,
    turn: Turn,
    request: Request,
) -> Reply:
    # What `on_text` raises is no failure of the model: only the reading is watched.
    with closing(line.events(open_stream)) as events:
        for event in events:
            turn.say(_taken(line, reading, event))
    if not turn.ended:
        raise Failure(f"the answer of {line.name} has no end", again=True)
    return turn.reply(names_back(request.tools))


def _taken(line: Connection, reading: Reading, event: Any) -> str:
    try:
        return reading.take(event)
    except (FormError, RecursionError) as wrong:
        raise Failure(f"the answer of {line.name} has a wrong form: {wrong}") from None
