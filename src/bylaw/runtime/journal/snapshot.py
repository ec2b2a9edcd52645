"""Pack a session into a small core with references to its long texts, and unpack it again.

A snapshot is written from time to time, and later records are folded onto it. So neither writing
nor loading takes longer in a long session. A text that was erased reads as `ERASED`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from bylaw.model.calls import ToolUse
from bylaw.model.history import Said
from bylaw.model.session import Session
from bylaw.runtime.journal.chain import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# Longer texts are stored once, apart from the sessions, unless the rest of the session is short.
INLINE_CHARS = 256
INLINE_BYTES = 4_096
ERASED = "[erased]"
# A reference to a text. A text that begins with the same mark is written with the prefix `_PLAIN`.
_MARK, _REF, _PLAIN = "\0", "\0text:", "\0plain:"
_WRITTEN_MARK = rb"\u0000"  # as JSON writes it
_WRITTEN_REF = re.compile(rb'"\\u0000text:([0-9a-f]{64})"')

_LISTS = (list, tuple)
_ENCODER = msgspec.json.Encoder()
Texts: TypeAlias = dict[bytes, str]
Whole = TypeVar("Whole")
_Packed: TypeAlias = dict[int, tuple[Said | ToolUse, msgspec.Raw]]


class Core(msgspec.Struct, frozen=True, array_like=True):
    """A session without its windows and last texts; then those texts, and the windows."""

    session: msgspec.Raw
    last: msgspec.Raw
    messages: list[msgspec.Raw]
    tools: list[msgspec.Raw]


_CORE = msgspec.json.Decoder(Core)
_SESSION = msgspec.json.Decoder(Session)
_LAST = msgspec.json.Decoder(tuple[str, str, str])
_SAID = msgspec.json.Decoder(Said)
_TOOL_USE = msgspec.json.Decoder(ToolUse)


class Packer:
    """Packs successive states of one session and reuses what it packed before."""

    def __init__(self) -> None:
        # By identity. Each entry holds its item, so that the id is not used for another object.
        self._packed: _Packed = {}

    def pack(self, session: Session) -> tuple[bytes, Texts]:
        """Return the core, and the long texts, some of which may be stored already."""
        texts: Texts = {}
        before, self._packed = self._packed, {}
        history, calls = session.history, session.calls
        last = (history.last_user, history.last_assistant, history.last_tool)
        core = Core(
            msgspec.Raw(_packed(_without_windows(session), texts)),
            msgspec.Raw(_ENCODER.encode([_short(text, texts) for text in last])),
            [self._item(item, before, texts) for item in history.messages],
            [self._item(item, before, texts) for item in calls.tools],
        )
        return _ENCODER.encode(core), texts

    def _item(self, item: Said | ToolUse, before: _Packed, texts: Texts) -> msgspec.Raw:
        found = before.get(id(item)) or (item, msgspec.Raw(_packed_item(item, texts)))
        self._packed[id(item)] = found
        return found[1]


def _without_windows(session: Session) -> Session:
    history = replace(session.history, messages=(), last_user="", last_assistant="", last_tool="")
    return replace(session, history=history, calls=replace(session.calls, tools=()))


def _packed_item(item: Said | ToolUse, texts: Texts) -> bytes:
    if isinstance(item, Said):
        return _ENCODER.encode(replace(item, content=_short(item.content, texts)))
    if _MARK in item.name or _MARK in item.call or item.also:
        return _ENCODER.encode(_shortened(msgspec.to_builtins(item), texts))
    arguments, result = _shortened(item.arguments, texts), _shortened(item.result, texts)
    return _ENCODER.encode(replace(item, arguments=arguments, result=result))


def _packed(session: Session, texts: Texts) -> bytes:
    whole = _ENCODER.encode(session)
    if len(whole) <= INLINE_BYTES and _WRITTEN_MARK not in whole:
        return whole
    return _ENCODER.encode(_shortened(msgspec.to_builtins(session), texts))


def _shortened(value: Any, texts: Texts) -> Any:
    if isinstance(value, str):
        return _short(value, texts)
    if isinstance(value, dict):
        return {key: _shortened(item, texts) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [_shortened(item, texts) for item in value]
    return value


def _short(text: str, texts: Texts) -> str:
    if len(text) > INLINE_CHARS:
        key = _key(text)
        texts[key] = text
        return _REF + key.hex()
    return _PLAIN + text if text.startswith(_MARK) else text


@lru_cache(maxsize=32)  # the last texts of a session are in its window as well
def _key(text: str) -> bytes:
    return digest(text.encode())


def texts_of(core: bytes) -> Iterator[bytes]:
    """Yield the digests of the texts that a core refers to."""
    for found in _WRITTEN_REF.finditer(core):
        yield bytes.fromhex(found[1].decode())


def unpacked(core: bytes, find_texts: Callable[[Iterable[bytes]], Mapping[bytes, str]]) -> Session:
    """Return the session of a core; `find_texts` returns the stored texts of digests.

    Raises MsgspecError, ValueError, TypeError or KeyError for an invalid core.
    """
    packed = _CORE.decode(core)
    texts = find_texts(set(texts_of(core)))
    session = _unpacked(packed.session, _SESSION, texts)
    user, assistant, tool = _unpacked(packed.last, _LAST, texts)
    history = replace(
        session.history,
        messages=tuple(_unpacked(item, _SAID, texts) for item in packed.messages),
        last_user=user,
        last_assistant=assistant,
        last_tool=tool,
    )
    tools = tuple(_unpacked(item, _TOOL_USE, texts) for item in packed.tools)
    return replace(session, history=history, calls=replace(session.calls, tools=tools))


def _unpacked(
    raw: msgspec.Raw, decoder: msgspec.json.Decoder[Whole], texts: Mapping[bytes, str]
) -> Whole:
    if _WRITTEN_MARK not in bytes(raw):
        return decoder.decode(raw)
    return msgspec.convert(_whole(msgspec.json.decode(raw), texts), decoder.type)


def _whole(value: Any, texts: Mapping[bytes, str]) -> Any:
    if isinstance(value, str):
        if not value.startswith(_MARK):
            return value
        if value.startswith(_REF):
            return texts.get(bytes.fromhex(value.removeprefix(_REF)), ERASED)
        return value.removeprefix(_PLAIN)
    if isinstance(value, dict):
        return {key: _whole(item, texts) for key, item in value.items()}
    return [_whole(item, texts) for item in value] if isinstance(value, list) else value
