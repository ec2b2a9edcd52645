"""What both packages make of a stream: text as it comes, calls, usage, why it ended."""

import json

import pytest

from bylaw.hosts.chat.blocks import ModelCall, Request, RequestMessage, ToolSpec, Usage
from bylaw.hosts.chat.models import connection, turn
from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.vocabulary import Role

HELLO = Request(messages=(RequestMessage(role=Role.USER, text="hello"),))
LENGTHS = {"openai": "length", "anthropic": "max_tokens"}


def ask(model, request=HELLO):
    pieces = []
    return model.reply(request, pieces.append), pieces


class TestText:
    def test_pieces_come_as_they_are_sent(self, provider, server):
        server.answers = [provider.stream("Hel", "lo ", "wörld")]

        reply, pieces = ask(provider.model())

        assert pieces == ["Hel", "lo ", "wörld"]
        assert reply.text == "Hello wörld"
        assert reply.calls == ()
        assert reply.cut == ""
        assert reply.usage == Usage(11, 7)

    def test_a_piece_is_released_before_the_next_one_is_there(self, provider, server):
        server.answers = [provider.stream("first", "second", stop="", hangs=True)]
        pieces = []

        class EnoughError(Exception):
            pass

        def stop_after_two(piece):
            pieces.append(piece)
            if len(pieces) == 2:
                raise EnoughError

        with pytest.raises(EnoughError):
            provider.model().reply(HELLO, stop_after_two)

        assert pieces == ["first", "second"]
        assert len(server.asked) == 1

    def test_halves_of_a_character_are_joined_and_lone_ones_replaced(self, provider, server):
        server.answers = [provider.stream("a\ud83d", "\ude00b", "c\ud83dd", "e\ud83d")]

        reply, pieces = ask(provider.model())

        assert reply.text == "a😀bc\N{REPLACEMENT CHARACTER}de\N{REPLACEMENT CHARACTER}"
        assert "".join(pieces) == reply.text

    def test_without_usage_none_is_known(self, provider, server):
        server.answers = [provider.stream("x", usage=None)]

        assert ask(provider.model())[0].usage == Usage()

    @pytest.mark.parametrize("count", [-1, "nine", 2**60, 1.5, [], {}])
    def test_a_count_that_is_none_is_not_used(self, provider, server, count):
        server.answers = [provider.stream("x", usage=(count, 3))]

        assert ask(provider.model())[0].usage == Usage(None, 3)


class TestCalls:
    def test_parallel_calls_are_put_together_from_pieces(self, provider, server):
        calls = [("c-1", "read", ['{"pa', 'th": "a"}']), ("c-2", "write", ['{"path"', ': "b"}'])]
        server.answers = [provider.stream("now", calls=calls)]

        reply, pieces = ask(provider.model())

        assert reply.calls == (
            ModelCall("c-1", "read", '{"path": "a"}'),
            ModelCall("c-2", "write", '{"path": "b"}'),
        )
        assert pieces == ["now"]

    def test_malformed_arguments_stay_as_they_are(self, provider, server):
        server.answers = [provider.stream(calls=[("c", "read", ['{"path": '])])]

        assert ask(provider.model())[0].calls == (ModelCall("c", "read", '{"path": '),)

    def test_no_arguments_are_an_empty_object(self, provider, server):
        server.answers = [provider.stream(calls=[("c", "now", [])])]

        assert ask(provider.model())[0].calls == (ModelCall("c", "now", "{}"),)

    def test_names_and_ids_are_made_plain(self, provider, server):
        calls = [("é<>\n" + "x" * 200, 'read"><system>', ["{}"]), ("a.b:c/d-1", "", ["{}"])]
        server.answers = [provider.stream(calls=calls)]

        first, second = ask(provider.model())[0].calls

        assert first.id == "é___" + "x" * 124
        assert first.tool == "read___system_"
        assert second == ModelCall("a.b:c/d-1", "unnamed", "{}")

    def test_missing_and_repeated_ids_are_made_unique(self, provider, server):
        calls = [("", "a", ["{}"]), ("same", "b", ["{}"]), ("same", "c", ["{}"]), ("old", "d", [])]
        server.answers = [provider.stream(calls=calls)]
        before = RequestMessage(role=Role.ASSISTANT, text="", calls=(ModelCall("old", "t", "{}"),))
        after = RequestMessage(role=Role.TOOL, text="done", answers="old")
        request = Request(messages=(*HELLO.messages, before, after))

        for _ in range(2):
            reply, _pieces = ask(provider.model(), request)

            assert [call.id for call in reply.calls] == ["call-2-1", "same", "same-2", "old-2"]

    def test_a_tool_that_was_sent_under_another_name_gets_its_own_back(self, provider, server):
        tool = ToolSpec("file.read", "Reads.", {"type": "object", "properties": {}})
        server.answers = [provider.stream("x")]
        model = provider.model()
        model.reply(Request(messages=HELLO.messages, tools=(tool,)), lambda _: None)
        body = server.asked[0].body["tools"][0]
        sent = body["function"]["name"] if provider.name == "openai" else body["name"]
        server.answers = [provider.stream(calls=[("c", sent, ["{}"])])]

        reply = model.reply(Request(messages=HELLO.messages, tools=(tool,)), lambda _: None)

        assert sent.startswith("file_read_")
        assert reply.calls[0].tool == "file.read"


class TestEnds:
    def test_a_length_limit_cuts(self, provider, server):
        server.answers = [provider.stream("half a sen", stop=LENGTHS[provider.name])]

        reply, _ = ask(provider.model())

        assert reply.text == "half a sen"
        assert reply.cut == turn.LENGTH

    def test_a_reason_that_is_not_known_is_told(self, provider, server):
        server.answers = [provider.stream("x", stop="tired")]

        assert ask(provider.model())[0].cut == "unknown stop reason `tired`"

    def test_a_filter_cuts(self, openai, server):
        server.answers = [openai.stream("x", stop="content_filter")]

        assert ask(openai.model())[0].cut == turn.FILTERED

    def test_a_refusal_is_text_and_told(self, openai, server):
        answer = openai.stream()
        head = json.loads(answer.pieces[0].removeprefix("data: "))
        head["choices"][0]["delta"] = {"refusal": "I would rather not."}
        answer.pieces[0] = f"data: {json.dumps(head)}\n\n"
        server.answers = [answer]

        reply, pieces = ask(openai.model())

        assert pieces == ["I would rather not."]
        assert reply.cut == turn.REFUSED

    def test_a_refusal_is_told_with_its_explanation(self, anthropic, server):
        details = {"type": "refusal", "category": "bio", "explanation": "too\ndangerous"}
        server.answers = [anthropic.stream("x", stop="refusal", details=details)]

        assert ask(anthropic.model())[0].cut == f"{turn.REFUSED}: too dangerous"

    def test_a_full_window_cuts(self, anthropic, server):
        server.answers = [anthropic.stream("x", stop="model_context_window_exceeded")]

        assert ask(anthropic.model())[0].cut == turn.CONTEXT_FULL


class TestOtherServers:
    def test_calls_with_one_index_are_told_apart_by_their_ids(self, openai, server):
        answer = openai.stream(calls=[("a", "read", ["{}"]), ("b", "write", ["{}"])])
        answer.pieces = [piece.replace('"index": 1', '"index": 0') for piece in answer.pieces]
        # Each call whole, as such servers send it.
        whole = [
            piece.replace('"arguments": ""', '"arguments": "{}"')
            for piece in answer.pieces
            if "tool_calls" not in piece or '"id": "' in piece.partition("tool_calls")[2]
        ]
        server.answers = [openai.stream()]
        server.answers[0].pieces = whole

        reply, _ = ask(openai.model())

        assert reply.calls == (ModelCall("a", "read", "{}"), ModelCall("b", "write", "{}"))

    def test_a_name_that_is_repeated_with_every_piece_is_one_name(self, openai, server):
        answer = openai.stream(calls=[("a", "read", ["{", "}"])])
        answer.pieces = [
            piece.replace('"function": {"arguments"', '"function": {"name": "read", "arguments"')
            for piece in answer.pieces
        ]
        server.answers = [answer]

        assert ask(openai.model())[0].calls == (ModelCall("a", "read", "{}"),)

    def test_arguments_may_come_whole_at_the_start_of_a_block(self, anthropic, server):
        answer = anthropic.stream(calls=[("a", "read", [])])
        answer.pieces = [p.replace('"input": {}', '"input": {"p": "ä"}') for p in answer.pieces]
        server.answers = [answer]

        assert ask(anthropic.model())[0].calls == (ModelCall("a", "read", '{"p": "ä"}'),)

    def test_pieces_count_when_a_server_sends_arguments_twice(self, anthropic, server):
        answer = anthropic.stream(calls=[("a", "read", ['{"p"', ": 2}"])])
        answer.pieces = [p.replace('"input": {}', '"input": {"p": 1}') for p in answer.pieces]
        server.answers = [answer]

        assert ask(anthropic.model())[0].calls == (ModelCall("a", "read", '{"p": 2}'),)

    def test_cached_tokens_were_sent_too(self, anthropic, server):
        answer = anthropic.stream("x")
        cached = '"input_tokens": 11, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1000'
        answer.pieces = [p.replace('"input_tokens": 11', cached) for p in answer.pieces]
        server.answers = [answer]

        assert ask(anthropic.model())[0].usage == Usage(1111, 7)

    def test_a_stream_may_be_called_something_else(self, provider, server):
        server.answers = [provider.stream("x", kind="application/octet-stream")]

        assert ask(provider.model())[0].text == "x"


class TestLimits:
    def test_a_turn_has_a_length(self, provider, server, monkeypatch):
        monkeypatch.setattr(turn, "MAX_TURN_CHARS", 10)
        server.answers = [provider.stream("12345", "67890", "x")]
        pieces = []

        with pytest.raises(ModelError, match="longer than 10 characters"):
            provider.model().reply(HELLO, pieces.append)

        assert pieces == ["12345", "67890"]

    def test_arguments_count(self, provider, server, monkeypatch):
        monkeypatch.setattr(turn, "MAX_TURN_CHARS", 10)
        server.answers = [provider.stream(calls=[("id", "tool", ["12345"])])]

        with pytest.raises(ModelError, match="longer than 10 characters"):
            ask(provider.model())

    def test_calls_are_counted(self, provider, server):
        calls = [(f"c{n}", "t", ["{}"]) for n in range(turn.MAX_CALLS + 1)]
        server.answers = [provider.stream(calls=calls[:-1]), provider.stream(calls=calls)]

        assert len(ask(provider.model())[0].calls) == turn.MAX_CALLS
        with pytest.raises(ModelError, match="more than 128 tool calls"):
            ask(provider.model())

    def test_what_is_around_the_words_is_bounded_too(self, provider, server, monkeypatch):
        monkeypatch.setattr(connection, "MAX_STREAM_BYTES", 5_000)
        server.answers = [provider.stream("x")]
        server.answers[0].pieces[1:1] = [f": {'y' * 1_000}\n"] * 6

        with pytest.raises(ModelError, match="more than 5,000 bytes"):
            ask(provider.model())

        assert len(server.asked) == 1

    def test_the_body_of_an_error_is_bounded(self, provider, server, monkeypatch):
        monkeypatch.setattr(connection, "MAX_STREAM_BYTES", 5_000)
        server.answers = [provider.stream("x")]
        server.answers[0].status = 400
        server.answers[0].pieces = ["y" * 6_000]

        with pytest.raises(ModelError, match="more than 5,000 bytes"):
            ask(provider.model())

    def test_signs_of_life_do_not_keep_a_turn_going_for_ever(self, provider, server):
        server.answers = [provider.stream("x")]
        server.answers[0].pieces[1:1] = [": still here\n"]

        with pytest.raises(ModelError, match="took longer than 0 seconds"):
            ask(provider.model(turn_s=0))
