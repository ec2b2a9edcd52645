"""OpenAI Responses: the protocol of Codex."""

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

    from bylaw.hosts.hooks.canary.script import ToolCall, Turn
    from bylaw.model.values import JSON


def streamed(turn: Turn, model: str) -> bytes:
    """Return the answer, item by item. Clients use an item when it is done."""
    numbered = ({**one, "sequence_number": n} for n, one in enumerate(_events(turn, model)))
    return as_stream(numbered, named=True)


def _events(turn: Turn, model: str) -> Iterator[dict[str, JSON]]:
    begun: dict[str, JSON] = {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": "in_progress",
        "output": [],
    }
    yield {"type": "response.created", "response": begun}
    items = list(_items(turn))
    for index, item in enumerate(items):
        open_item: JSON = {**item, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": open_item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ended: JSON = {**begun, "status": "completed", "output": [*items], "usage": _usage()}
    yield {"type": "response.completed", "response": ended}


def _items(turn: Turn) -> Iterator[dict[str, JSON]]:
    if turn.text:
        said: JSON = {"type": "output_text", "text": turn.text, "annotations": []}
        yield _item("message", role="assistant", content=[said])
    for call in turn.calls:
        yield _called(call)


def _called(call: ToolCall) -> dict[str, JSON]:
    about: dict[str, JSON] = {"call_id": new_id("call_"), "name": call.name}
    return _item("function_call", **about, arguments=arguments_text(call.args))


def _item(kind: str, **more: JSON) -> dict[str, JSON]:
    return {"type": kind, "id": new_id("item_"), "status": "completed", **more}


def _usage() -> JSON:
    return {
        "input_tokens": TOKENS_IN,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": TOKENS_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
