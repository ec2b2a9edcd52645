"""The end of a client's transcript → what the agent said, last or since the last prompt.

Clients that do not send this with a stop write it to a file: one JSON object per line, each client
in its own form. Lines that are incomplete or not understood are skipped.

    Claude Code, Factory Droid, Cursor   message.content, message.role or role
    Codex CLI                            payload.content, payload.role
    Gemini CLI                           content, type
    Qwen Code                            message.parts, message.role
    Copilot CLI                          data.content, type
"""

from __future__ import annotations

import os
import time
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from bylaw.model.values import JsonError, read_json, replace_lone_surrogates
from bylaw.store.files import open_regular, read_at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.values import JSON

MAX_TAIL = 4 << 20
# Some clients write the text shortly after they start the hook.
PATIENCE_S = 1.0
_PAUSE_S = 0.05

_AGENT, _PERSON, _TOOL = "agent", "person", "tool"
_COPILOT = {
    "assistant.message": _AGENT,
    "user.message": _PERSON,
    "tool.execution_complete": _TOOL,
    "hook.end": _TOOL,  # of an earlier stop
}
_SPEAKERS = {
    **dict.fromkeys(("assistant", "model", "gemini"), _AGENT),
    "user": _PERSON,
    "tool": _TOOL,
    **_COPILOT,
}
# Types of lines that hold messages. Lines of other types repeat them.
_KINDS = frozenset(
    {"", "user", "assistant", "message", "response_item", "gemini", "tool_result", *_COPILOT}
)
_TEXTS = frozenset({"", "text", "output_text", "input_text"})
_RESULTS = frozenset({"tool_result", "function_call_output"})


class _Line(NamedTuple):
    """Speaker and text. A tool has no text. An agent that `calls` a tool continues after it."""

    speaker: str
    text: str
    calls: bool = False


def last_text(
    path: str, patience_s: float = PATIENCE_S, judged_until: int | None = None
) -> str | None:
    """Return what the agent said last; None if the file does not contain it.

    If the newest line is not text of the agent, the file is read again for up to `patience_s`. If
    that does not help, text before `judged_until` does not count: it was decided at an earlier
    stop.
    """
    until = time.monotonic() + patience_s
    while True:
        found, is_newest = _find_last_text(path)
        if is_newest:
            return found
        if time.monotonic() >= until:
            is_old = judged_until is not None and found not in texts_since(path, judged_until).texts
            return None if is_old else found
        time.sleep(_PAUSE_S)


class AgentText(NamedTuple):
    """Texts of the agent, oldest first, and up to which byte of the file they were read."""

    texts: tuple[str, ...]
    end: int


NO_AGENT_TEXT = AgentText((), 0)


def texts_since(path: str, start: int | None) -> AgentText:
    """Return what the agent said from position `start` on; with None, since a person last spoke.

    If the file is shorter than `start`, it is a new file.
    """
    size, data = _read_from(path, start)
    is_whole = start is None or start > size
    end = size - (len(data) - data.rfind(b"\n") - 1)
    lines = [*_lines_newest_first(data[: data.rfind(b"\n") + 1])]
    if is_whole:
        lines = [*takewhile(lambda one: one.speaker != _PERSON, lines)]
    texts = [one.text for one in reversed(lines) if one.speaker == _AGENT and one.text]
    return AgentText(tuple(texts), end)


def _read_from(path: str, start: int | None) -> tuple[int, bytes]:
    """Return where the data ends, and the data from `start` on.

    If that is too long, only its end.
    """
    try:
        with open_regular(path) as descriptor:
            size = os.fstat(descriptor).st_size
            known = start if start is not None and start <= size else 0
            os.lseek(descriptor, max(known, size - MAX_TAIL), os.SEEK_SET)
            data = read_at_most(descriptor, MAX_TAIL)[:MAX_TAIL]
            return max(known, size - MAX_TAIL) + len(data), data
    except (OSError, ValueError):
        return 0, b""


def _find_last_text(path: str) -> tuple[str | None, bool]:
    """Return what the agent said last, and whether nothing follows it."""
    is_newest = True
    for line in _lines_newest_first(_read_from(path, None)[1]):
        if line.speaker == _PERSON:
            break
        if line.speaker == _AGENT and line.text:
            return line.text, is_newest and not line.calls
        is_newest = False
    return None, False


def _lines_newest_first(data: bytes) -> Iterator[_Line]:
    for raw in reversed(data.split(b"\n")):
        line = _parse_line(_parse_json(raw))
        if line is not None:
            yield line


def _parse_json(raw: bytes) -> JSON:
    try:
        return read_json(replace_lone_surrogates(raw.decode()))
    except (JsonError, UnicodeDecodeError):
        return None


def _parse_line(value: JSON) -> _Line | None:
    if not isinstance(value, dict) or (kind := _kind(value)) not in _KINDS:
        return None
    inner = next((value[key] for key in ("message", "payload", "data") if key in value), value)
    if not isinstance(inner, dict) or (kind in _COPILOT and value.get("agentId")):
        return None  # a subagent's line in the file of the main agent
    parts = inner["parts"] if "parts" in inner else inner.get("content")
    if _kind(inner) in _RESULTS or _has_result(parts):
        return _Line(_TOOL, "")
    speaker = _speaker(inner.get("role"), value.get("role"), kind)
    text = _text(parts)
    # User lines without text are about hooks. Copilot CLI uses them for what Bylaw answered.
    is_one = speaker and (text or speaker != _PERSON or kind in _COPILOT)
    calls = _has_call(parts) or bool(inner.get("toolRequests"))
    return _Line(speaker, text, calls) if is_one else None


def _kind(value: dict[str, JSON]) -> str:
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def _speaker(*names: JSON) -> str:
    return next((_SPEAKERS[one] for one in names if isinstance(one, str) and one in _SPEAKERS), "")


def _has_result(parts: JSON) -> bool:
    return isinstance(parts, list) and any(
        isinstance(one, dict) and (_kind(one) in _RESULTS or "functionResponse" in one)
        for one in parts
    )


def _has_call(parts: JSON) -> bool:
    return isinstance(parts, list) and any(
        isinstance(one, dict) and (_kind(one) == "tool_use" or "functionCall" in one)
        for one in parts
    )


def _text(parts: JSON) -> str:
    if isinstance(parts, str):
        return parts
    texts = [_part_text(one) for one in parts] if isinstance(parts, list) else []
    return "\n".join(one for one in texts if one)


def _part_text(part: JSON) -> str:
    if not isinstance(part, dict) or _kind(part) not in _TEXTS or part.get("thought"):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""
