"""The HTTP client of a provider's package, with a limit on the size and time of a response."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.models.base import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import httpx2

    from bylaw.hosts.chat.models.patience import Patience

# All bytes that a server sends for one turn, including what is wrapped around the text.
MAX_STREAM_BYTES = 64 * 1024 * 1024


def client_settings(package: ModuleType, patience: Patience) -> dict[str, Any]:
    """Return the client settings for both packages: timeouts, limits, and no retries."""
    timeout = package.Timeout(
        patience.timeout_s, connect=min(patience.connect_s, patience.timeout_s)
    )
    http_client = package.DefaultHttpxClient(
        timeout=timeout,
        # Key and chat go only to the configured server.
        follow_redirects=False,
        event_hooks={"response": [_bounding(patience.turn_s)]},
    )
    return {"max_retries": 0, "timeout": timeout, "http_client": http_client}


def _bounding(turn_s: float) -> Callable[[httpx2.Response], None]:
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
