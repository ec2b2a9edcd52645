"""A model behind Anthropic's Messages API, or behind a compatible server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.messages import Usage
from bylaw.hosts.chat.models.anthropic_request import anthropic_request
from bylaw.hosts.chat.models.asking import ask
from bylaw.hosts.chat.models.connection import connect, key_from, package_named
from bylaw.hosts.chat.models.failures import one_line
from bylaw.hosts.chat.models.patience import Patience
from bylaw.hosts.chat.models.turn import (
    LENGTH,
    NO_ROOM,
    REFUSED,
    number_in,
    text_in,
    unknown_end,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.messages import Reply, Request
    from bylaw.hosts.chat.models.turn import PartialCall, Turn

TOKEN = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - the name of a variable
KEYS = ("ANTHROPIC_API_KEY", TOKEN)

# Stop reasons, with a text for those that leave a turn incomplete. An unknown one does that, too.
_CUTS = {
    "end_turn": "",
    "stop_sequence": "",
    "tool_use": "",
    "max_tokens": LENGTH,
    "model_context_window_exceeded": NO_ROOM,
    "refusal": REFUSED,
}

# The input tokens of a request: plain, written to the provider's cache, and read from it.
_SENT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicModel:
    """A model of Anthropic.

    The constructor sends nothing. It raises ModelError if the package or the key is missing, or the
    address is invalid.
    """

    summarises = True
    hands_back = True
    ended = False

    def __init__(self, model: str, *, base_url: str = "", patience: Patience | None = None) -> None:
        self.name = f"anthropic:{model}"
        self._model = model
        key, package = key_from(*KEYS), package_named("anthropic")
        # With a key, the package does not look for another one in variables or files.
        kind = "auth_token" if key.variable == TOKEN else "api_key"

        def client(**settings: Any) -> Any:
            return package.Anthropic(**{kind: key.text}, **settings)

        self._line = connect(package, client, self.name, base_url, key, patience or Patience())

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """Return one turn of the assistant."""
        sent = anthropic_request(self._model, request)
        messages = self._line.client.messages
        return ask(
            self._line,
            lambda: messages.create(**sent, stream=True),
            AnthropicReading,
            request,
            on_text,
        )

    def close(self) -> None:
        """Close the connections."""
        self._line.client.close()


class AnthropicReading:
    """Reads the events of a message into a turn."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._tokens: dict[str, int] = {}
        self._calls: dict[int | None, PartialCall] = {}
        self._given: set[int | None] = set()

    def take(self, event: Any) -> str:
        """Read an event into the turn, and return the text in it."""
        match text_in(event, "type"):
            case "message_start":
                self._note_usage(getattr(getattr(event, "message", None), "usage", None))
            case "content_block_start":
                return self._begin(number_in(event, "index"), getattr(event, "content_block", None))
            case "content_block_delta":
                return self._extend(number_in(event, "index"), getattr(event, "delta", None))
            case "message_delta":
                self._note_usage(getattr(event, "usage", None))
                self._note_end(getattr(event, "delta", None))
        return ""

    def _begin(self, index: int | None, block: Any) -> str:
        kind = text_in(block, "type")
        if kind == "tool_use":
            call = self._turn.begin_call(text_in(block, "id"), text_in(block, "name"))
            self._calls[index] = call
            # Some servers send all arguments here at once and no pieces of them.
            if given := getattr(block, "input", None):
                self._given.add(index)
                self._turn.extend(call, json.dumps(given, ensure_ascii=False))
        return text_in(block, "text") if kind == "text" else ""

    def _extend(self, index: int | None, delta: Any) -> str:
        kind = text_in(delta, "type")
        call = self._calls.get(index)
        if kind == "input_json_delta" and call is not None:
            if index in self._given:
                self._given.remove(index)
                call.arguments.clear()
            self._turn.extend(call, text_in(delta, "partial_json"))
        return text_in(delta, "text") if kind == "text_delta" else ""

    def _note_usage(self, usage: object) -> None:
        for name in (*_SENT, "output_tokens"):
            tokens = number_in(usage, name)
            if tokens is not None:
                self._tokens[name] = tokens
        sent = [self._tokens[name] for name in _SENT if name in self._tokens]
        self._turn.usage = Usage(sum(sent) if sent else None, self._tokens.get("output_tokens"))

    def _note_end(self, delta: Any) -> None:
        reason = text_in(delta, "stop_reason")
        if not reason:
            return
        self._turn.ended = reason
        self._turn.cut = _CUTS.get(reason, unknown_end(reason))
        if why := one_line(text_in(getattr(delta, "stop_details", None), "explanation")):
            self._turn.cut += f": {why}"
