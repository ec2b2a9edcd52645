"""A model on the loopback interface that answers from a script, in the protocol of the request.

It needs no account and no network. A request that offers tools takes the next turn of the script. A
request without tools is a side question of the client, such as for a title, and gets a fixed
answer. The requests are kept, so that you can check what reached the model. The protocols:

    OpenAI Chat Completions   Qwen Code, OpenCode, Copilot CLI, Droid
    OpenAI Responses          Codex CLI
    Anthropic Messages        Claude Code
    Gemini generateContent    Gemini CLI
"""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from bylaw.hosts.clients.base import MODEL, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedIOBase

    from bylaw.hosts.clients.base import ToolCall
    from bylaw.model.values import JSON

# Token counts that any client accepts.
TOKENS_IN, TOKENS_OUT = 100, 20
_NUMBERS = count(1)


def new_id(prefix: str) -> str:
    """Return an id that is unique in this process."""
    return f"{prefix}{next(_NUMBERS):024d}"


def arguments_text(args: dict[str, JSON]) -> str:
    """Encode the arguments of a call as a text, as most protocols do."""
    return msgspec.json.encode(args).decode()


def encode_stream(
    events: Iterable[dict[str, JSON]], *, named: bool = False, end: bytes = b""
) -> bytes:
    """Encode server-sent events. With `named`, each has its type before its data."""
    return b"".join(_encode_event(event, named=named) for event in events) + end


def _encode_event(event: dict[str, JSON], *, named: bool) -> bytes:
    head = f"event: {event['type']}\n".encode() if named else b""
    return head + b"data: " + msgspec.json.encode(event) + b"\n\n"


_COMPLETION_USAGE: dict[str, JSON] = {
    "prompt_tokens": TOKENS_IN,
    "completion_tokens": TOKENS_OUT,
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}


def completions_stream(turn: Turn, model: str) -> bytes:
    """Return the answer in pieces."""
    head: dict[str, JSON] = {**_completion_head(model), "object": "chat.completion.chunk"}
    chunks = ({**head, **chunk} for chunk in _completion_chunks(turn))
    return encode_stream(chunks, end=b"data: [DONE]\n\n")


def completions_json(turn: Turn, model: str) -> dict[str, JSON]:
    """Return the answer as one object."""
    message: dict[str, JSON] = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = _completion_calls(turn)
    choice: JSON = {"index": 0, "message": message, "finish_reason": _finish_reason(turn)}
    return {
        **_completion_head(model),
        "object": "chat.completion",
        "choices": [choice],
        "usage": _COMPLETION_USAGE,
    }


def _completion_chunks(turn: Turn) -> Iterator[dict[str, JSON]]:
    yield _completion_chunk({"role": "assistant", "content": turn.text})
    if turn.calls:
        yield _completion_chunk({"tool_calls": _completion_calls(turn)})
    yield _completion_chunk({}, _finish_reason(turn))
    yield {"choices": [], "usage": _COMPLETION_USAGE}


def _completion_chunk(delta: dict[str, JSON], finish: str | None = None) -> dict[str, JSON]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _completion_calls(turn: Turn) -> list[JSON]:
    return [
        {
            "index": index,
            "id": new_id("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call.args)},
        }
        for index, call in enumerate(turn.calls)
    ]


def _finish_reason(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _completion_head(model: str) -> dict[str, JSON]:
    return {"id": new_id("chatcmpl-"), "created": 0, "model": model}


def gemini_stream(turn: Turn, model: str) -> bytes:
    """Return the answer as one piece of a stream."""
    return encode_stream([gemini_json(turn, model)])


def gemini_json(turn: Turn, model: str) -> dict[str, JSON]:
    """Return the answer as one object."""
    text: list[JSON] = [{"text": turn.text}] if turn.text else []
    calls: list[JSON] = [
        {"functionCall": {"name": call.name, "args": call.args}} for call in turn.calls
    ]
    said: JSON = {"role": "model", "parts": [*text, *calls]}
    usage: JSON = {
        "promptTokenCount": TOKENS_IN,
        "candidatesTokenCount": TOKENS_OUT,
        "totalTokenCount": TOKENS_IN + TOKENS_OUT,
    }
    return {
        "candidates": [{"content": said, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": new_id("r"),
    }


def messages_stream(turn: Turn, model: str) -> bytes:
    """Return the answer in pieces."""
    return encode_stream(_messages_events(turn, model), named=True)


def _messages_events(turn: Turn, model: str) -> Iterator[dict[str, JSON]]:
    yield {"type": "message_start", "message": _message_start(model)}
    for index, (begun, delta) in enumerate(_message_blocks(turn)):
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if turn.calls else "end_turn"
    ended: dict[str, JSON] = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": TOKENS_OUT}}
    yield {"type": "message_stop"}


def _message_start(model: str) -> dict[str, JSON]:
    return {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1},
    }


def _message_blocks(turn: Turn) -> Iterator[tuple[dict[str, JSON], dict[str, JSON]]]:
    """Yield the start of each block, and its content as one delta."""
    if turn.text:
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
    for call in turn.calls:
        begun: dict[str, JSON] = {"type": "tool_use", "name": call.name, "input": {}}
        given = arguments_text(call.args)
        yield (
            {**begun, "id": new_id("toolu_")},
            {"type": "input_json_delta", "partial_json": given},
        )


def responses_stream(turn: Turn, model: str) -> bytes:
    """Return the answer, item by item. Clients use an item when it is done."""
    numbered = (
        {**one, "sequence_number": n} for n, one in enumerate(_responses_events(turn, model))
    )
    return encode_stream(numbered, named=True)


def _responses_events(turn: Turn, model: str) -> Iterator[dict[str, JSON]]:
    begun: dict[str, JSON] = {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": "in_progress",
        "output": [],
    }
    yield {"type": "response.created", "response": begun}
    items = list(_response_items(turn))
    for index, item in enumerate(items):
        open_item: JSON = {**item, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": open_item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ended: JSON = {**begun, "status": "completed", "output": [*items], "usage": _response_usage()}
    yield {"type": "response.completed", "response": ended}


def _response_items(turn: Turn) -> Iterator[dict[str, JSON]]:
    if turn.text:
        said: JSON = {"type": "output_text", "text": turn.text, "annotations": []}
        yield _response_item("message", role="assistant", content=[said])
    for call in turn.calls:
        yield _function_call(call)


def _function_call(call: ToolCall) -> dict[str, JSON]:
    about: dict[str, JSON] = {"call_id": new_id("call_"), "name": call.name}
    return _response_item("function_call", **about, arguments=arguments_text(call.args))


def _response_item(kind: str, **more: JSON) -> dict[str, JSON]:
    return {"type": kind, "id": new_id("item_"), "status": "completed", **more}


def _response_usage() -> JSON:
    return {
        "input_tokens": TOKENS_IN,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": TOKENS_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }


MAX_REQUEST = 64 << 20
MAX_REQUESTS = 1000
SIDE_TURN = Turn("ok")
END_TURN = Turn("There is nothing more to do.")
_CONVERSATION = ("messages", "input", "contents")


class ModelRequest(Struct, frozen=True):
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
    asked: list[ModelRequest] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def has_received(self, text: str) -> bool:
        """Return whether a text reached the model."""
        return any(text in one for asked in self.asked for one in _texts(asked.body))

    def next_turn(self, asked: ModelRequest) -> Turn:
        """Keep a request and return the answer to it."""
        with self._lock:
            if len(self.asked) < MAX_REQUESTS:
                self.asked.append(asked)
            if not asked.tools:
                return SIDE_TURN
            return self.turns.pop(0) if self.turns else END_TURN


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
        data = _read_body(self.headers.get("transfer-encoding", ""), self._length(), self.rfile)
        body = _decode_body(data, self.headers.get("content-encoding", ""))
        if path.endswith(("/count_tokens", ":countTokens")):
            self._send_json({"input_tokens": 100, "totalTokens": 100})
            return
        turn = self.server.model.next_turn(ModelRequest(path, body, _count_tools(body)))
        self._answer(path, body, turn)

    def _answer(self, path: str, body: dict[str, JSON], turn: Turn) -> None:
        model = str(body.get("model", MODEL))
        if path.endswith("/messages"):
            self._stream(messages_stream(turn, model))
        elif path.endswith("/responses"):
            self._stream(responses_stream(turn, model))
        elif path.endswith("/chat/completions") and body.get("stream"):
            self._stream(completions_stream(turn, model))
        elif path.endswith("/chat/completions"):
            self._send_json(completions_json(turn, model))
        elif path.endswith(":streamGenerateContent"):
            self._stream(gemini_stream(turn, model))
        elif path.endswith(":generateContent"):
            self._send_json(gemini_json(turn, model))
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


def _read_body(transfer: str, length: int, stream: BufferedIOBase) -> bytes:
    if transfer.lower() != "chunked":
        return stream.read(min(length, MAX_REQUEST))
    pieces = []
    while size := int(stream.readline().partition(b";")[0], 16):
        pieces.append(stream.read(min(size, MAX_REQUEST)))
        stream.readline()
    stream.readline()
    return b"".join(pieces)


def _decode_body(data: bytes, encoding: str) -> dict[str, JSON]:
    """Return the body; empty if it is not a JSON object."""
    if encoding == "gzip":
        data = gzip.decompress(data)
    try:
        return msgspec.json.decode(data, type=dict)
    except msgspec.MsgspecError:
        return {}


def _count_tools(body: dict[str, JSON]) -> int:
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
