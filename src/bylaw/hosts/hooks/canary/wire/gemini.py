"""Gemini's generateContent: the protocol of Gemini CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.canary.wire import TOKENS_IN, TOKENS_OUT, as_stream, new_id

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.script import Turn
    from bylaw.model.values import JSON


def streamed(turn: Turn, model: str) -> bytes:
    """Return the answer as one piece of a stream."""
    return as_stream([whole(turn, model)])


def whole(turn: Turn, model: str) -> dict[str, JSON]:
    """Return the answer as one object."""
    text: list[JSON] = [{"text": turn.text}] if turn.text else []
    calls: list[JSON] = [
        {"functionCall": {"name": call.name, "args": call.args}} for call in turn.calls
    ]
    said: JSON = {"role": "model", "parts": [*text, *calls]}
    usage: JSON = {
        "promptTokenCount": TOKENS_IN,
        "candidatesTokenCount": TOKENS_OUT,
        "totalTokenCount": TOKENS_IN + TOKENS_OUT,
    }
    return {
        "candidates": [{"content": said, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": new_id("r"),
    }
