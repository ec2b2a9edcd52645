"""A model behind Anthropic's Messages API, or behind a compatible server.

The API has no role `developer`, and only some of its models accept `system` after the beginning,
in few places. So the system and developer messages at the beginning become the system prompt. Later
ones stay in their place as user text in `<system-reminder>`, which every model and every compatible
server accepts. Adjacent messages of one role are joined and empty texts are left out, because the
API requires both.
"""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.blocks import Usage
from bylaw.hosts.chat.models.base import RetryPolicy, refuse_images, split_data_uri, wire_name
from bylaw.hosts.chat.models.connection import (
    connect,
    find_key,
    import_package,
    one_line,
    request_turn,
)
from bylaw.hosts.chat.models.turn import (
    CONTEXT_FULL,
    LENGTH,
    REFUSED,
    number_in,
    text_in,
    unknown_stop_reason,
)
from bylaw.model.values import JsonError, read_json
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.chat.blocks import (
        Image,
        ModelCall,
        ModelOptions,
        Reply,
        Request,
        RequestMessage,
        ToolSpec,
    )
    from bylaw.hosts.chat.models.turn import PartialCall, TurnBuilder
    from bylaw.model.values import JSON

# The API requires a limit. This is the largest that all its current models allow.
DEFAULT_MAX_TOKENS = 32_000

# Since 2026-10-21 the API accepts no temperature. Requests with one use this older version.
_VERSION_WITH_TEMPERATURE = "2023-06-01"

_INSTRUCTIONS = frozenset({Role.SYSTEM, Role.DEVELOPER})


def anthropic_request(model: str, request: Request) -> dict[str, JSON]:
    """Return the arguments of the request, except `stream`."""
    first = list(takewhile(lambda message: message.role in _INSTRUCTIONS, request.messages))
    sent: dict[str, JSON] = {
        "model": model,
        "max_tokens": request.options.max_tokens or DEFAULT_MAX_TOKENS,
        "messages": _join_roles(request.messages[len(first) :]),
    }
    if system := _system(first):
        sent["system"] = system
    if request.tools:
        sent["tools"] = [_tool(tool) for tool in request.tools]
    return sent | _options(request.options)


def _system(messages: Iterable[RequestMessage]) -> list[JSON]:
    blocks: list[JSON] = []
    for message in messages:
        refuse_images(message)
        blocks += _text(message.text)
    return blocks


def _join_roles(messages: Iterable[RequestMessage]) -> list[JSON]:
    joined: list[tuple[str, list[JSON]]] = []
    for message in messages:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message)
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        elif blocks:
            joined.append((role, blocks))
    return [{"role": role, "content": blocks} for role, blocks in joined]


def _blocks(message: RequestMessage) -> list[JSON]:
    match message.role:
        case Role.ASSISTANT:
            refuse_images(message)
            return _text(message.text) + [_call(call) for call in message.calls]
        case Role.TOOL:
            return [_result(message)]
        case Role.USER:
            return _text(message.text) + _images(message.images)
        case Role.SYSTEM | Role.DEVELOPER:
            return _reminder(message.text) + _images(message.images)


def _text(text: str) -> list[JSON]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _reminder(text: str) -> list[JSON]:
    return _text(f"<system-reminder>\n{text}\n</system-reminder>") if text.strip() else []


def _images(images: Iterable[Image]) -> list[JSON]:
    return [{"type": "image", "source": _source(image)} for image in images]


def _source(image: Image) -> JSON:
    parts = split_data_uri(image)
    if parts is None:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": parts[0], "data": parts[1]}


def _call(call: ModelCall) -> JSON:
    name, call_id = wire_name(call.tool), wire_name(call.id)
    return {"type": "tool_use", "id": call_id, "name": name, "input": _input(call.arguments)}


def _input(arguments: str) -> JSON:
    """Return the arguments as an object, which the API requires; any other text is put into one."""
    try:
        read = read_json(arguments)
    except JsonError:
        read = None
    return read if isinstance(read, dict) else {"arguments": arguments}


def _result(message: RequestMessage) -> JSON:
    result: dict[str, JSON] = {"type": "tool_result", "tool_use_id": wire_name(message.answers)}
    if content := _text(message.text) + _images(message.images):
        result["content"] = content
    if message.failed:
        result["is_error"] = True
    return result


def _tool(tool: ToolSpec) -> JSON:
    told: dict[str, JSON] = {"name": wire_name(tool.name), "input_schema": tool.parameters}
    if tool.description:
        told["description"] = tool.description
    return told


def _options(options: ModelOptions) -> dict[str, JSON]:
    named: dict[str, JSON] = {}
    if options.reasoning_effort:
        named["output_config"] = {"effort": options.reasoning_effort}
    if options.temperature is not None:
        named["extra_body"] = {"temperature": options.temperature}
        named["extra_headers"] = {"anthropic-version": _VERSION_WITH_TEMPERATURE}
    return named


TOKEN = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - the name of a variable
KEYS = ("ANTHROPIC_API_KEY", TOKEN)

# Stop reasons, with a text for those that leave a turn incomplete. An unknown one does that, too.
_CUTS = {
    "end_turn": "",
    "stop_sequence": "",
    "tool_use": "",
    "max_tokens": LENGTH,
    "model_context_window_exceeded": CONTEXT_FULL,
    "refusal": REFUSED,
}

# The input tokens of a request: plain, written to the provider's cache, and read from it.
_INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicModel:
    """A model of Anthropic.

    The constructor sends nothing. It raises ModelError if the package or the key is missing, or the
    address is invalid.
    """

    summarises = True
    hands_back = True
    ended = False

    def __init__(
        self, model: str, *, base_url: str = "", patience: RetryPolicy | None = None
    ) -> None:
        self.name = f"anthropic:{model}"
        self._model = model
        key, package = find_key(*KEYS), import_package("anthropic")
        # With a key, the package does not look for another one in variables or files.
        kind = "auth_token" if key.variable == TOKEN else "api_key"

        def client(**settings: Any) -> Any:
            return package.Anthropic(**{kind: key.text}, **settings)

        self._line = connect(package, client, self.name, base_url, key, patience or RetryPolicy())

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """Return one turn of the assistant."""
        sent = anthropic_request(self._model, request)
        messages = self._line.client.messages
        return request_turn(
            self._line,
            lambda: messages.create(**sent, stream=True),
            AnthropicTurnReader,
            request,
            on_text,
        )

    def close(self) -> None:
        """Close the connections."""
        self._line.client.close()


class AnthropicTurnReader:
    """Reads the events of a message into a turn."""

    def __init__(self, turn: TurnBuilder) -> None:
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
        for name in (*_INPUT_TOKENS, "output_tokens"):
            tokens = number_in(usage, name)
            if tokens is not None:
                self._tokens[name] = tokens
        sent = [self._tokens[name] for name in _INPUT_TOKENS if name in self._tokens]
        self._turn.usage = Usage(sum(sent) if sent else None, self._tokens.get("output_tokens"))

    def _note_end(self, delta: Any) -> None:
        reason = text_in(delta, "stop_reason")
        if not reason:
            return
        self._turn.ended = reason
        self._turn.cut = _CUTS.get(reason, unknown_stop_reason(reason))
        if why := one_line(text_in(getattr(delta, "stop_details", None), "explanation")):
            self._turn.cut += f": {why}"
