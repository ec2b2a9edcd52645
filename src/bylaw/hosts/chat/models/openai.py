"""A model behind OpenAI's Chat Completions API, or behind a compatible server.

Roles stay as they are. A call that a rule or a person wrote may have a name or an id that the API
rejects: `wire_name` replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.blocks import Usage
from bylaw.hosts.chat.models.base import RetryPolicy, refuse_images, split_data_uri, wire_name
from bylaw.hosts.chat.models.connection import connect, find_key, import_package, request_turn
from bylaw.hosts.chat.models.turn import (
    FILTERED,
    LENGTH,
    REFUSED,
    items_in,
    number_in,
    text_in,
    unknown_stop_reason,
)
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.blocks import (
        ModelCall,
        ModelOptions,
        Reply,
        Request,
        RequestMessage,
        ToolSpec,
    )
    from bylaw.hosts.chat.models.turn import PartialCall, TurnBuilder
    from bylaw.model.values import JSON

MAX_ID = 40


def openai_request(model: str, request: Request) -> dict[str, JSON]:
    """Return the arguments of the request, except `stream`."""
    sent: dict[str, JSON] = {"model": model, "messages": [_message(m) for m in request.messages]}
    if request.tools:
        sent["tools"] = [_tool(tool) for tool in request.tools]
    return sent | _options(request.options) | {"stream_options": {"include_usage": True}}


def _message(message: RequestMessage) -> dict[str, JSON]:
    if message.role is Role.USER:
        return {"role": "user", "content": _user_content(message)}
    refuse_images(message)
    if message.role is Role.TOOL:
        answers = _id(message.answers)
        return {"role": "tool", "tool_call_id": answers, "content": message.text}
    if not message.calls:
        return {"role": message.role.value, "content": message.text}
    calls: list[JSON] = [_call(call) for call in message.calls]
    # With calls, the text is optional, and some servers reject an empty one.
    said: dict[str, JSON] = {"content": message.text} if message.text else {}
    return {"role": message.role.value, **said, "tool_calls": calls}


def _user_content(message: RequestMessage) -> JSON:
    if not message.images:
        return message.text
    parts: list[JSON] = [{"type": "text", "text": message.text}] if message.text else []
    for image in message.images:
        split_data_uri(image)
        parts.append({"type": "image_url", "image_url": {"url": image.url}})
    return parts


def _call(call: ModelCall) -> dict[str, JSON]:
    function: JSON = {"name": wire_name(call.tool), "arguments": call.arguments}
    return {"id": _id(call.id), "type": "function", "function": function}


def _id(call_id: str) -> str:
    # The API accepts any characters, and some models need the id as they wrote it.
    return call_id if len(call_id) <= MAX_ID else wire_name(call_id, MAX_ID)


def _tool(tool: ToolSpec) -> dict[str, JSON]:
    function: dict[str, JSON] = {"name": wire_name(tool.name), "parameters": tool.parameters}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _options(options: ModelOptions) -> dict[str, JSON]:
    # Models that reason reject the older `max_tokens`.
    named: dict[str, JSON] = {
        "max_completion_tokens": options.max_tokens,
        "temperature": options.temperature,
        "reasoning_effort": options.reasoning_effort or None,
    }
    return {name: value for name, value in named.items() if value is not None}


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

    def __init__(
        self, model: str, *, base_url: str = "", patience: RetryPolicy | None = None
    ) -> None:
        self.name = f"openai:{model}"
        self._model = model
        key, package = find_key(*KEYS), import_package("openai")

        def client(**settings: Any) -> Any:
            return package.OpenAI(api_key=key.text, **settings)

        self._line = connect(package, client, self.name, base_url, key, patience or RetryPolicy())

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """Return one turn of the assistant."""
        sent = openai_request(self._model, request)
        completions = self._line.client.chat.completions
        return request_turn(
            self._line,
            lambda: completions.create(**sent, stream=True),
            OpenAITurnReader,
            request,
            on_text,
        )

    def close(self) -> None:
        """Close the connections."""
        self._line.client.close()


class OpenAITurnReader:
    """Reads the chunks of a completion into a turn."""

    def __init__(self, turn: TurnBuilder) -> None:
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
            self._turn.cut = self._turn.cut or _CUTS.get(reason, unknown_stop_reason(reason))

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
