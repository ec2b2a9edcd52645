"""Remove from a session what only its erased records contained.

Counters, switches and names of rules stay, so that no limit is reset. Texts and arguments are
removed, except texts that a remaining record contains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from bylaw.model.effects import Notify, StateSet
from bylaw.model.values import as_text
from bylaw.runtime.journal.snapshot import ERASED

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from bylaw.model.calls import Calls, PendingCall, ToolUse
    from bylaw.model.deferred import Deferred
    from bylaw.model.history import History
    from bylaw.model.notices import Notice
    from bylaw.model.session import Session


def texts_in(session: Session) -> set[str]:
    """Return all texts of a session that may come from an event."""
    found: set[str] = set()

    def note(text: str) -> str:
        found.add(text)
        return text

    _with_texts(session, note, lambda _: True)
    return found


def still_said(texts: set[str], payloads: Iterable[bytes]) -> set[str]:
    """Return those of the texts that occur in one of the payloads, which are JSON."""
    said: set[str] = set()
    for payload in payloads:
        if len(said) == len(texts):
            break
        said.update(text for text in _said_in(msgspec.json.decode(payload)) if text in texts)
    return said


def _said_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        if "result" in value:
            yield as_text(value["result"])  # the form that `last_tool` has
        for item in value.values():
            yield from _said_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _said_in(item)


def erased(session: Session, said: Container[str], kept_from: int | None) -> Session:
    """Return the session with only these texts, and without arguments of calls before a time.

    Without a time, no call keeps its arguments.
    """
    return _with_texts(
        session,
        lambda text: text if not text or text in said else ERASED,
        lambda at: kept_from is not None and at >= kept_from,
    )


def _with_texts(
    session: Session, text: Callable[[str], str], keeps: Callable[[int], bool]
) -> Session:
    notices = session.notices
    return replace(
        session,
        history=_history(session.history, text),
        calls=_calls(session.calls, keeps),
        slate=replace(session.slate, variables=_plain(session.slate.variables, text, names=2)),
        notices=replace(
            notices,
            waiting=tuple(_notice(one, text) for one in notices.waiting),
            sent=tuple(replace(one, notice=_notice(one.notice, text)) for one in notices.sent),
        ),
        deferred=replace(
            session.deferred,
            waiting=tuple(_deferred(one, text) for one in session.deferred.waiting),
        ),
    )


def _history(history: History, text: Callable[[str], str]) -> History:
    messages = tuple(replace(one, content=text(one.content)) for one in history.messages)
    return replace(
        history,
        last_user=text(history.last_user),
        last_assistant=text(history.last_assistant),
        last_tool=text(history.last_tool),
        messages=messages,
        chars=sum(one.chars for one in messages),
    )


def _calls(calls: Calls, keeps: Callable[[int], bool]) -> Calls:
    def pending(one: PendingCall) -> PendingCall:
        return one if keeps(one.at) else replace(one, args={})

    def used(one: ToolUse) -> ToolUse:
        if keeps(one.timestamp):
            return one
        return replace(one, arguments={}, result=None if one.result is None else ERASED)

    return replace(
        calls,
        pending=tuple(map(pending, calls.pending)),
        tools=tuple(map(used, calls.tools)),
    )


def _notice(notice: Notice, text: Callable[[str], str]) -> Notice:
    return replace(notice, text=text(notice.text))


def _deferred(deferred: Deferred, text: Callable[[str], str]) -> Deferred:
    match deferred.step:
        case StateSet() as step:
            return replace(deferred, step=replace(step, value=_plain(step.value, text)))
        case Notify() as step:
            return replace(deferred, step=replace(step, text=text(step.text)))
    return deferred


def _plain(value: Any, text: Callable[[str], str], *, names: int = 0) -> Any:
    """Replace the texts of a plain value; keys of the first `names` levels are names of rules."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list | tuple):
        return [_plain(item, text) for item in value]
    if isinstance(value, dict):
        return {
            key if names else text(key): _plain(item, text, names=max(names - 1, 0))
            for key, item in value.items()
        }
    return value
