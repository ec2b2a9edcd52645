"""Half of a character, as programs in JavaScript send it, opens no gate and hides nothing.

What has happened, or was said, is judged with U+FFFD in its place, which is what the client itself
writes there. A call that is to be made is refused: what runs must be what was judged.
"""

import json

import pytest
from called_hooks import NO_SHELL, Repository
from recorded import recorded

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import PayloadError
from bylaw.hosts.clients.transcripts import last_text
from bylaw.hosts.hooks.payload import read_event
from bylaw.model.vocabulary import HookPoint

MARK = "@half@"
RECORDED = {f"{one.name}@{one.event}": one for one in recorded()}
each = pytest.mark.parametrize("one", RECORDED.values(), ids=RECORDED.keys())


def written(payload, half="\\ud83d"):
    return json.dumps(payload).replace(MARK, half).encode()


def marked(value):
    """A value with the mark in each of its texts in turn, and as a further key of each object."""
    if isinstance(value, str):
        yield f"{value}{MARK}"
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in marked(inner))
    elif isinstance(value, dict):
        yield {**value, f"new{MARK}": "x"}
        for key, inner in value.items():
            yield from ({**value, key: other} for other in marked(inner))


def outcome(one, data):
    try:
        return read_event(one.adapter, one.event, data)
    except PayloadError as refused:
        return str(refused)


@each
@pytest.mark.parametrize("half", ["\\ud83d", "\\udc4d", "\\uDC4D\\uD83D"])
def test_anywhere_in_any_payload(one, half):
    payload = {key: value for key, value in one.payload.items() if key != "cwd"}
    payload.pop("workspace_roots", None)

    for spoilt in marked(payload):
        read = outcome(one, written(spoilt, half))
        mended = outcome(one, written(spoilt, "\\ufffd" * (len(half) // 6)))

        before = one.adapter.read(one.event, payload)
        concerns_call = before.moment is HookPoint.BEFORE_TOOL and _call(mended) != before.call
        if concerns_call and not isinstance(mended, str):
            assert "contains half of a character" in read
        else:
            assert read == mended


def _call(found):
    return None if isinstance(found, str) else found.call


@pytest.mark.parametrize(
    ("host", "before", "after", "names"),
    [
        ("copilot", "preToolUse", "postToolUse", ("toolName", "toolArgs")),
        ("cursor", "beforeMCPExecution", "afterMCPExecution", ("tool_name", "tool_input")),
    ],
)
def test_in_json_that_stands_in_a_text(host, before, after, names):
    tool, arguments = names
    payload = {tool: "bash", arguments: f'{{"command": "ls {MARK}"}}'}
    data = written(payload, "\\\\ud83d")
    adapter = load_adapter(host)

    with pytest.raises(PayloadError, match="half of a character"):
        read_event(adapter, before, data)
    assert read_event(adapter, after, data).call.args["command"] == "ls \ufffd"


def test_a_pair_of_halves_is_one_character_and_a_backslash_makes_none():
    adapter = load_adapter("claude")
    payload = {"tool_name": "Bash", "tool_input": {"command": MARK}}

    for half, read in (("\\ud83d\\udc4d", "\U0001f44d"), ("\\\\ud83d", "\\ud83d")):
        heard = read_event(adapter, "PreToolUse", written(payload, half))
        assert heard.call.args["command"] == read


def test_what_stands_in_a_transcript(tmp_path):
    line = {"type": "assistant", "message": {"role": "assistant", "content": f"Done {MARK}"}}
    file = tmp_path / "transcript.jsonl"
    file.write_bytes(written(line) + b"\n")

    assert last_text(str(file), 0) == "Done \ufffd"


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "root", tmp_path / "home")


def test_a_tool_that_gave_one_is_counted(repository):
    """What happened is judged: the second call of a shell is past its quota."""
    repository.rules(NO_SHELL.replace('per_session="0"', 'per_session="1"'))
    shell = {"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "ls"}}

    before = repository.call("PreToolUse", **shell)
    payload = json.loads(repository.payload("PostToolUse", **shell, tool_response=MARK))
    after = repository.raw("claude", "PostToolUse", data=written(payload))

    assert (before.code, after.code, after.stderr) == (0, 0, "")
    assert repository.shell("ls", call="c2").code == 2


def test_all_else_is_judged_without_a_failure(repository):
    for event, fields in (
        ("UserPromptSubmit", {"prompt": MARK}),
        ("Stop", {"stop_hook_active": False, "last_assistant_message": MARK}),
        ("SubagentStop", {"agent_id": MARK, "last_assistant_message": MARK}),
        ("SessionStart", {"source": MARK}),
        ("SessionEnd", {"reason": MARK, MARK: MARK}),
    ):
        payload = json.loads(repository.payload(event, session=f"s{MARK}", **fields))
        called = repository.raw("claude", event, data=written(payload))
        assert (called.stdout, called.stderr, called.code) == (b"", "", 0), event


def test_an_event_with_one_in_its_name_is_another_one(repository):
    payload = {"hook_event_name": f"PreToolUse{MARK}", "tool_name": "Bash"}

    called = repository.raw("claude", data=written(payload))

    assert (called.stdout, called.code) == (b"", 0)
    assert called.stderr.startswith("bylaw: unknown event `PreToolUse\\u{d83d}`")
