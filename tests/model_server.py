"""A server on loopback that speaks the wire formats of OpenAI and Anthropic, and can misbehave.

It gives one answer after the other from a list, the last one for ever, and keeps what it was sent.
"""

import json
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Asked:
    """A request as it came."""

    path: str
    headers: dict
    body: dict


@dataclass
class Answer:
    """A status and a body in pieces; `broken` closes the line before the end, `hangs` waits."""

    pieces: list = field(default_factory=list)
    status: int = 200
    headers: dict = field(default_factory=dict)
    kind: str = "text/event-stream"
    broken: bool = False
    hangs: bool = False


@dataclass
class ModelServer:
    """Where it is, what it will answer, what it was asked."""

    url: str
    answers: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)
    lines: int = 0

    def wait_until_idle(self):
        """Until no client is connected."""
        while self.lines:
            time.sleep(0.001)

    def next_answer(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def model_server():
    """Run a server while the block runs."""
    http = _Server(("127.0.0.1", 0), _Handler)
    http.state = ModelServer(f"http://127.0.0.1:{http.server_address[1]}/v1")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield http.state
    finally:
        http.state.ending.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def process_request(self, request, client_address):
        self.state.lines += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        super().shutdown_request(request)
        self.state.lines -= 1

    def handle_error(self, request, client_address):
        """A client may go whenever it wants."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *args):
        """Say nothing."""

    def do_POST(self):
        state = self.server.state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        state.asked.append(Asked(self.path, headers, body))
        answer = state.next_answer()
        if answer.hangs and not answer.pieces:
            state.ending.wait()
            self.close_connection = True
            return
        self._send(answer)

    def _send(self, answer):
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in answer.pieces:
            data = piece if isinstance(piece, bytes) else piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if answer.hangs:
            self.server.state.ending.wait()
        if answer.broken or answer.hangs:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")


def status(code, body, **headers):
    """An answer that says no; the names of headers are written with `_`."""
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([text], code, named, "application/json")


def openai_stream(*texts, calls=(), stop="stop", usage=(11, 7), **answer):
    """Chat Completions: texts in pieces, calls as (id, name, pieces of arguments)."""
    sent = [_chunk({"role": "assistant", "content": ""})]
    sent += [_chunk({"content": text}) for text in texts]
    for index, (call_id, name, _pieces) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": call_id, "type": "function", "function": function}
        sent.append(_chunk({"tool_calls": [call]}))
    # The pieces of parallel calls come one from each in turn.
    for turn in range(max((len(pieces) for *_, pieces in calls), default=0)):
        for index, (*_, pieces) in enumerate(calls):
            if turn < len(pieces):
                function = {"arguments": pieces[turn]}
                sent.append(_chunk({"tool_calls": [{"index": index, "function": function}]}))
    if stop:
        sent.append(_chunk({}, stop))
        if usage:
            counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": 18}
            sent.append(_chunk(None, usage=counted))
        sent.append("data: [DONE]\n\n")
    return Answer(sent, **answer)


def _chunk(delta, stop=None, **more):
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": stop}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return sse({**head, "choices": choices, **more})


def anthropic_stream(*texts, calls=(), stop="end_turn", usage=(11, 7), details=None, **answer):
    """Messages: texts in pieces in one block, calls as (id, name, pieces of arguments)."""
    counted = {"input_tokens": usage[0], "output_tokens": 1} if usage else {}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    sent = [named({"type": "message_start", "message": {**message, "usage": counted}})]
    sent.append(named({"type": "ping"}))
    deltas = [{"type": "text_delta", "text": text} for text in texts]
    blocks = [({"type": "text", "text": ""}, deltas)] if texts else []
    for call_id, name, pieces in calls:
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        blocks.append((block, [{"type": "input_json_delta", "partial_json": p} for p in pieces]))
    for index, (block, block_deltas) in enumerate(blocks):
        begin = {"type": "content_block_start", "index": index, "content_block": block}
        sent.append(named(begin))
        piece = {"type": "content_block_delta", "index": index}
        sent += [named({**piece, "delta": delta}) for delta in block_deltas]
        sent.append(named({"type": "content_block_stop", "index": index}))
    if stop:
        delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
        counted = {"output_tokens": usage[1]} if usage else {}
        sent.append(named({"type": "message_delta", "delta": delta, "usage": counted}))
        sent.append(named({"type": "message_stop"}))
    return Answer(sent, **answer)


def sse(data):
    """One event without a name."""
    return f"data: {json.dumps(data)}\n\n"


def named(data):
    """One event that is named by its type."""
    return f"event: {data['type']}\n{sse(data)}"
