"""Show a message to the person who decides about it, as text or as plain values.

Texts of a message cannot imitate other output: control characters are escaped, texts are in
quotes, and a long text continues in its own column, never at the start of a line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model.visible import clipped, visible, visible_in_json, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.bus.approvals.matters import Matter
    from bylaw.hosts.bus.approvals.opinions import Opinion
    from bylaw.hosts.bus.approvals.outlook import Command, Outlook
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Authority

MAX_NOTES = 2_000  # characters shown of texts that Bylaw never runs
_MIN_ROOM = 20
_MAX_LABEL = 20
_GAP = "  "
_FIRST = ("title", "category", "created_by", "target_paths", "run")
_WORDS = ("notes",)
_OTHER_TEXT = " for another version of this message"
_LATER = ", after the others also approve"
_GONE = "(message not found; only its digest is known)"


def render(matter: Matter, outlook: Outlook, earlier: list[str], columns: int) -> str:
    """Render everything that a person must know to decide. Commands are never shortened."""
    rows = [*_rows(matter, outlook), *(("replaces", path) for path in earlier)]
    label = max(width(name) for name, _ in rows)
    room = max(columns - label - len(_GAP), _MIN_ROOM)
    return "".join(_lines(name, text, label, room) for name, text in rows) + "\n"


def question(matter: Matter, authority: Authority, *, granted: bool) -> str:
    """Return the confirmation prompt."""
    word = "Approve" if granted else "Reject"
    return f"{word} {matter.msg_id} as {authority.value}? [y/N] "


def as_data(matter: Matter, outlook: Outlook) -> dict[str, object]:
    """Return the same as plain values for JSON."""
    return {
        "msg_id": matter.msg_id,
        "digest": matter.digest,
        "file": matter.where or None,
        "state": matter.state or None,
        "why": matter.why or None,
        "message": matter.message,
        "request": matter.request,
        "said": [_said_as_data(one, matter.digest) for one in matter.said],
        "would_run": [
            {"rule": one.rule, "argv": list(one.argv), "cwd": one.cwd, "at_once": at_once}
            for commands, at_once in ((outlook.commands, True), (outlook.later, False))
            for one in commands
        ],
        "would_not": list(outlook.why),
    }


def _rows(matter: Matter, outlook: Outlook) -> Iterator[tuple[str, str]]:
    yield "message", matter.msg_id
    if matter.message is None:
        yield "", _GONE
    else:
        yield "file", visible(matter.where)
        yield from _of_message(matter.message)
    if matter.request is not None and matter.request is not matter.message:
        yield "request", _words(matter.request.get("notes"))
    yield from _prospects(outlook)
    if matter.state:
        yield "state", _state(matter)
    for one in matter.said:
        category = f" for category {one.category}" if one.category else ""
        other = _OTHER_TEXT if one.is_for_another(matter.digest) else ""
        yield (
            "statement",
            f"{one.authority} {one.state.value}{category}{other} ({visible(one.where)})",
        )
    yield "digest", matter.digest


def _state(matter: Matter) -> str:
    """Return state and reason. Leave out the repeated state and the hint to call `approve`."""
    told = matter.why.removeprefix(f"{matter.state}: ")
    why = told.removesuffix(f"; approve it with `bylaw approve {matter.msg_id}`")
    # Control characters in it are escaped already; `visible` would escape them again.
    return f"{matter.state}: {visible_in_json(why)}" if why else matter.state


def _prospects(outlook: Outlook) -> Iterator[tuple[str, str]]:
    """What an approval would start. Commands can come from rules as well as from messages."""
    at_once = [_command(one) for one in outlook.commands]
    later = [_command(one) + _LATER for one in outlook.later]
    for number, line in enumerate([*at_once, *later] or ["nothing"]):
        yield "" if number else "would run", line
    for why in outlook.why:
        yield "but" if at_once or later else "because", visible_in_json(why)


def _command(one: Command) -> str:
    return f"{_quoted(list(one.argv))} in {_quoted(one.cwd)} by {visible(one.rule)}"


def _of_message(message: dict[str, JSON]) -> Iterator[tuple[str, str]]:
    for key in _FIRST:
        if key in message:
            yield from _values(key, message[key])
    for key, value in message.items():
        if key in _WORDS:
            yield key, _words(value)
        elif key not in {*_FIRST, "msg_id"}:
            yield from _values(key, value)


def _values(key: str, value: JSON) -> Iterator[tuple[str, str]]:
    """Yield one row for each value of a list, else one row."""
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
    return _quoted(value[:MAX_NOTES]) + (f" and {more:,} more characters" if more > 0 else "")


def _quoted(value: JSON) -> str:
    return visible_in_json(json.dumps(value, ensure_ascii=False))


def _lines(name: str, text: str, label: int, room: int) -> str:
    """One row. A long text continues in the lines below, under an empty label."""
    first, *others = _pieces(text, room)
    head = name + " " * (label - width(name)) + _GAP
    below = " " * (label + len(_GAP))
    return f"{head}{first}\n" + "".join(f"{below}{piece}\n" for piece in others)


def _pieces(text: str, room: int) -> list[str]:
    """Split a text into pieces that fit, after a blank where possible."""
    pieces, start = [], 0
    while (end := _fitting(text, start, room)) < len(text):
        end = text.rfind(" ", start, end) + 1 or end
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]


def _fitting(text: str, start: int, room: int) -> int:
    """Return the end of the piece that starts at `start` and fits into `room` columns."""
    for end in range(start, len(text)):
        room -= width(text[end])
        if room < 0:
            return end
    return len(text)


def _said_as_data(said: Opinion, digest: str) -> dict[str, object]:
    return {
        "authority": said.authority,
        "category": said.category or None,
        "state": said.state.value,
        "where": said.where,
        "other_text": said.is_for_another(digest),
    }
