"""Messages at the top of a chat → findings about those that cannot be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes.chatmd import CHATMD_BAD_MESSAGE
from bylaw.model.diagnostic import error
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief
from bylaw.model.vocabulary import ROLES, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.dialects.chatmd.imports import Placed
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.model.diagnostic import Diagnostic

_CALL = ("function_name", "tool_call_id")
_NEEDED = {"tool_call": _CALL, "tool_response": ("tool_call_id",)}
_OLD_CALLS = {"tool_call", "function_call"}


def check_messages(placed: Iterable[Placed]) -> Iterator[Diagnostic]:
    """Yield the findings about all messages."""
    for element, source in placed:
        role = element.value("role").lower()
        if element.name == "msg" and role not in ROLES:
            headline = f"unknown role `{brief(role)}`" if role else "`<msg>` needs a `role`"
            span, help_ = element.start, did_you_mean(role, ROLES)
            yield error(CHATMD_BAD_MESSAGE, headline, source, span, help=help_)
        for name in _needed(element, role):
            if not element.value(name):
                headline, help_ = f"`<{element.name}>` needs `{name}`", f'write `{name}="…"`'
                yield error(CHATMD_BAD_MESSAGE, headline, source, element.start, help=help_)


def _needed(element: Element, role: str) -> tuple[str, ...]:
    """Return the attributes that identify a call. Old transcripts store calls as `<msg>`."""
    if element.name != "msg":
        return _NEEDED.get(element.name, ())
    if role == Role.TOOL:
        return _NEEDED["tool_response"]
    is_call = any(one.name in _OLD_CALLS for one in element.attributes)
    return _CALL if is_call else ()
