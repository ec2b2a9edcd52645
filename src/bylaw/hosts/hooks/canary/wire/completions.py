"""OpenAI Chat Completions: the protocol of Qwen Code, OpenCode, Copilot and Droid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.canary.wire import (
    TOKENS_IN,
    TOKENS_OUT,
    arguments_text,
    as_stream,
    new_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.canary.script import Turn
    from bylaw.model.values import JSON

_USAGE: dict[str, JSON] = {
    "prompt_tokens": TOKENS_IN,
    "completion_tokens": TOKENS_OUT,
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}


def streamed(turn: Turn, model: str) -> bytes:
    """Return the answer in pieces."""
    head: dict[str, JSON] = {**_head(model), "object": "chat.completion.chunk"}
    chunks = ({**head, **chunk} for chunk in _chunks(turn))
    return as_stream(chunks, end=b"data: [DONE]\n\n")


def whole(turn: Turn, model: str) -> dict[str, JSON]:
    """Return the answer as one object."""
    message: dict[str, JSON] = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = _calls(turn)
    choice: JSON = {"index": 0, "message": message, "finish_reason": _finish(turn)}
    return {**_head(model), "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def _chunks(turn: Turn) -> Iterator[dict[str, JSON]]:
    yield _chunk({"role": "assistant", "content": turn.text})
    if turn.calls:
        yield _chunk({"tool_calls": _calls(turn)})
    yield _chunk({}, _finish(turn))
    yield {"choices": [], "usage": _USAGE}


def _chunk(delta: dict[str, JSON], finish: str | None = None) -> dict[str, JSON]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _calls(turn: Turn) -> list[JSON]:
    return [
        {
            "index": index,
            "id": new_id("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call.args)},
        }
        for index, call in enumerate(turn.calls)
    ]


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _head(model: str) -> dict[str, JSON]:
    return {"id": new_id("chatcmpl-"), "created": 0, "model": model}
