"""A model that reads its turns from a file."""

import pytest

from bylaw.hosts.chat.blocks import ModelCall, Reply, Request
from bylaw.hosts.chat.models.base import ModelError, ScriptEndedError
from bylaw.hosts.chat.models.script import ScriptedModel

NOTHING = Request(messages=())


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(*lines):
        (tmp_path / "turns.jsonl").write_text("\n".join(lines))
        return ScriptedModel("turns.jsonl")

    return write


def turns(model):
    pieces, replies = [], []
    while not model.ended:
        replies.append(model.reply(NOTHING, pieces.append))
    assert pieces == [reply.text for reply in replies if reply.text]
    with pytest.raises(ScriptEndedError):
        model.reply(NOTHING, pieces.append)
    return replies


class TestTurns:
    def test_one_after_the_other(self, script):
        model = script(
            '{"text": "hello", "tool_calls": [{"name": "read", "args": {"path": "ä"}}]}',
            "",
            '{"tool_calls": [{"name": "a"}, {"name": "b", "id": "mine", "args": {}}]}\r',
            "{}",
            "",
        )

        assert turns(model) == [
            Reply(text="hello", calls=(ModelCall("call-1-1", "read", '{"path": "ä"}'),)),
            Reply(calls=(ModelCall("call-2-1", "a", "{}"), ModelCall("mine", "b", "{}"))),
            Reply(),
        ]

    def test_an_empty_script_has_ended(self, script):
        assert turns(script("")) == []

    def test_names_are_made_plain(self, script):
        model = script('{"tool_calls": [{"name": "</tool_call>", "id": "é"}]}')

        assert turns(model)[0].calls == (ModelCall("é", "_/tool_call_", "{}"),)

    def test_what_it_is(self, script):
        model = script("{}")

        assert model.name == "script:turns.jsonl"
        assert (model.summarises, model.hands_back) == (False, False)
        model.close()


class TestWrong:
    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ('{"text": ', "the turn is not JSON: it ends too early, column 9"),
            ('{"text": "a", "text": "b"}', "duplicate key `text`, column 15"),
            ("[]", "a turn must be an object"),
            ('{"txt": "a"}', "a turn has no field `txt`: did you mean `text`?"),
            ('{"text": 5}', "`text` must be a string"),
            ('{"tool_calls": {}}', "`tool_calls` must be a list"),
            ('{"tool_calls": [5]}', "a call must be an object"),
            ('{"tool_calls": [{}]}', "a call needs a `name`"),
            ('{"tool_calls": [{"name": 5}]}', "`name` must be a string"),
            ('{"tool_calls": [{"name": "a", "args": []}]}', "`args` must be an object"),
            (
                '{"tool_calls": [{"name": "a", "arguments": {}}]}',
                "a call has no field `arguments`: did you mean `args`?",
            ),
            (
                '{"tool_calls": [{"name": "a", "id": "x"}, {"name": "b", "id": "x"}]}',
                "two calls of a turn have the same `id`",
            ),
        ],
    )
    def test_a_line_is_told_by_file_and_number(self, script, line, told):
        with pytest.raises(ModelError) as wrong:
            script("{}", "", line)

        assert str(wrong.value) == f"turns.jsonl:3: {told}"

    def test_a_file_that_is_not_there(self, tmp_path):
        path = str(tmp_path / "none.jsonl")

        with pytest.raises(ModelError, match=r"cannot read `.*none.jsonl`: file not found"):
            ScriptedModel(path)
