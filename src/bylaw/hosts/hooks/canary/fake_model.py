"""A model on the loopback interface that answers from a script, in the protocol of the request.

It needs no account and no network. A request that offers tools takes the next turn of the script. A
request without tools is a side question of the client, such as for a title, and gets a fixed
answer. The requests are kept, so that you can check what reached the model.
"""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from bylaw.hosts.hooks.canary.script import Turn
from bylaw.hosts.hooks.canary.wire import completions, gemini, messages, responses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedIOBase

    from bylaw.model.values import JSON

MODEL = "fake-model"
MAX_REQUEST = 64 << 20
MAX_REQUESTS = 1000
SIDE = Turn("ok")
AFTER = Turn("There is nothing more to do.")
_CONVERSATION = ("messages", "input", "contents")


class Asked(Struct, frozen=True):
    """A request for an answer. `tools` is the number of tools that it offers."""

    path: str
    body: dict[str, JSON]
    tools: int

    @property
    def conversation(self) -> JSON:
        """The messages so far, under the name that the protocol uses."""
        return next((self.body[name] for name in _CONVERSATION if name in self.body), None)


class FakeModel(Struct):
    """The address of the model, the turns that are left, and the requests so far."""

    url: str
    turns: list[Turn]
    asked: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def was_told(self, text: str) -> bool:
        """Return whether a text reached the model."""
        return any(text in one for asked in self.asked for one in _texts(asked.body))

    def next_turn(self, asked: Asked) -> Turn:
        """Keep a request and return the answer to it."""
        with self._lock:
            if len(self.asked) < MAX_REQUESTS:
                self.asked.append(asked)
            if not asked.tools:
                return SIDE
            return self.turns.pop(0) if self.turns else AFTER


@contextmanager
def fake_model(turns: Iterable[Turn]) -> Iterator[FakeModel]:
    """Serve requests while the block runs."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.model = FakeModel(f"http://127.0.0.1:{server.server_address[1]}", list(turns))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: FakeModel

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: a client may disconnect at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Send each answer in one write and without delay: a second write would wait for the first.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Print nothing."""

    def do_HEAD(self) -> None:
        """Answer a client that checks whether the server runs."""
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        """List the models, which is the only thing to get."""
        one: JSON = {"id": MODEL, "name": f"models/{MODEL}", "object": "model", "type": "model"}
        self._send_json({"object": "list", "data": [one], "models": [one], "has_more": False})

    def do_POST(self) -> None:
        """Answer a request to the model."""
        path = self.path.partition("?")[0]
        data = _data(self.headers.get("transfer-encoding", ""), self._length(), self.rfile)
        body = _decoded(data, self.headers.get("content-encoding", ""))
        if path.endswith(("/count_tokens", ":countTokens")):
            self._send_json({"input_tokens": 100, "totalTokens": 100})
            return
        turn = self.server.model.next_turn(Asked(path, body, _offered(body)))
        self._answer(path, body, turn)

    def _answer(self, path: str, body: dict[str, JSON], turn: Turn) -> None:
        model = str(body.get("model", MODEL))
        if path.endswith("/messages"):
            self._stream(messages.streamed(turn, model))
        elif path.endswith("/responses"):
            self._stream(responses.streamed(turn, model))
        elif path.endswith("/chat/completions") and body.get("stream"):
            self._stream(completions.streamed(turn, model))
        elif path.endswith("/chat/completions"):
            self._send_json(completions.whole(turn, model))
        elif path.endswith(":streamGenerateContent"):
            self._stream(gemini.streamed(turn, model))
        elif path.endswith(":generateContent"):
            self._send_json(gemini.whole(turn, model))
        else:
            self._send_json({"error": {"message": "unknown path"}}, 404)

    def _length(self) -> int:
        return int(self.headers.get("content-length") or 0)

    def _stream(self, data: bytes) -> None:
        self._send(data, "text/event-stream")

    def _send_json(self, value: dict[str, JSON], status: int = 200) -> None:
        self._send(msgspec.json.encode(value), "application/json", status)

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _data(transfer: str, length: int, stream: BufferedIOBase) -> bytes:
    if transfer.lower() != "chunked":
        return stream.read(min(length, MAX_REQUEST))
    pieces = []
    while size := int(stream.readline().partition(b";")[0], 16):
        pieces.append(stream.read(min(size, MAX_REQUEST)))
        stream.readline()
    stream.readline()
    return b"".join(pieces)


def _decoded(data: bytes, encoding: str) -> dict[str, JSON]:
    """Return the body; empty if it is not a JSON object."""
    if encoding == "gzip":
        data = gzip.decompress(data)
    try:
        return msgspec.json.decode(data, type=dict)
    except msgspec.MsgspecError:
        return {}


def _offered(body: dict[str, JSON]) -> int:
    tools = body.get("tools")
    if not isinstance(tools, list):
        return 0
    inside = [one.get("functionDeclarations") for one in tools if isinstance(one, dict)]
    return sum(len(one) if isinstance(one, list) else 1 for one in inside)


def _texts(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
