"""Anthropic Messages: the protocol of Claude Code."""

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


def streamed(turn: Turn, model: str) -> bytes:
    """Return the answer in pieces."""
    return as_stream(_events(turn, model), named=True)


def _events(turn: Turn, model: str) -> Iterator[dict[str, JSON]]:
    yield {"type": "message_start", "message": _begun(model)}
    for index, (begun, delta) in enumerate(_blocks(turn)):
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if turn.calls else "end_turn"
    ended: dict[str, JSON] = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": TOKENS_OUT}}
    yield {"type": "message_stop"}


def _begun(model: str) -> dict[str, JSON]:
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1},
    }


def _blocks(turn: Turn) -> Iterator[tuple[dict[str, JSON], dict[str, JSON]]]:
    """Yield the start of each block, and its content as one delta."""
    if turn.text:
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
    for call in turn.calls:
        begun: dict[str, JSON] = {"type": "tool_use", "name": call.name, "input": {}}
        given = arguments_text(call.args)
        yield (
            {**begun, "id": new_id("toolu_")},
            {"type": "input_json_delta", "partial_json": given},
        )
