"""A session → a small core, its windows item by item, and its long texts by digest; and back.

Each event adds at most an item or two to the windows, so what is written for an event does not
grow with the session. A text that was erased reads as `ERASED`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from bylaw.model.calls import ToolUse
from bylaw.model.history import Said
from bylaw.model.session import Session
from bylaw.runtime.journal.chain import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# Longer texts are kept once, beside the session.
INLINE_CHARS = 256
ERASED = "[erased]"
MESSAGES, TOOLS = "messages", "tools"
WINDOWS = (MESSAGES, TOOLS)
# No key of JSON in a session begins with it: keys that do are written with one more.
_REF = "\0text"
_ESCAPE = "\0"

_ENCODER = msgspec.json.Encoder()
_ITEMS: dict[str, type[Said | ToolUse]] = {MESSAGES: Said, TOOLS: ToolUse}


class Core(msgspec.Struct, frozen=True, array_like=True):
    """A session without its windows, and the numbers of their first items."""

    session: Any
    first_message: int = 0
    first_tool: int = 0


_CORE = msgspec.json.Decoder(Core)


@dataclass(slots=True)
class Kept:
    """A session as the journal knows it: after record `seq`, with its windows' first numbers."""

    session: Session
    seq: int = 0
    first: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WINDOWS, 0))


@dataclass(slots=True)
class Change:
    """What has to be written: the core, new items and new texts; which old items go."""

    core: bytes
    items: list[tuple[str, int, bytes]]
    gone_before: dict[str, int]
    texts: dict[bytes, str]
    kept: Kept


def change(before: Kept, after: Session, seq: int) -> Change:
    """The difference that one record makes."""
    texts: dict[bytes, str] = {}
    items: list[tuple[str, int, bytes]] = []
    first, gone = {}, {}
    for name in WINDOWS:
        old, new = window(before.session, name), window(after, name)
        dropped = _dropped(old, new)
        first[name] = before.first[name] + dropped
        if dropped:
            gone[name] = first[name]
        if new is not old:
            items += [
                (name, first[name] + place, _packed(new[place], texts))
                for place in _fresh(old[dropped:], new)
            ]
    core = Core(_without_windows(after), first[MESSAGES], first[TOOLS])
    return Change(_packed(core, texts), items, gone, texts, Kept(after, seq, first))


def window(session: Session, name: str) -> tuple[Said | ToolUse, ...]:
    """The items of a window."""
    return session.history.messages if name == MESSAGES else session.calls.tools


def _dropped(old: Sequence[object], new: Sequence[object]) -> int:
    """How many of the oldest are gone; items are never moved, so identity tells."""
    if new is old or not old:
        return 0
    if not new:
        return len(old)
    return next((at for at, item in enumerate(old) if item is new[0]), len(old))


def _fresh(old: Sequence[object], new: Sequence[object]) -> Iterable[int]:
    """The places whose items were not there before."""
    if len(new) == len(old) + 1 and new[:-1] == old:
        return (len(old),)
    return [at for at, item in enumerate(new) if at >= len(old) or item is not old[at]]


def _without_windows(session: Session) -> Session:
    return replace(
        session,
        history=replace(session.history, messages=()),
        calls=replace(session.calls, tools=()),
    )


def _packed(value: object, texts: dict[bytes, str]) -> bytes:
    whole = _ENCODER.encode(value)
    if len(whole) <= INLINE_CHARS:
        return whole  # nothing in it can be long
    return _ENCODER.encode(_shortened(msgspec.to_builtins(value), texts))


def _shortened(value: Any, texts: dict[bytes, str]) -> Any:
    if isinstance(value, str):
        if len(value) <= INLINE_CHARS:
            return value
        key = digest(value.encode("utf-8", "surrogatepass"))
        texts[key] = value
        return {_REF: key.hex()}
    if isinstance(value, dict):
        return {_escaped(key): _shortened(item, texts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, texts) for item in value]
    return value


def _escaped(key: str) -> str:
    return _ESCAPE + key if key.startswith(_ESCAPE) else key


def restore(
    core: bytes,
    seq: int,
    items: Mapping[str, Sequence[bytes]],
    find_texts: Callable[[Iterable[bytes]], Mapping[bytes, str]],
) -> Kept:
    """The session again; `find_texts` gives the texts of digests, those that are still there."""
    packed = _CORE.decode(core)
    raw = {name: [msgspec.json.decode(item) for item in items[name]] for name in WINDOWS}
    wanted = set(_references([packed.session, *raw.values()]))
    texts = find_texts(wanted) if wanted else {}
    session = msgspec.convert(_whole(packed.session, texts), Session, strict=False)
    windows = {
        name: tuple(msgspec.convert(_whole(one, texts), _ITEMS[name]) for one in raw[name])
        for name in WINDOWS
    }
    session = replace(
        session,
        history=replace(session.history, messages=windows[MESSAGES]),
        calls=replace(session.calls, tools=windows[TOOLS]),
    )
    return Kept(session, seq, {MESSAGES: packed.first_message, TOOLS: packed.first_tool})


def _references(value: Any) -> Iterable[bytes]:
    if isinstance(value, dict):
        if set(value) == {_REF}:
            yield bytes.fromhex(value[_REF])
            return
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _whole(value: Any, texts: Mapping[bytes, str]) -> Any:
    if isinstance(value, dict):
        if set(value) == {_REF}:
            return texts.get(bytes.fromhex(value[_REF]), ERASED)
        return {key.removeprefix(_ESCAPE): _whole(item, texts) for key, item in value.items()}
    return [_whole(item, texts) for item in value] if isinstance(value, list) else value
