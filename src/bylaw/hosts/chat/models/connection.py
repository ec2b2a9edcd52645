"""Request one turn with a provider's official package, and retry while that can help.

No retry is made after text was shown. Every error becomes a `Failure` in one line and without the
key. The size and the time of a response are limited. The packages of OpenAI and Anthropic use the
same names for everything that is used here.
"""

from __future__ import annotations

import os
from contextlib import closing
from importlib import import_module
from itertools import count
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from bylaw.hosts.chat.models.base import (
    AttemptFailure,
    ModelError,
    names_by_wire_name,
    requested_wait,
)
from bylaw.hosts.chat.models.turn import FormError, TurnBuilder
from bylaw.model.display import brief, clip_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from types import ModuleType

    import httpx2

    from bylaw.hosts.chat.blocks import Reply, Request
    from bylaw.hosts.chat.models.base import RetryPolicy

# All bytes that a server sends for one turn, including what is wrapped around the text.
MAX_STREAM_BYTES = 64 * 1024 * 1024


def client_settings(package: ModuleType, patience: RetryPolicy) -> dict[str, Any]:
    """Return the client settings for both packages: timeouts, limits, and no retries."""
    timeout = package.Timeout(
        patience.timeout_s, connect=min(patience.connect_s, patience.timeout_s)
    )
    http_client = package.DefaultHttpxClient(
        timeout=timeout,
        # Key and chat go only to the configured server.
        follow_redirects=False,
        event_hooks={"response": [_response_hook(patience.turn_s)]},
    )
    return {"max_retries": 0, "timeout": timeout, "http_client": http_client}


def _response_hook(turn_s: float) -> Callable[[httpx2.Response], None]:
    import httpx2  # noqa: PLC0415 - installed with the packages

    class Bounded(httpx2.SyncByteStream):
        """The body of a response. Raises ModelError if it is too long or takes too long."""

        def __init__(self, body: httpx2.SyncByteStream) -> None:
            self._body = body

        def __iter__(self) -> Iterator[bytes]:
            left, end = MAX_STREAM_BYTES, monotonic() + turn_s
            for piece in self._body:
                left -= len(piece)
                if left < 0:
                    raise ModelError(f"the server sent more than {MAX_STREAM_BYTES:,} bytes")
                if monotonic() > end:
                    raise ModelError(f"the model's turn took longer than {turn_s:g} seconds")
                yield piece

        def close(self) -> None:
            self._body.close()

    def bound(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream), "the client is not async"
        response.stream = Bounded(response.stream)

    return bound


MAX_ERROR_CHARS = 300

_OK = 200
_REDIRECTS = range(300, 400)
_KEY_REJECTED = frozenset({401, 403})
_NOT_FOUND = 404
# Temporary, as errors of the server itself are: timeout, conflict, too many requests.
_TEMPORARY = frozenset({408, 409, 429})
_SERVER_ERROR = 500

# Errors in a stream that a retry would meet again.
_PERMANENT = frozenset(
    {
        "authentication_error",
        "billing_error",
        "invalid_request_error",
        "not_found_error",
        "permission_error",
        "request_too_large",
    }
)


def failure_of_status(line: ModelConnection, error: Any) -> AttemptFailure:
    """Return the failure for an error status, or for an error in a stream that began with 200."""
    status: int = error.status_code
    if status == _OK:
        return failure_of_event(line, error.body)
    headers = error.response.headers
    again = status in _TEMPORARY or status >= _SERVER_ERROR
    return AttemptFailure(
        _headline(line, status) + _reason(line, error.body),
        again=again and headers.get("x-should-retry") != "false",
        wait_s=requested_wait(headers),
    )


def failure_of_event(line: ModelConnection, body: object) -> AttemptFailure:
    """Return the failure for an error event in a stream."""
    kind = _field(body, "type")
    told = f"{line.name} aborted the turn{_reason(line, body)}"
    return AttemptFailure(told, again=kind not in _PERMANENT)


def one_line(text: str) -> str:
    """Return foreign text in a form that can be shown: one short line."""
    return visible(clip_text(" ".join(text[: MAX_ERROR_CHARS * 2].split()), MAX_ERROR_CHARS))


def _headline(line: ModelConnection, status: int) -> str:
    if status in _REDIRECTS:
        return f"{line.address} redirects elsewhere, and Bylaw follows no redirects ({status})"
    if status in _KEY_REJECTED:
        return f"{line.name} refused the key in `{line.key.variable}` ({status})"
    if status == _NOT_FOUND:
        return f"{line.name} was not found at {line.address} ({status})"
    if status in _TEMPORARY:
        return f"{line.name} cannot handle the request now ({status})"
    if status >= _SERVER_ERROR:
        return f"the server of {line.name} failed ({status})"
    return f"{line.name} refused the request ({status})"


def _reason(line: ModelConnection, body: object) -> str:
    said = one_line(line.key.hide_in(_field(body, "message")))
    return f": {said}" if said else ""


def _field(body: object, name: str) -> str:
    """Return a text of the error. One package gives the whole body, the other its `error` only."""
    if isinstance(body, dict):
        inside = body.get("error")
        found = inside.get(name) if isinstance(inside, dict) else body.get(name)
        return found if isinstance(found, str) else ""
    return ""


_SECRET_CHARS = 8


class ApiKey(Struct, frozen=True):
    """A key, and the environment variable that it was read from."""

    text: str
    variable: str

    def hide_in(self, text: str) -> str:
        """Return a text of a server with the key replaced."""
        # For servers without keys, people set a word such as `x`: that is not a secret.
        return text.replace(self.text, "…") if len(self.text) >= _SECRET_CHARS else text


def import_package(name: str) -> ModuleType:
    """Import an official package. Raises ModelError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ModelError(
            f"the package `{name}` is not installed: install `bylaw[{name}]`"
        ) from None


def find_key(*variables: str) -> ApiKey:
    """Return the key of the first variable that is set. Raises ModelError if none is."""
    for variable in variables:
        if text := os.environ.get(variable, ""):
            if not (text.isascii() and text.isprintable() and " " not in text):
                raise ModelError(f"`{variable}` has characters that are invalid in a key")
            return ApiKey(text, variable)
    raise ModelError(f"no API key found: set the environment variable `{variables[0]}`")


class ModelConnection(Struct, frozen=True):
    """A client of a package, with what its requests and error messages need."""

    package: ModuleType
    client: Any
    name: str
    key: ApiKey
    patience: RetryPolicy

    @property
    def address(self) -> str:
        """The address of the server, without user name and password."""
        url = self.client.base_url
        return f"{url.scheme}://{url.netloc.decode()}{url.path}".rstrip("/")

    def events(self, open_stream: Callable[[], Any]) -> Generator[Any, None, None]:
        """Yield the events of a stream. Raises `Failure` if it cannot be opened or breaks."""
        try:
            with open_stream() as stream:
                seen = False
                for event in stream:
                    seen = True
                    yield event
                if not seen:
                    raise self._no_events(stream.response.headers.get("content-type", ""))
        except self.package.APIStatusError as error:
            raise failure_of_status(self, error) from None
        except self.package.APIConnectionError as error:
            raise self._connection_failure(error.__cause__) from None
        except self.package.APIError as error:
            raise failure_of_event(self, error.body) from None
        except (ValueError, RecursionError):
            raise AttemptFailure(
                f"the answer of {self.name} cannot be read: it is not JSON"
            ) from None
        except _httpx2().HTTPError as error:
            raise self._connection_failure(error) from None

    def _no_events(self, kind: str) -> AttemptFailure:
        if kind.startswith("text/event-stream"):
            return AttemptFailure(f"the answer of {self.name} is empty", again=True)
        return AttemptFailure(
            f"{self.address} answers with `{one_line(kind)}`, not with an event stream"
        )

    def _connection_failure(self, cause: BaseException | None) -> AttemptFailure:
        httpx2 = _httpx2()
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            why = one_line(self.key.hide_in(str(cause)))
            told = f"{self.name} cannot be reached at {self.address}: {why}"
            return AttemptFailure(told, again=True)
        if isinstance(cause, httpx2.TimeoutException):
            # The server has the request: a retry could cost the same turn twice.
            return AttemptFailure(
                f"{self.name} sent nothing for {self.patience.timeout_s:g} seconds"
            )
        return AttemptFailure(f"the connection to {self.name} broke", again=True)


def connect(
    package: ModuleType,
    make_client: Callable[..., Any],
    name: str,
    base_url: str,
    key: ApiKey,
    patience: RetryPolicy,
) -> ModelConnection:
    """Return a connection to a server. Nothing is sent yet. Raises ModelError if it is invalid."""
    try:
        client = make_client(base_url=base_url or None, **client_settings(package, patience))
    # A proxy, a certificate or an address from the environment is invalid.
    except (ImportError, OSError, ValueError, _httpx2().InvalidURL) as error:
        raise ModelError(f"cannot connect: {one_line(str(error))}") from None
    if client.base_url.scheme not in {"http", "https"} or not client.base_url.host:
        client.close()
        raise ModelError(f"`{one_line(base_url)}` is not a server address such as `https://…`")
    return ModelConnection(package, client, f"`{visible(brief(name))}`", key, patience)


def _httpx2() -> ModuleType:
    # Both packages depend on it, so it is installed with them.
    return import_module("httpx2")


class TurnReader(Protocol):
    """Reads the stream of one provider into a turn."""

    def __init__(self, turn: TurnBuilder) -> None:
        """Begin to read into a turn."""

    def take(self, event: Any) -> str:
        """Read an event into the turn, and return the text in it. FormError if it is malformed."""


def request_turn(
    line: ModelConnection,
    open_stream: Callable[[], Any],
    reading: type[TurnReader],
    request: Request,
    on_text: Callable[[str], None],
) -> Reply:
    """Return one turn. Raises ModelError if it fails. `on_text` gets no text twice."""
    for asked in count(1):
        turn = TurnBuilder(request, on_text)
        try:
            return _attempt(line, open_stream, reading(turn), turn, request)
        except AttemptFailure as failure:
            if turn.released:
                raise ModelError(f"the turn was interrupted: {failure}") from None
            wait_s = line.patience.wait_s(asked, failure)
            if wait_s is None:
                times = f" (after {asked} attempts)" if asked > 1 else ""
                raise ModelError(f"{failure}{times}") from None
        sleep(wait_s)
    raise AssertionError("the loop does not end by itself")


def _attempt(
    line: ModelConnection,
    open_stream: Callable[[], Any],
    reading: TurnReader,
    turn: TurnBuilder,
    request: Request,
) -> Reply:
    # An error in `on_text` is not a failure of the model, so only the reading is guarded.
    with closing(line.events(open_stream)) as events:
        for event in events:
            turn.say(_read_event(line, reading, event))
    if not turn.ended:
        raise AttemptFailure(f"the answer of {line.name} ended too early", again=True)
    return turn.reply(names_by_wire_name(request.tools))


def _read_event(line: ModelConnection, reading: TurnReader, event: Any) -> str:
    try:
        return reading.take(event)
    except (FormError, RecursionError) as wrong:
        raise AttemptFailure(f"the answer of {line.name} is malformed: {wrong}") from None
