"""A message that a person decides about → what stands on the screen, or plain values.

Nothing that a message says can look like anything else: control characters are written out, texts
stand in quotes, and a long one goes on below itself, never at the start of a line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model.visible import clipped, visible, visible_in_json, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.bus.approvals import Said
    from bylaw.hosts.bus.approving import Matter
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Authority

MAX_NOTES = 2_000  # characters of what is only said, and never carried out
_MIN_ROOM = 20
_MAX_LABEL = 20
_GAP = "  "
_FIRST = ("title", "category", "created_by", "target_paths", "run")
_WORDS = ("notes",)
_GONE = "(the message is gone; only its digest is known)"


def render(matter: Matter, earlier: list[str], columns: int) -> str:
    """Everything that a person must know to decide; what would be carried out is never cut."""
    rows = [*_rows(matter), *(("replaces", path) for path in earlier)]
    label = max(width(name) for name, _ in rows)
    room = max(columns - label - len(_GAP), _MIN_ROOM)
    return "".join(_lines(name, text, label, room) for name, text in rows) + "\n"


def question(matter: Matter, authority: Authority, *, granted: bool) -> str:
    """What a person is asked."""
    word = "Approve" if granted else "Reject"
    return f"{word} {matter.msg_id} as {authority.value}? [y/N] "


def as_data(matter: Matter) -> dict[str, object]:
    """The shape that programs read."""
    return {
        "msg_id": matter.msg_id,
        "digest": matter.digest,
        "file": matter.where or None,
        "state": matter.state or None,
        "why": matter.why or None,
        "message": matter.message,
        "request": matter.request,
        "said": [_said_as_data(one) for one in matter.said],
    }


def _rows(matter: Matter) -> Iterator[tuple[str, str]]:
    yield "message", matter.msg_id
    if matter.message is None:
        yield "", _GONE
    else:
        yield "file", visible(matter.where)
        yield from _of_message(matter.message)
    if matter.request is not None and matter.request is not matter.message:
        yield "asked", _words(matter.request.get("notes"))
    if matter.state:
        # Nothing in it is unseen already; writing it out twice would not show the same.
        yield "state", matter.state + (f": {visible_in_json(matter.why)}" if matter.why else "")
    for one in matter.said:
        category = f" for category {one.category}" if one.category else ""
        yield "said", f"{one.authority} {one.state.value}{category} ({visible(one.where)})"
    yield "digest", matter.digest


def _of_message(message: dict[str, JSON]) -> Iterator[tuple[str, str]]:
    for key in _FIRST:
        yield from _values(key, message.get(key))
    for key, value in message.items():
        if key in _WORDS:
            yield key, _words(value)
        elif key not in {*_FIRST, "msg_id"}:
            yield from _values(key, value)


def _values(key: str, value: JSON) -> Iterator[tuple[str, str]]:
    """A list has one line for each of its values."""
    label = clipped(visible(key), _MAX_LABEL)
    if not isinstance(value, list):
        yield label, "(nothing)" if value is None else _quoted(value)
    elif not value:
        yield label, "(nothing)"
    for number, one in enumerate(value if isinstance(value, list) else ()):
        yield "" if number else label, _quoted(one)


def _words(value: JSON) -> str:
    if not isinstance(value, str):
        return _quoted(value)
    more = len(value) - MAX_NOTES
    return _quoted(value[:MAX_NOTES]) + (f" and {more:,} characters more" if more > 0 else "")


def _quoted(value: JSON) -> str:
    return visible_in_json(json.dumps(value, ensure_ascii=False))


def _lines(name: str, text: str, label: int, room: int) -> str:
    """One row; what is too long goes on below, where no label stands."""
    first, *others = _pieces(text, room)
    head = name + " " * (label - width(name)) + _GAP
    below = " " * (label + len(_GAP))
    return f"{head}{first}\n" + "".join(f"{below}{piece}\n" for piece in others)


def _pieces(text: str, room: int) -> list[str]:
    pieces, filled = [""], 0
    for char in text:
        if filled + width(char) > room:
            pieces.append("")
            filled = 0
        pieces[-1] += char
        filled += width(char)
    return pieces


def _said_as_data(said: Said) -> dict[str, object]:
    return {
        "authority": said.authority,
        "category": said.category or None,
        "state": said.state.value,
        "where": said.where,
    }
