"""A provider's official package → a stream of its events; what goes wrong becomes a Failure.

The packages of OpenAI and Anthropic are made alike: what is used of them here has the same names.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bylaw.hosts.chat.models.base import ModelError
from bylaw.hosts.chat.models.bounded_client import client_settings
from bylaw.hosts.chat.models.failures import failure_of_event, failure_of_status, one_line
from bylaw.hosts.chat.models.patience import Failure
from bylaw.model.visible import brief, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import ModuleType

    from bylaw.hosts.chat.models.patience import Patience

_SECRET_CHARS = 8


class Key(Struct, frozen=True):
    """A key, and the variable of the environment that held it."""

    text: str
    variable: str

    def hidden_in(self, text: str) -> str:
        """A text of a server without the key."""
        # Servers that need no key are given a word such as `x`: that is no secret.
        return text.replace(self.text, "…") if len(self.text) >= _SECRET_CHARS else text


def package_named(name: str) -> ModuleType:
    """An official package, imported now; ModelError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ModelError(
            f"the package `{name}` is not installed: install `bylaw[{name}]`"
        ) from None


def key_from(*variables: str) -> Key:
    """The key of the first variable that is set; ModelError if none is."""
    for variable in variables:
        if text := os.environ.get(variable, ""):
            if not (text.isascii() and text.isprintable() and " " not in text):
                raise ModelError(f"`{variable}` holds characters that no key has")
            return Key(text, variable)
    raise ModelError(f"there is no key: set the variable `{variables[0]}`")


class Connection(Struct, frozen=True):
    """A client of a package, and what a person is told of it."""

    package: ModuleType
    client: Any
    name: str
    key: Key
    patience: Patience

    @property
    def address(self) -> str:
        """Where the server is; without names and passwords."""
        url = self.client.base_url
        return f"{url.scheme}://{url.netloc.decode()}{url.path}".rstrip("/")

    def events(self, open_stream: Callable[[], Any]) -> Generator[Any, None, None]:
        """The events of a stream; Failure if it cannot be opened or breaks."""
        try:
            with open_stream() as stream:
                seen = False
                for event in stream:
                    seen = True
                    yield event
                if not seen:
                    raise self._without_events(stream.response.headers.get("content-type", ""))
        except self.package.APIStatusError as error:
            raise failure_of_status(self, error) from None
        except self.package.APIConnectionError as error:
            raise self._broken(error.__cause__) from None
        except self.package.APIError as error:
            raise failure_of_event(self, error.body) from None
        except (ValueError, RecursionError):
            raise Failure(f"the answer of {self.name} cannot be read: it is not JSON") from None
        except _httpx2().HTTPError as error:
            raise self._broken(error) from None

    def _without_events(self, kind: str) -> Failure:
        if kind.startswith("text/event-stream"):
            return Failure(f"the answer of {self.name} is empty", again=True)
        return Failure(f"{self.address} answers with `{one_line(kind)}`, not with events")

    def _broken(self, cause: BaseException | None) -> Failure:
        httpx2 = _httpx2()
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            why = one_line(self.key.hidden_in(str(cause)))
            told = f"{self.name} cannot be reached at {self.address}: {why}"
            return Failure(told, again=True)
        if isinstance(cause, httpx2.TimeoutException):
            # It has the request: asking again could cost the same turn twice.
            return Failure(f"{self.name} was silent for {self.patience.timeout_s:g} seconds")
        return Failure(f"the connection to {self.name} broke", again=True)


def connect(
    package: ModuleType,
    make_client: Callable[..., Any],
    name: str,
    base_url: str,
    key: Key,
    patience: Patience,
) -> Connection:
    """A connection to a server, to which nothing is sent yet; ModelError if that cannot be one."""
    try:
        client = make_client(base_url=base_url or None, **client_settings(package, patience))
    # A proxy, a certificate or an address of the environment that cannot be used.
    except (ImportError, OSError, ValueError, _httpx2().InvalidURL) as error:
        raise ModelError(f"no connection can be made: {one_line(str(error))}") from None
    if client.base_url.scheme not in {"http", "https"} or not client.base_url.host:
        client.close()
        raise ModelError(f"`{one_line(base_url)}` is no address of a server, such as `https://…`")
    return Connection(package, client, f"`{visible(brief(name))}`", key, patience)


def _httpx2() -> ModuleType:
    # Both packages stand on it, so it is there when they are.
    return import_module("httpx2")
