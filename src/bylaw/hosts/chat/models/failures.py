"""Error responses of a server → a `Failure`, in one line and without the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.models.patience import Failure, asked_wait
from bylaw.model.visible import clipped, visible

if TYPE_CHECKING:
    from bylaw.hosts.chat.models.connection import Connection

MAX_TOLD = 300

_MADE_IT = 200
_REDIRECTED = range(300, 400)
_NO_KEY = frozenset({401, 403})
_UNKNOWN = 404
# Temporary, as errors of the server itself are: timeout, conflict, too many requests.
_FOR_NOW = frozenset({408, 409, 429})
_SERVER = 500

# Errors in a stream that a retry would meet again.
_FOR_GOOD = frozenset(
    {
        "authentication_error",
        "billing_error",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
        "request_too_large",
    }
)


def failure_of_status(line: Connection, error: Any) -> Failure:
    """Return the failure for an error status, or for an error in a stream that began with 200."""
    status: int = error.status_code
    if status == _MADE_IT:
        return failure_of_event(line, error.body)
    headers = error.response.headers
    again = status in _FOR_NOW or status >= _SERVER
    return Failure(
        _sentence(line, status) + _because(line, error.body),
        again=again and headers.get("x-should-retry") != "false",
        wait_s=asked_wait(headers),
    )


def failure_of_event(line: Connection, body: object) -> Failure:
    """Return the failure for an error event in a stream."""
    kind = _field(body, "type")
    told = f"{line.name} aborted the turn{_because(line, body)}"
    return Failure(told, again=kind not in _FOR_GOOD)


def one_line(text: str) -> str:
    """Return foreign text in a form that can be shown: one short line."""
    return visible(clipped(" ".join(text[: MAX_TOLD * 2].split()), MAX_TOLD))


def _sentence(line: Connection, status: int) -> str:
    if status in _REDIRECTED:
        return f"{line.address} redirects elsewhere, and Bylaw follows no redirects ({status})"
    if status in _NO_KEY:
        return f"{line.name} refused the key in `{line.key.variable}` ({status})"
    if status == _UNKNOWN:
        return f"{line.name} was not found at {line.address} ({status})"
    if status in _FOR_NOW:
        return f"{line.name} cannot handle the request now ({status})"
    if status >= _SERVER:
        return f"the server of {line.name} failed ({status})"
    return f"{line.name} refused the request ({status})"


def _because(line: Connection, body: object) -> str:
    said = one_line(line.key.hidden_in(_field(body, "message")))
    return f": {said}" if said else ""


def _field(body: object, name: str) -> str:
    """Return a text of the error. One package gives the whole body, the other its `error` only."""
    if isinstance(body, dict):
        inside = body.get("error")
        found = inside.get(name) if isinstance(inside, dict) else body.get(name)
        return found if isinstance(found, str) else ""
    return ""
