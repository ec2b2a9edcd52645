"""What goes wrong between us and a server: when it is asked again, and what a person is told."""

import time

import pytest

import model_server
from bylaw.hosts.chat.blocks import Request, RequestMessage
from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.vocabulary import Role
from model_server import Answer, status

HELLO = Request(messages=(RequestMessage(role=Role.USER, text="hello"),))
BUSY = {"error": {"type": "rate_limit_error", "message": "slow down"}}
BROKEN = {"error": {"type": "api_error", "message": "oh no"}}


def fails(model):
    """The one line that a person is told, and what was shown before."""
    pieces = []
    with pytest.raises(ModelError) as told:
        model.reply(HELLO, pieces.append)
    line = str(told.value)
    assert "\n" not in line
    assert told.value.__cause__ is None
    return line, pieces


def succeeds(model):
    pieces = []
    reply = model.reply(HELLO, pieces.append)
    assert "".join(pieces) == reply.text
    return reply.text


class TestAskedAgain:
    def test_after_429_when_the_server_says_so(self, provider, server):
        server.answers = [status(429, BUSY, retry_after="0.2"), provider.stream("at last")]
        begun = time.monotonic()

        assert succeeds(provider.model()) == "at last"
        assert time.monotonic() - begun >= 0.2
        assert len(server.asked) == 2

    def test_milliseconds_come_first(self, provider, server):
        answer = status(429, BUSY, retry_after_ms="150", retry_after="3600")
        server.answers = [answer, provider.stream("at last")]
        begun = time.monotonic()

        assert succeeds(provider.model()) == "at last"
        assert time.monotonic() - begun >= 0.15

    def test_not_when_it_wants_to_be_left_alone_for_long(self, provider, server):
        server.answers = [status(429, BUSY, retry_after="3600")]

        line, _ = fails(provider.model())

        assert line == f"`{provider.name}:m` cannot handle the request now (429): slow down"
        assert len(server.asked) == 1

    @pytest.mark.parametrize("said", ["-1", "0", "nan", "inf", "soon", "1e999", ""])
    def test_a_wait_that_is_none_is_ours(self, provider, server, said):
        server.answers = [status(429, BUSY, retry_after=said), provider.stream("at last")]

        assert succeeds(provider.model()) == "at last"

    @pytest.mark.parametrize("code", [408, 409, 500, 502, 503, 529])
    def test_after_a_failure_of_the_server(self, provider, server, code):
        server.answers = [status(code, BROKEN), provider.stream("at last")]

        assert succeeds(provider.model()) == "at last"
        assert len(server.asked) == 2

    def test_so_many_times_and_no_more(self, provider, server):
        server.answers = [status(500, BROKEN)]

        line, _ = fails(provider.model())

        assert line == f"the server of `{provider.name}:m` failed (500): oh no (after 4 attempts)"
        assert len(server.asked) == 4

    def test_waits_become_longer(self, provider, server):
        server.answers = [status(500, BROKEN)]
        begun = time.monotonic()

        fails(provider.model(first_wait_s=0.05, retries=2))

        assert time.monotonic() - begun >= 0.05 + 0.1

    def test_not_when_the_server_says_that_it_is_no_use(self, provider, server):
        server.answers = [status(429, BUSY, x_should_retry="false")]

        fails(provider.model())

        assert len(server.asked) == 1

    def test_the_same_is_sent_each_time(self, provider, server):
        server.answers = [status(500, BROKEN), provider.stream("x")]

        succeeds(provider.model())

        assert server.asked[0].body == server.asked[1].body

    def test_a_stream_that_breaks_before_its_first_word(self, provider, server):
        begun = provider.stream(stop="", broken=True)
        calls = provider.stream(calls=[("c", "read", ['{"p'])], stop="", broken=True)
        server.answers = [begun, calls, provider.stream("at last")]

        assert succeeds(provider.model()) == "at last"
        assert len(server.asked) == 3

    def test_a_stream_without_an_end(self, provider, server):
        server.answers = [provider.stream(stop=""), provider.stream("at last")]

        assert succeeds(provider.model()) == "at last"

    def test_an_error_inside_of_a_stream(self, provider, server):
        error = provider.error_event("overloaded_error", "too much")
        server.answers = [Answer([error]), provider.stream("at last")]

        assert succeeds(provider.model()) == "at last"

    def test_a_line_that_is_closed_without_a_word(self, provider, server):
        server.answers = [Answer(broken=True), provider.stream("at last")]

        assert succeeds(provider.model()) == "at last"


class TestNothingIsShownTwice:
    @pytest.mark.parametrize("broken", [True, False])
    def test_a_stream_that_breaks_in_the_middle(self, provider, server, broken):
        server.answers = [provider.stream("shown ", "too", stop="", broken=broken)]

        line, pieces = fails(provider.model())

        assert pieces == ["shown ", "too"]
        assert line.startswith("the turn was interrupted: ")
        assert len(server.asked) == 1

    def test_an_error_in_the_middle(self, provider, server):
        answer = provider.stream("shown", stop="")
        answer.pieces.append(provider.error_event("overloaded_error", "too much"))
        server.answers = [answer]

        line, pieces = fails(provider.model())

        assert pieces == ["shown"]
        name = f"`{provider.name}:m`"
        assert line == f"the turn was interrupted: {name} aborted the turn: too much"
        assert len(server.asked) == 1

    def test_what_the_listener_raises_is_its_own_affair(self, provider, server):
        server.answers = [provider.stream("x")]

        def refuse(_piece):
            raise ValueError("the disk is full")

        with pytest.raises(ValueError, match="the disk is full"):
            provider.model().reply(HELLO, refuse)

        assert len(server.asked) == 1


class TestSilence:
    def test_a_server_that_never_answers(self, provider, server):
        server.answers = [Answer(hangs=True)]

        line, _ = fails(provider.model(timeout_s=0.2))

        assert line == f"`{provider.name}:m` sent nothing for 0.2 seconds"
        assert len(server.asked) == 1

    def test_a_server_that_stops_in_the_middle(self, provider, server):
        server.answers = [provider.stream("shown", stop="", hangs=True)]

        for seconds in (0.2, 2, 20):  # the first is enough if the machine is idle
            server.asked.clear()
            line, pieces = fails(provider.model(timeout_s=seconds, retries=0))
            if pieces:
                break

        assert pieces == ["shown"]
        assert line.endswith(f"sent nothing for {seconds} seconds")
        assert len(server.asked) == 1

    def test_nobody_is_there(self, provider, server):
        server.url = "http://127.0.0.1:9/v1"

        line, _ = fails(provider.model(retries=1))

        assert line.startswith(f"`{provider.name}:m` cannot be reached at http://127.0.0.1:9")
        assert line.endswith("(after 2 attempts)")


class TestTold:
    def test_a_wrong_key(self, provider, server, keys):
        body = {"error": {"message": f"Incorrect API key provided: {keys}"}}
        server.answers = [status(401, body)]

        line, _ = fails(provider.model())

        variable = f"{provider.name.upper()}_API_KEY"
        name = f"`{provider.name}:m`"
        told = "Incorrect API key provided: …"
        assert line == f"{name} refused the key in `{variable}` (401): {told}"
        assert len(server.asked) == 1

    def test_a_word_in_place_of_a_key_is_no_secret(self, provider, server, monkeypatch):
        monkeypatch.setenv(f"{provider.name.upper()}_API_KEY", "none")
        server.answers = [status(400, {"error": {"message": "none of it"}})]

        assert fails(provider.model())[0].endswith(": none of it")

    def test_a_model_that_does_not_exist(self, provider, server):
        server.answers = [status(404, {"error": {"message": "no such model:\n m"}})]

        line, _ = fails(provider.model())

        assert line.startswith(f"`{provider.name}:m` was not found at http://127.0.0.1:")
        assert line.endswith("(404): no such model: m")

    def test_a_request_that_is_refused(self, provider, server):
        server.answers = [status(400, {"error": {"message": "`temperature` is too hot"}})]

        line, _ = fails(provider.model())

        assert line == f"`{provider.name}:m` refused the request (400): `temperature` is too hot"
        assert len(server.asked) == 1

    @pytest.mark.parametrize(
        "body", ["", "<html>no</html>", "[1]", '{"error": 5}', '{"error": {"message": {}}}', '"x"']
    )
    def test_an_error_without_words(self, provider, server, body):
        server.answers = [status(400, body)]

        assert fails(provider.model())[0] == f"`{provider.name}:m` refused the request (400)"

    def test_what_a_server_says_is_shown_in_one_safe_line(self, provider, server):
        server.answers = [status(400, {"error": {"message": "a\x1b[31m\nb " + "long " * 500}})]

        line, _ = fails(provider.model())

        assert "a\\u{1b}[31m b long" in line
        assert len(line) < 400

    def test_a_redirection_is_not_followed(self, provider, server, keys):
        with model_server.model_server() as elsewhere:
            elsewhere.answers = [provider.stream("the chat, please")]
            location = f"{elsewhere.url}/chat/completions"
            server.answers = [status(307, "", location=location)]

            line, _ = fails(provider.model())

            assert line.endswith("redirects elsewhere, and Bylaw follows no redirects (307)")
            assert elsewhere.asked == []

    def test_an_error_inside_of_a_stream_that_would_come_again(self, provider, server):
        error = provider.error_event("invalid_request_error", "the picture is no picture")
        server.answers = [Answer([error])]

        line, _ = fails(provider.model())

        told = "aborted the turn: the picture is no picture"
        assert line == f"`{provider.name}:m` {told}"
        assert len(server.asked) == 1


class TestMalformed:
    @pytest.mark.parametrize("text", ["{", "{'a': 1}", "nonsense", "[" * 100_000, "\ud800"])
    def test_json(self, provider, server, text):
        bad = f"event: message_start\ndata: {text}\n\n".encode("utf-8", "surrogatepass")
        server.answers = [Answer([bad])]

        line, _ = fails(provider.model())

        assert line == f"the answer of `{provider.name}:m` cannot be read: it is not JSON"
        assert len(server.asked) == 1

    @pytest.mark.parametrize("value", [5, "x", [1, 2], None, True, {}])
    def test_values_that_are_no_events(self, provider, server, value):
        event = {"event": "message_start", "data": model_server.sse(value)}
        server.answers = [Answer([f"event: {event['event']}\n{event['data']}"])]

        line, _ = fails(provider.model(retries=0))

        assert line == f"the answer of `{provider.name}:m` ended too early"

    @pytest.mark.parametrize(
        ("chunk", "wrong"),
        [
            ({"choices": 5}, "`choices` is not a list"),
            ({"choices": [{"delta": {"content": ["x"]}}]}, "`content` is not a string"),
            ({"choices": [{"delta": {"tool_calls": {"a": 1}}}]}, "`tool_calls` is not a list"),
            ({"choices": [{"delta": {}, "finish_reason": 5}]}, "`finish_reason` is not a string"),
            ({"choices": [{"delta": {"tool_calls": [{"id": 5}]}}]}, "`id` is not a string"),
        ],
    )
    def test_chunks_of_another_form(self, openai, server, chunk, wrong):
        server.answers = [Answer([model_server.sse(chunk)])]

        line, _ = fails(openai.model())

        assert line == f"the answer of `openai:m` is malformed: {wrong}"
        assert len(server.asked) == 1

    @pytest.mark.parametrize(
        ("event", "wrong"),
        [
            (
                {"type": "content_block_delta", "index": 0, "delta": {"type": 5}},
                "`type` is not a string",
            ),
            (
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}},
                "`text` is not a string",
            ),
            (
                {"type": "content_block_start", "content_block": {"type": "tool_use", "id": 1}},
                "`id` is not a string",
            ),
            (
                {"type": "message_delta", "delta": {"stop_reason": {}}},
                "`stop_reason` is not a string",
            ),
        ],
    )
    def test_events_of_another_form(self, anthropic, server, event, wrong):
        server.answers = [Answer([model_server.named(event)])]

        line, _ = fails(anthropic.model())

        assert line == f"the answer of `anthropic:m` is malformed: {wrong}"
        assert len(server.asked) == 1

    def test_a_web_page(self, provider, server):
        server.answers = [Answer(["<html>Welcome!</html>"], kind="text/html")]

        line, _ = fails(provider.model())

        assert line.endswith("answers with `text/html`, not with an event stream")
        assert len(server.asked) == 1

    def test_nothing_at_all(self, provider, server):
        server.answers = [Answer([])]

        line, _ = fails(provider.model(retries=1))

        assert line == f"the answer of `{provider.name}:m` is empty (after 2 attempts)"

    def test_bytes_that_are_no_text(self, provider, server):
        server.answers = [Answer([b"event: message_start\ndata: {\xff\xfe}\n\n"])]

        assert "cannot be read" in fails(provider.model())[0]
