"""Open a stream of events with a provider's official package; every error becomes a `Failure`.

The packages of OpenAI and Anthropic use the same names for everything that is used here.
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
    """A key, and the environment variable that it was read from."""

    text: str
    variable: str

    def hidden_in(self, text: str) -> str:
        """Return a text of a server with the key replaced."""
        # For servers without keys, people set a word such as `x`: that is not a secret.
        return text.replace(self.text, "…") if len(self.text) >= _SECRET_CHARS else text


def package_named(name: str) -> ModuleType:
    """Import an official package. Raises ModelError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ModelError(
            f"the package `{name}` is not installed: install `bylaw[{name}]`"
        ) from None


def key_from(*variables: str) -> Key:
    """Return the key of the first variable that is set. Raises ModelError if none is."""
    for variable in variables:
        if text := os.environ.get(variable, ""):
            if not (text.isascii() and text.isprintable() and " " not in text):
                raise ModelError(f"`{variable}` has characters that are invalid in a key")
            return Key(text, variable)
    raise ModelError(f"no API key found: set the environment variable `{variables[0]}`")


class Connection(Struct, frozen=True):
    """A client of a package, with what its requests and error messages need."""

    package: ModuleType
    client: Any
    name: str
    key: Key
    patience: Patience

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
        return Failure(f"{self.address} answers with `{one_line(kind)}`, not with an event stream")

    def _broken(self, cause: BaseException | None) -> Failure:
        httpx2 = _httpx2()
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            why = one_line(self.key.hidden_in(str(cause)))
            told = f"{self.name} cannot be reached at {self.address}: {why}"
            return Failure(told, again=True)
        if isinstance(cause, httpx2.TimeoutException):
            # The server has the request: a retry could cost the same turn twice.
            return Failure(f"{self.name} sent nothing for {self.patience.timeout_s:g} seconds")
        return Failure(f"the connection to {self.name} broke", again=True)


def connect(
    package: ModuleType,
    make_client: Callable[..., Any],
    name: str,
    base_url: str,
    key: Key,
    patience: Patience,
) -> Connection:
    """Return a connection to a server. Nothing is sent yet. Raises ModelError if it is invalid."""
    try:
        client = make_client(base_url=base_url or None, **client_settings(package, patience))
    # A proxy, a certificate or an address from the environment is invalid.
    except (ImportError, OSError, ValueError, _httpx2().InvalidURL) as error:
        raise ModelError(f"cannot connect: {one_line(str(error))}") from None
    if client.base_url.scheme not in {"http", "https"} or not client.base_url.host:
        client.close()
        raise ModelError(f"`{one_line(base_url)}` is not a server address such as `https://…`")
    return Connection(package, client, f"`{visible(brief(name))}`", key, patience)


def _httpx2() -> ModuleType:
    # Both packages depend on it, so it is installed with them.
    return import_module("httpx2")
