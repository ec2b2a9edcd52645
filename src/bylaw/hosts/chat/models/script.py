"""A model that replays the turns of a file, one JSON object per line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from bylaw.hosts.chat.blocks import ModelCall, Reply
from bylaw.hosts.chat.models.base import ModelError, ScriptEndedError
from bylaw.hosts.chat.models.turn import plain_name
from bylaw.model.display import brief
from bylaw.model.errors import LoadError
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import JsonError, read_json
from bylaw.store.files import read_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.blocks import Request
    from bylaw.model.values import JSON

_TURN_KEYS = ("text", "tool_calls")
_CALL_KEYS = ("args", "id", "name")


class ScriptedModel:
    """Replays one turn per line. The constructor checks the complete file."""

    summarises = False
    hands_back = False

    def __init__(self, path: str) -> None:
        self.name = f"script:{path}"
        self._turns = _turns(path)
        self._said = 0
        self.ended = not self._turns

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:  # noqa: ARG002 - a script ignores it
        """Return the next turn. Raises ScriptEndedError after the last."""
        if self.ended:
            raise ScriptEndedError(f"`{self.name}` has no more turns")
        turn = self._turns[self._said]
        self._said += 1
        self.ended = self._said == len(self._turns)
        if turn.text:
            on_text(turn.text)
        return turn

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _turns(path: str) -> list[Reply]:
    try:
        text = read_file(path).text
    except LoadError as wrong:
        raise ModelError(str(wrong)) from None
    turns: list[Reply] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            turns.append(_turn(line, len(turns) + 1))
        except _LineError as wrong:
            raise ModelError(f"{path}:{number}: {wrong}") from None
    return turns


class _LineError(Exception):
    """The line is not a valid turn. The text says why."""


def _turn(line: str, number: int) -> Reply:
    try:
        written = read_json(line)
    except JsonError as wrong:
        raise _LineError(
            f"{wrong.sentence_about('the turn is')}, column {wrong.span.start + 1}"
        ) from None
    fields = _object(written, "a turn", _TURN_KEYS)
    calls = fields.get("tool_calls", [])
    if not isinstance(calls, list):
        _fail("`tool_calls` must be a list")
    called = tuple(_call(call, f"call-{number}-{n}") for n, call in enumerate(calls, 1))
    if len({call.id for call in called}) < len(called):
        _fail("two calls of a turn have the same `id`")
    return Reply(text=_string(fields, "text", ""), calls=called)


def _call(written: JSON, otherwise: str) -> ModelCall:
    fields = _object(written, "a call", _CALL_KEYS)
    args = fields.get("args", {})
    if not isinstance(args, dict):
        _fail("`args` must be an object")
    name = _string(fields, "name", "")
    if not name:
        _fail("a call needs a `name`")
    call_id = plain_name(_string(fields, "id", "")) or otherwise
    return ModelCall(call_id, plain_name(name), json.dumps(args, ensure_ascii=False))


def _object(written: JSON, what: str, known: tuple[str, ...]) -> dict[str, JSON]:
    if not isinstance(written, dict):
        _fail(f"{what} must be an object")
    for key in written:
        if key not in known:
            _fail(f"{what} has no field `{brief(key)}`: {did_you_mean(key, known)}")
    return written


def _string(fields: dict[str, JSON], key: str, otherwise: str) -> str:
    value = fields.get(key, otherwise)
    if not isinstance(value, str):
        _fail(f"`{key}` must be a string")
    return value


def _fail(text: str) -> NoReturn:
    raise _LineError(text)
