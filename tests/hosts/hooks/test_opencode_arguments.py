"""What OpenCode hands to any plugin, as it was recorded, is heard as what our plugin sends."""

import json
from pathlib import Path

import pytest
from called_hooks import COMMAND, Repository

FOLDER = Path(__file__).parents[2] / "data/hooks/opencode-arguments"
DENY = """<rules><on id="no" event="pre_tool_call" tool="shell"
  if=\'arg("description") == "say hi"\'><deny reason="not here"/></on></rules>"""


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "root", tmp_path / "home")
    made.rules(DENY)
    return made


def recorded(event):
    return json.loads((FOLDER / f"{event}.json").read_text())


def hook(repository, event, payload=None):
    text = json.dumps(payload or recorded(event)).replace("/repo", str(repository.root))
    return repository.raw("opencode", event, data=text.encode())


def test_a_call_is_denied(repository):
    called = hook(repository, "tool.execute.before")

    assert called.code == 2
    assert called.answer["decision"] == "block"
    assert "not here" in called.answer["reason"]
    assert "not here" in called.stderr


def test_what_counts_is_what_other_plugins_made_of_it(repository):
    payload = recorded("tool.execute.before")
    payload["input"]["args"] = {"command": "ls"}
    assert hook(repository, "tool.execute.before", payload).code == 2


def test_all_else_is_heard(repository):
    for event in (
        "event.session.created",
        "chat.message",
        "tool.execute.after",
        "event.session.idle",
    ):
        called = hook(repository, event)
        assert (called.code, called.answer, called.stderr) == (0, {}, "")

    log = repository.raw("log", "--format", "json", command=COMMAND[:-1])
    events = [json.loads(line) for line in log.stdout.splitlines()]
    kinds = [one["kind"] for one in events]
    assert [one for one in kinds if one in HEARD] == HEARD
    assert {one["session"] for one in events} == {"opencode:ses_e20a6cf79ffeyqQ5neQzEFz4X9"}


HEARD = ["session.start", "prompt", "turn.start", "tool.after", "turn.end", "agent.stop"]


@pytest.mark.parametrize("wrong", [{"parts": 5}, {"parts": [5]}])
def test_wrong_types_close_the_gate(repository, wrong):
    payload = {"input": {"sessionID": "s"}, "output": wrong}
    assert hook(repository, "chat.message", payload).code == 2


def test_a_subagent_belongs_to_the_session_that_started_it(repository):
    payload = recorded("event.session.created")
    payload["input"]["properties"]["info"]["parentID"] = "main"
    assert hook(repository, "event.session.created", payload).code == 0

    log = repository.raw("log", "--format", "json", command=COMMAND[:-1])
    assert b"opencode:ses_" not in log.stdout
