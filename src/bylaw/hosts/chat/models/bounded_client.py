"""An HTTP client as a package makes it, but that what a server sends ends at some time."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from bylaw.hosts.chat.models.base import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    import httpx2

    from bylaw.hosts.chat.models.patience import Patience

# Everything that a server sends for one turn, with all that is wrapped around its words.
MAX_STREAM_BYTES = 64 * 1024 * 1024


def client_settings(package: ModuleType, patience: Patience) -> dict[str, Any]:
    """What both packages are told: whom they wait for how long, and that they ask only once."""
    timeout = package.Timeout(
        patience.timeout_s, connect=min(patience.connect_s, patience.timeout_s)
    )
    http_client = package.DefaultHttpxClient(
        timeout=timeout,
        # Neither key nor chat goes anywhere but to the server that somebody chose.
        follow_redirects=False,
        event_hooks={"response": [_bounding(patience.turn_s)]},
    )
    return {"max_retries": 0, "timeout": timeout, "http_client": http_client}


def _bounding(turn_s: float) -> Callable[[httpx2.Response], None]:
    import httpx2  # noqa: PLC0415 - it comes with the packages

    class Bounded(httpx2.SyncByteStream):
        """A body that is given up on when it is too long or takes too long."""

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
        assert isinstance(response.stream, httpx2.SyncByteStream), "the client is no async one"
        response.stream = Bounded(response.stream)

    return bound
