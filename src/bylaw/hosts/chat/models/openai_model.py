"""A model behind OpenAI's Chat Completions API, or behind a compatible server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.messages import Usage
from bylaw.hosts.chat.models.asking import ask
from bylaw.hosts.chat.models.connection import connect, key_from, package_named
from bylaw.hosts.chat.models.openai_request import openai_request
from bylaw.hosts.chat.models.patience import Patience
from bylaw.hosts.chat.models.turn import (
    FILTERED,
    LENGTH,
    REFUSED,
    items_in,
    number_in,
    text_in,
    unknown_end,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.messages import Reply, Request
    from bylaw.hosts.chat.models.turn import PartialCall, Turn

KEYS = ("OPENAI_API_KEY",)

# Stop reasons, with a text for those that leave a turn incomplete. An unknown one does that, too.
_CUTS = {
    "stop": "",
    "tool_calls": "",
    "function_call": "",
    "length": LENGTH,
    "content_filter": FILTERED,
}


class OpenAIModel:
    """A model of OpenAI.

    The constructor sends nothing. It raises ModelError if the package or the key is missing, or the
    address is invalid.
    """

    summarises = True
    hands_back = True
    ended = False

    def __init__(self, model: str, *, base_url: str = "", patience: Patience | None = None) -> None:
        self.name = f"openai:{model}"
        self._model = model
        key, package = key_from(*KEYS), package_named("openai")

        def client(**settings: Any) -> Any:
            return package.OpenAI(api_key=key.text, **settings)

        self._line = connect(package, client, self.name, base_url, key, patience or Patience())

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """Return one turn of the assistant."""
        sent = openai_request(self._model, request)
        completions = self._line.client.chat.completions
        return ask(
            self._line,
            lambda: completions.create(**sent, stream=True),
            OpenAIReading,
            request,
            on_text,
        )

    def close(self) -> None:
        """Close the connections."""
        self._line.client.close()


class OpenAIReading:
    """Reads the chunks of a completion into a turn."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._by_index: dict[int | None, PartialCall] = {}

    def take(self, event: Any) -> str:
        """Read a chunk into the turn, and return the text in it."""
        self._note_usage(getattr(event, "usage", None))
        choices = items_in(event, "choices")
        if not choices:
            return ""
        self._note_end(text_in(choices[0], "finish_reason"))
        delta = getattr(choices[0], "delta", None)
        for piece in items_in(delta, "tool_calls"):
            self._add_call(piece, getattr(piece, "function", None))
        refusal = text_in(delta, "refusal")
        if refusal:
            self._turn.cut = REFUSED
        return text_in(delta, "content") + refusal

    def _note_usage(self, usage: object) -> None:
        sent = number_in(usage, "prompt_tokens")
        received = number_in(usage, "completion_tokens")
        if sent is not None or received is not None:
            self._turn.usage = Usage(sent, received)

    def _note_end(self, reason: str) -> None:
        if reason:
            self._turn.ended = reason
            self._turn.cut = self._turn.cut or _CUTS.get(reason, unknown_end(reason))

    def _add_call(self, piece: object, function: object) -> None:
        index, call_id = number_in(piece, "index"), text_in(piece, "id")
        name = text_in(function, "name")
        call = self._by_index.get(index)
        # Some servers give every call the same index, or none; only the ids differ.
        if call is None or (call_id and call.id and call_id != call.id):
            call = self._by_index[index] = self._turn.begin_call(call_id, name)
        else:
            call.id = call.id or call_id
            # Some servers send the name with every piece.
            call.name = call.name or name
        self._turn.extend(call, text_in(function, "arguments"))
