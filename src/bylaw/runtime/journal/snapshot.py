"""A session → a small core, its windows item by item, and its long texts by digest; and back.

Each event adds at most an item or two to the windows, so what is written for an event does not
grow with the session. A text that was erased reads as `ERASED`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from bylaw.model.calls import ToolUse
from bylaw.model.history import Said
from bylaw.model.session import Session
from bylaw.runtime.journal.chain import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# Longer texts are kept once, beside the session, unless all of it is short.
INLINE_CHARS = 256
INLINE_BYTES = 4_096
ERASED = "[erased]"
MESSAGES, TOOLS = "messages", "tools"
WINDOWS = (MESSAGES, TOOLS)
# A text that stands for another one; one that happens to begin so is written behind `_PLAIN`.
_MARK, _REF, _PLAIN = "\0", "\0text:", "\0plain:"
# Texts that a session is known to have stored; the others are stored again, which does no harm.
MAX_KNOWN = 64

_ENCODER = msgspec.json.Encoder()
_ITEMS: dict[str, type[Said | ToolUse]] = {MESSAGES: Said, TOOLS: ToolUse}


class Core(msgspec.Struct, frozen=True, array_like=True):
    """A session without its windows and last texts; those texts, and where the windows begin."""

    session: Any
    last: tuple[str, str, str]
    first_message: int
    first_tool: int


_CORE = msgspec.json.Decoder(Core)


@dataclass(slots=True)
class Kept:
    """A session as the journal knows it: after record `seq`, with its windows' first numbers."""

    session: Session
    seq: int = 0
    first: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WINDOWS, 0))
    known: tuple[bytes, ...] = ()


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
    session = msgspec.Raw(_packed(_without_windows(after), texts, INLINE_BYTES))
    core = Core(session, _last_texts(after, texts), first[MESSAGES], first[TOOLS])
    packed = _ENCODER.encode(core)
    fresh = {key: text for key, text in texts.items() if key not in before.known}
    known = (*before.known, *fresh)[-MAX_KNOWN:]
    return Change(packed, items, gone, fresh, Kept(after, seq, first, known))


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
    history = replace(session.history, messages=(), last_user="", last_assistant="", last_tool="")
    return replace(session, history=history, calls=replace(session.calls, tools=()))


def _last_texts(session: Session, texts: dict[bytes, str]) -> tuple[str, str, str]:
    """They are the longest and change seldom, so they are looked at one by one."""
    history = session.history
    return (
        _short(history.last_user, texts),
        _short(history.last_assistant, texts),
        _short(history.last_tool, texts),
    )


def _packed(value: object, texts: dict[bytes, str], inline: int = INLINE_CHARS) -> bytes:
    whole = _ENCODER.encode(value)
    # What is short as a whole has no long texts. A mark is written with an escape.
    if len(whole) <= inline and b"\\u0000" not in whole:
        return whole
    return _ENCODER.encode(_shortened(msgspec.to_builtins(value), texts))


def _shortened(value: Any, texts: dict[bytes, str]) -> Any:
    if isinstance(value, str):
        return _short(value, texts)
    if isinstance(value, dict):
        return {key: _shortened(item, texts) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item, texts) for item in value]
    return value


def _short(text: str, texts: dict[bytes, str]) -> str:
    if len(text) > INLINE_CHARS:
        key = _key(text)
        texts[key] = text
        return _REF + key.hex()
    return _PLAIN + text if text.startswith(_MARK) else text


@lru_cache(maxsize=32)  # the last texts of a session are the same for many events
def _key(text: str) -> bytes:
    return digest(text.encode())


def restore(
    core: bytes,
    seq: int,
    items: Mapping[str, Sequence[bytes]],
    find_texts: Callable[[Iterable[bytes]], Mapping[bytes, str]],
) -> Kept:
    """The session again; `find_texts` gives the texts of digests, those that are still there."""
    packed = _CORE.decode(core)
    raw = {name: [msgspec.json.decode(item) for item in items[name]] for name in WINDOWS}
    wanted = set(_references([packed.session, list(packed.last), *raw.values()]))
    texts = find_texts(wanted) if wanted else {}
    session = msgspec.convert(_whole(packed.session, texts), Session, strict=False)
    windows = {
        name: tuple(msgspec.convert(_whole(one, texts), _ITEMS[name]) for one in raw[name])
        for name in WINDOWS
    }
    user, assistant, tool = (_whole(text, texts) for text in packed.last)
    session = replace(
        session,
        history=replace(
            session.history,
            messages=windows[MESSAGES],
            last_user=user,
            last_assistant=assistant,
            last_tool=tool,
        ),
        calls=replace(session.calls, tools=windows[TOOLS]),
    )
    return Kept(session, seq, {MESSAGES: packed.first_message, TOOLS: packed.first_tool})


def _references(value: Any) -> Iterable[bytes]:
    if isinstance(value, str):
        if value.startswith(_REF):
            yield bytes.fromhex(value.removeprefix(_REF))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _references(item)


def _whole(value: Any, texts: Mapping[bytes, str]) -> Any:
    if isinstance(value, str):
        if value.startswith(_REF):
            return texts.get(bytes.fromhex(value.removeprefix(_REF)), ERASED)
        return value.removeprefix(_PLAIN)
    if isinstance(value, dict):
        return {key: _whole(item, texts) for key, item in value.items()}
    return [_whole(item, texts) for item in value] if isinstance(value, list) else value
