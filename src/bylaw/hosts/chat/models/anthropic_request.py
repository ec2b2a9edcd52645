"""A request → the arguments of Anthropic's Messages API.

The API has no role `developer`, and only some of its models accept `system` after the beginning,
in few places. So the system and developer messages at the beginning become the system prompt. Later
ones stay in their place as user text in `<system-reminder>`, which every model and every compatible
server accepts. Adjacent messages of one role are joined and empty texts are left out, because the
API requires both.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from bylaw.hosts.chat.models.pictures import inline_parts, refuse_pictures
from bylaw.hosts.chat.models.wire_names import wire_name
from bylaw.model.strict_json import JsonError, read_json
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.chat.messages import Call, Image, Options, Request, Sent, ToolSpec
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
        "messages": _joined(request.messages[len(first) :]),
    }
    if system := _system(first):
        sent["system"] = system
    if request.tools:
        sent["tools"] = [_tool(tool) for tool in request.tools]
    return sent | _options(request.options)


def _system(messages: Iterable[Sent]) -> list[JSON]:
    blocks: list[JSON] = []
    for message in messages:
        refuse_pictures(message)
        blocks += _text(message.text)
    return blocks


def _joined(messages: Iterable[Sent]) -> list[JSON]:
    joined: list[tuple[str, list[JSON]]] = []
    for message in messages:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message)
        if joined and joined[-1][0] == role:
            joined[-1][1].extend(blocks)
        elif blocks:
            joined.append((role, blocks))
    return [{"role": role, "content": blocks} for role, blocks in joined]


def _blocks(message: Sent) -> list[JSON]:
    match message.role:
        case Role.ASSISTANT:
            refuse_pictures(message)
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
    parts = inline_parts(image)
    if parts is None:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": parts[0], "data": parts[1]}


def _call(call: Call) -> JSON:
    name, call_id = wire_name(call.tool), wire_name(call.id)
    return {"type": "tool_use", "id": call_id, "name": name, "input": _input(call.arguments)}


def _input(arguments: str) -> JSON:
    """Return the arguments as an object, which the API requires; any other text is put into one."""
    try:
        read = read_json(arguments)
    except JsonError:
        read = None
    return read if isinstance(read, dict) else {"arguments": arguments}


def _result(message: Sent) -> JSON:
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


def _options(options: Options) -> dict[str, JSON]:
    named: dict[str, JSON] = {}
    if options.reasoning_effort:
        named["output_config"] = {"effort": options.reasoning_effort}
    if options.temperature is not None:
        named["extra_body"] = {"temperature": options.temperature}
        named["extra_headers"] = {"anthropic-version": _VERSION_WITH_TEMPERATURE}
    return named
