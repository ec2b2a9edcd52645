"""Whatever comes in: a gate is closed, anything else is told of, and nothing is ever a traceback."""

import json

import pytest
from called_hooks import Repository

from bylaw.hosts.clients.fail_closed import DENIALS

BAD = {
    "empty": b"",
    "no JSON": b"nope",
    "half": b'{"session_id": "s", "tool_name": "Ba',
    "a list": b"[]",
    "a text": b'"x"',
    "invalid UTF-8": b'{"tool_name": "\xff\xfe"}',
    "a key twice": b'{"tool_name": "Bash", "tool_name": "Read", "tool_input": {}}',
    "deep": b'{"tool_input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "no tool": b"{}",
    "tool is a number": b'{"tool_name": 7, "tool_input": {}}',
    "input is a text": b'{"tool_name": "Bash", "tool_input": "ls"}',
    "session is a list": b'{"tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": []}',
    "cwd is gone": b'{"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/no/such/folder"}',
    "cwd is a number": b'{"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": 1}',
    "NUL in cwd": b'{"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/tmp/\\u0000x"}',
}


@pytest.fixture
def repository(tmp_path):
    """No rule forbids anything."""
    return Repository(tmp_path / "root", tmp_path / "home")


@pytest.mark.parametrize("name", BAD)
def test_a_gate_stays_closed(repository, name):
    called = repository.raw("claude", "PreToolUse", data=BAD[name])

    assert called.code == 2
    assert called.own["permissionDecision"] == "deny"
    assert "bylaw failed" in called.own["permissionDecisionReason"]
    assert called.own["permissionDecisionReason"].strip() == called.stderr.strip()
    assert "Traceback" not in called.stderr
    assert "bylaw doctor --release" in called.stderr


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("beforeShellExecution", {"command": []}),
        ("beforeShellExecution", {"command": "ls", "cwd": 1}),
        ("beforeShellExecution", {}),
        ("beforeReadFile", {"file_path": 7}),
        ("beforeReadFile", {}),
    ],
)
def test_a_gate_of_one_tool_that_does_not_say_what_it_is_about(repository, event, fields):
    called = repository.raw("cursor", event, data=json.dumps(fields).encode())

    assert called.answer["permission"] == "deny"
    assert "bylaw failed" in called.answer["user_message"]


@pytest.mark.parametrize("name", ["empty", "no JSON", "a list", "invalid UTF-8", "cwd is gone"])
def test_what_is_no_gate_is_told_of(repository, name):
    called = repository.raw("claude", "PostToolUse", data=BAD[name])

    assert (called.stdout, called.code) == (b"", 0)
    assert "bylaw failed, so nothing was checked" in called.stderr
    assert "Traceback" not in called.stderr


def test_a_payload_that_names_two_events_may_be_about_a_gate(repository):
    data = b'{"hook_event_name": "PreToolUse", "hook_event_name": "PostToolUse"}'

    called = repository.raw("claude", data=data)

    assert (called.stdout, called.code) == (b"", 2)


@pytest.mark.parametrize("name", ["empty", "no JSON", "a list", "no tool"])
def test_without_an_event_it_may_be_a_gate(repository, name):
    called = repository.raw("claude", data=BAD[name])

    assert (called.stdout, called.code) == (b"", 2)
    assert "bylaw failed" in called.stderr


@pytest.mark.parametrize("event", ["PostToolUse", "SessionStart", "SessionEnd"])
def test_a_payload_that_names_no_gate_is_told_of(repository, event):
    called = repository.raw("claude", data=repository.payload(event, cwd="/no/such/folder"))

    assert (called.stdout, called.code) == (b"", 0)
    assert "bylaw failed, so nothing was checked" in called.stderr


@pytest.mark.parametrize(
    ("host", "event"),
    [(host, event) for host in ("claude", "cursor") for event in DENIALS[host]],
)
def test_a_gate_that_the_payload_names_is_closed_in_its_own_words(repository, host, event):
    """A client that goes by words alone would take no other answer for a refusal."""
    data = repository.payload(event, cwd="/no/such/folder")

    by_payload, by_argument = (
        repository.raw(host, data=data),
        repository.raw(host, event, data=data),
    )

    assert by_payload == by_argument
    assert "bylaw failed, so nothing is allowed" in str(by_payload.answer)


def test_a_host_that_nobody_knows(repository):
    called = repository.raw("cloude", "PreToolUse", data=b"{}")

    assert (called.stdout, called.code) == (b"", 2)
    assert "unknown client `cloude`; did you mean `claude`?" in called.stderr
    assert "known: claude, codex, qwen," in called.stderr
    assert "release" not in called.stderr  # nobody should open gates for a slip


def test_an_event_that_nobody_knows(repository):
    called = repository.call("Nonsense")

    assert (called.stdout, called.code) == (b"", 0)
    assert "unknown event `Nonsense`, nothing is checked" in called.stderr


def test_an_event_that_is_passed_over_is_no_news(repository):
    """What one agent asks another is no prompt of a person."""
    called = repository.call("UserPromptSubmit", prompt="go", agent_id="a1")

    assert (called.stdout, called.stderr, called.code) == (b"", "", 0)


def test_ten_megabytes_are_judged_like_everything_else(repository):
    repository.rules('<policy><tool name="file.write"><quota per_session="0"/></tool></policy>')
    text = "x" * 10_000_000
    given = {"file_path": str(repository.root / "a.txt"), "content": text}

    called = repository.call("PreToolUse", tool_name="Write", tool_input=given, tool_use_id="c")

    assert called.own["permissionDecision"] == "deny"
    assert "quota" in called.own["permissionDecisionReason"]
    assert len(called.stdout) < 10_000


def test_more_than_the_limit_is_refused_without_being_read(repository):
    called = repository.raw("claude", "PreToolUse", data=b" " * ((32 << 20) + 70_000))

    assert called.code == 2
    assert "larger than 32 MiB" in called.own["permissionDecisionReason"]


def test_unknown_fields_are_ignored(repository):
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}

    called = repository.call("PreToolUse", **given, brand_new={"a": [1]}, another="x")

    assert (called.stdout, called.stderr, called.code) == (b"", "", 0)


@pytest.mark.parametrize("arguments", [(), ("claude", "A", "B"), ("--help",), ("claude", "--x")])
def test_wrong_arguments_refuse(repository, arguments):
    """A client reads exit code 2 as a refusal: a misspelt command line opens nothing."""
    called = repository.raw(*arguments, data=json.dumps({}).encode())

    assert called.code == (0 if arguments == ("--help",) else 2)
    assert "Traceback" not in called.stderr


LOG = """
rule = { id = "noted", trigger = "on_tool_call" }
condition = { expression = "True" }
action = { type = "log", message = "a call" }
"""


@pytest.mark.parametrize("host", ["claude", "gemini", "cursor", "opencode"])
def test_what_rules_log_stands_behind_the_reason_of_a_refusal(repository, host):
    repository.rules('<policy><tool name="shell"><quota per_session="0"/></tool></policy>')
    repository.write("rules/noted.toml", LOG)
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
    event = {"claude": "PreToolUse", "gemini": "BeforeTool", "cursor": "preToolUse"}.get(host)
    if host == "opencode":
        event, call = "tool.execute.before", {"tool": "bash", "args": {"command": "ls"}}
    elif host != "claude":
        call["tool_name"] = {"gemini": "run_shell_command", "cursor": "Shell"}[host]
    data = json.dumps({"session_id": "s", "cwd": str(repository.root), **call}).encode()

    called = repository.raw(host, event, data=data)

    reason, _, log = called.stderr.partition("bylaw: info: noted: a call")
    assert "quota" in reason
    assert log == "\n"
