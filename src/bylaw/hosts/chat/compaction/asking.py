"""Ask a model a question outside the chat, and read its answer.

If an answer cannot be used, the model is asked again. If the model fails, it is not: its client has
already retried.
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
    """The answer cannot be used. The text says why."""


def ask(model: Model, task: str, material: str, read: Callable[[str], Read]) -> Read:
    """Give the model a task, and return what `read` makes of its answer.

    `read` raises `UselessError` if it cannot use the answer. Raises CompactionError if no answer
    can be used.
    """
    said = Sent(role=Role.SYSTEM, text=task), Sent(role=Role.USER, text=material)
    request = Request(messages=said)
    wrong: UselessError | None = None
    for _ in range(ATTEMPTS):
        reply = _reply(model, request)
        try:
            return read(_text_of(reply))
        except UselessError as useless:
            wrong = useless
    raise CompactionError(f"`{model.name}` gave no usable answer in {ATTEMPTS} attempts: {wrong}")


def _reply(model: Model, request: Request) -> Reply:
    try:
        return model.reply(request, lambda _piece: None)
    except ModelError as failed:
        raise CompactionError(str(failed)) from None


def _text_of(reply: Reply) -> str:
    if reply.calls:
        raise UselessError("it calls tools")
    if reply.cut:
        raise UselessError(f"it is incomplete: {reply.cut}")
    text = reply.text.strip()
    if not text:
        raise UselessError("it is empty")
    return text
