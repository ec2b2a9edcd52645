"""A request → the arguments of OpenAI's Chat Completions API.

Roles stay as they are. A call that a rule or a person wrote may have a name or an id that the API
rejects: `wire_name` replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.models.pictures import inline_parts, refuse_pictures
from bylaw.hosts.chat.models.wire_names import wire_name
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from bylaw.hosts.chat.messages import Call, Options, Request, Sent, ToolSpec
    from bylaw.model.values import JSON

MAX_ID = 40


def openai_request(model: str, request: Request) -> dict[str, JSON]:
    """Return the arguments of the request, except `stream`."""
    sent: dict[str, JSON] = {"model": model, "messages": [_message(m) for m in request.messages]}
    if request.tools:
        sent["tools"] = [_tool(tool) for tool in request.tools]
    return sent | _options(request.options) | {"stream_options": {"include_usage": True}}


def _message(message: Sent) -> dict[str, JSON]:
    if message.role is Role.USER:
        return {"role": "user", "content": _user_content(message)}
    refuse_pictures(message)
    if message.role is Role.TOOL:
        answers = _id(message.answers)
        return {"role": "tool", "tool_call_id": answers, "content": message.text}
    if not message.calls:
        return {"role": message.role.value, "content": message.text}
    calls: list[JSON] = [_call(call) for call in message.calls]
    # With calls, the text is optional, and some servers reject an empty one.
    said: dict[str, JSON] = {"content": message.text} if message.text else {}
    return {"role": message.role.value, **said, "tool_calls": calls}


def _user_content(message: Sent) -> JSON:
    if not message.images:
        return message.text
    parts: list[JSON] = [{"type": "text", "text": message.text}] if message.text else []
    for image in message.images:
        inline_parts(image)
        parts.append({"type": "image_url", "image_url": {"url": image.url}})
    return parts


def _call(call: Call) -> dict[str, JSON]:
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


def _options(options: Options) -> dict[str, JSON]:
    # Models that reason reject the older `max_tokens`.
    named: dict[str, JSON] = {
        "max_completion_tokens": options.max_tokens,
        "temperature": options.temperature,
        "reasoning_effort": options.reasoning_effort or None,
    }
    return {name: value for name, value in named.items() if value is not None}
