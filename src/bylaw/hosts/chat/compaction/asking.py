"""A question beside the chat → what a model answers, read, or the reason why there is no use in it.

An answer that cannot be read is asked for again; a model that fails is not, since its client has
tried again where that helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bylaw.hosts.chat.compaction.failing import CompactionError
from bylaw.hosts.chat.messages import Request, Sent
from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.messages import Reply
    from bylaw.hosts.chat.models.base import Model

    Read = TypeVar("Read")

ATTEMPTS = 3


class UselessError(BylawError):
    """What is wrong with an answer."""


def ask(model: Model, task: str, material: str, read: Callable[[str], Read]) -> Read:
    """Set a task; `read` makes something of the answer, or raises UselessError."""
    said = Sent(role=Role.SYSTEM, text=task), Sent(role=Role.USER, text=material)
    request = Request(messages=said)
    wrong: UselessError | None = None
    for _ in range(ATTEMPTS):
        reply = _reply(model, request)
        try:
            return read(_text_of(reply))
        except UselessError as useless:
            wrong = useless
    raise CompactionError(f"the answer of `{model.name}` was no use {ATTEMPTS} times: {wrong}")


def _reply(model: Model, request: Request) -> Reply:
    try:
        return model.reply(request, lambda _piece: None)
    except ModelError as failed:
        raise CompactionError(str(failed)) from None


def _text_of(reply: Reply) -> str:
    if reply.calls:
        raise UselessError("it calls tools")
    if reply.cut:
        raise UselessError(f"it is not complete: {reply.cut}")
    text = reply.text.strip()
    if not text:
        raise UselessError("it is empty")
    return text
