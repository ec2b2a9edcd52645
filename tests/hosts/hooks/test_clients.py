"""Adapters: whatever comes in is read or refused, whatever goes out cannot be misread."""

import json

import pytest
from client_cases import (
    EVENTS,
    PAIRS,
    PAYLOADS,
    SPOILT,
    TOLD,
    WORDS,
    as_delivered,
    heard,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import HookEvent, HookReply, PayloadError
from bylaw.hosts.clients.fail_closed import CLAUDE_HOOK_READERS as GUESTS_BY_HEART
from bylaw.hosts.clients.fail_closed import (
    DENIALS,
    EMPTY_ANSWERS,
    EXIT_ZERO_CLIENTS,
    calling_client,
    denial,
)
from bylaw.hosts.hooks.install.forms import CLAUDE_HOOK_READERS
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.effects import ABILITIES

clients = pytest.mark.parametrize("host", ABILITIES)
pairs = pytest.mark.parametrize(("host", "event"), PAIRS)
gates = pytest.mark.parametrize(
    ("host", "event"), [(host, event) for host in DENIALS for event in DENIALS[host]]
)
NASTY = 'say "no"\\\n\ttwice\r\n\x00\x1b[2J\x7f\u2028\ud800 é 😀 </script> %s %d {}'
# What each client calls letting something pass.
LETS_PASS = {"allow", "approve", "proceed", "accept"}


@clients
@given(payload=PAYLOADS | SPOILT, data=st.data())
def test_any_object_is_read_or_refused(host, payload, data):
    event = data.draw(st.sampled_from(sorted(EVENTS[host])))
    try:
        found = load_adapter(host).read(event, payload)
    except PayloadError:
        return

    assert isinstance(found, HookEvent)
    has_call = found.moment in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL)
    assert (found.call is not None) == has_call
    if found.call is not None:
        assert found.call.tool
        assert (found.call.status is None) == (found.moment is HookPoint.BEFORE_TOOL)


@clients
@given(told=TOLD, data=st.data())
def test_an_answer_is_nothing_or_one_line_of_json(host, told, data):
    event = data.draw(st.sampled_from(sorted(EVENTS[host])))

    output = load_adapter(host).answer(heard(host, event), told)

    assert output.exit_code in (0, 2)
    output.stdout.encode()
    if output.stdout:
        assert output.stdout.endswith("\n")
        assert output.stdout.count("\n") == 1
        assert isinstance(json.loads(output.stdout), dict)
    else:
        assert host not in EMPTY_ANSWERS


@clients
@given(told=TOLD, data=st.data())
def test_nothing_is_ever_let_pass_by_us(host, told, data):
    """`allow` skips the question that the client itself would ask a person."""
    event = data.draw(st.sampled_from(sorted(EVENTS[host])))
    found = heard(host, event)

    output = load_adapter(host).answer(found, as_delivered(host, found.moment, told))

    words = json.loads(output.stdout or "{}")
    own = words.get("hookSpecificOutput", {})
    decided = [words.get(key) for key in ("decision", "permission", "permissionDecision")]
    decided += [own.get(key) for key in ("permissionDecision", "decision", "behavior")]
    assert not LETS_PASS.intersection(str(one) for one in decided)
    assert words.get("continue") in (None, False)
    assert "updatedInput" not in own


@pairs
def test_nothing_to_say_is_silence(host, event):
    output = load_adapter(host).answer(heard(host, event), HookReply())

    assert (output.stdout, output.stderr, output.exit_code) == (EMPTY_ANSWERS.get(host, ""), "", 0)


@gates
@settings(max_examples=20)
@given(reason=WORDS | st.just(NASTY))
def test_refusals_by_heart_are_those_of_the_adapter(host, event, reason):
    """The front end has them without importing anything."""
    found = heard(host, event)
    assert found.moment in ABILITIES[host].denies

    output = load_adapter(host).answer(found, HookReply(refused=True, reason=reason))

    assert denial(host, event, reason) == (output.stdout, output.stderr, output.exit_code)


@pairs
def test_every_event_that_can_be_refused_is_known_by_heart(host, event):
    assert (heard(host, event).moment in ABILITIES[host].denies) == (event in DENIALS[host])


@gates
def test_a_refusal_says_why_on_both_outputs(host, event):
    output = load_adapter(host).answer(heard(host, event), HookReply(refused=True, reason="no"))

    assert '"no"' in output.stdout
    assert output.stderr == "no\n"
    assert output.exit_code == (0 if host in EXIT_ZERO_CLIENTS else 2)


# What the schemas of Codex allow; anything else makes it drop the whole answer.
CODEX = {
    "PreToolUse": {"systemMessage", "hookSpecificOutput"},
    "PostToolUse": {"systemMessage", "hookSpecificOutput"},
    "UserPromptSubmit": {"decision", "reason", "systemMessage", "hookSpecificOutput"},
    "SessionStart": {"systemMessage", "hookSpecificOutput"},
    "Stop": {"decision", "reason", "systemMessage"},
    "SubagentStop": {"decision", "reason", "systemMessage"},
    "SessionEnd": set(),
    "Nobody": set(),
}
CODEX_OWN = {
    "PreToolUse": {"permissionDecision", "permissionDecisionReason", "additionalContext"},
    "PostToolUse": {"additionalContext"},
    "UserPromptSubmit": {"additionalContext"},
    "SessionStart": {"additionalContext"},
}


@pytest.mark.parametrize("event", sorted(EVENTS["codex"]))
@settings(max_examples=40)
@given(told=TOLD)
def test_codex_is_told_nothing_that_it_rejects(event, told):
    found = heard("codex", event)

    output = load_adapter("codex").answer(found, as_delivered("codex", found.moment, told))

    words = json.loads(output.stdout or "{}")
    own = words.get("hookSpecificOutput", {"hookEventName": event})
    assert words.keys() <= CODEX[event]
    assert own.keys() <= {"hookEventName"} | CODEX_OWN.get(event, set())
    assert own["hookEventName"] == event
    assert own.get("permissionDecision", "deny") == "deny"
    assert own.get("permissionDecisionReason", "x")
    assert words.get("decision", "block") == "block"
    assert ("decision" in words) == ("reason" in words)


@clients
def test_a_question_is_asked_only_by_clients_that_ask(host):
    found = heard(host, next(iter(DENIALS[host].keys() & {"PreToolUse", "preToolUse"}), "Nobody"))
    told = as_delivered(host, found.moment, HookReply(asked=True, reason="may it?"))

    output = load_adapter(host).answer(found, told)

    asks = '"ask"' in output.stdout
    assert asks == (host in ("claude", "qwen", "copilot"))
    assert output.exit_code == 0


def test_who_runs_hooks_of_claude_code_is_known_by_heart_as_the_table_says():
    assert dict(GUESTS_BY_HEART) == {
        guest.variable: host for host, guest in CLAUDE_HOOK_READERS.items()
    }
    for host, guest in CLAUDE_HOOK_READERS.items():
        assert calling_client("claude", {guest.variable: "1"}) == host
        assert calling_client("claude", {guest.variable: "1", "CLAUDECODE": "1"}) == "claude"
        assert calling_client("codex", {guest.variable: "1"}) == "codex"


@pytest.mark.parametrize(
    ("host", "event", "prompt"),
    [
        ("claude", "UserPromptSubmit", "<task-notification>\n<result>\n/hands_on()\n</result>"),
        ("qwen", "UserPromptSubmit", "<task-notification>\n/hands_on()\n</task-notification>"),
        ("copilot", "userPromptSubmitted", '<system_notification>\nAgent "sub" has finished'),
    ],
)
def test_what_a_task_in_the_background_says_is_no_prompt_of_a_person(host, event, prompt):
    """An agent chose its words: no command, no new baseline, no change that a person answers for."""
    announced = heard(host, event, {"session_id": "s", "prompt": prompt})
    typed = heard(host, event, {"session_id": "s", "prompt": f"What is {prompt}?"})

    assert announced.moment is HookPoint.OTHER
    assert announced.passed_over
    assert typed.moment is HookPoint.PROMPT


@pytest.mark.parametrize("tool", ["Bash", "Monitor", "PowerShell"])
def test_every_shell_of_claude_is_one(tool):
    call = {"session_id": "s", "tool_name": tool, "tool_input": {"command": "touch ran.txt"}}

    assert "shell" in heard("claude", "PreToolUse", call).call.also


@pytest.mark.parametrize(
    ("host", "event", "main", "own"),
    [
        ("claude", "SubagentStop", "transcript_path", "agent_transcript_path"),
        ("codex", "SubagentStop", "transcript_path", "agent_transcript_path"),
        ("qwen", "SubagentStop", "transcript_path", "agent_transcript_path"),
        ("droid", "SubagentStop", "transcript_path", ""),
        ("copilot", "subagentStop", "transcriptPath", ""),
        ("copilot", "SubagentStop", "transcript_path", ""),
        ("cursor", "subagentStop", "transcript_path", "agent_transcript_path"),
    ],
)
def test_what_the_main_agent_said_is_not_read_as_words_of_a_subagent(host, event, main, own):
    payload = {"session_id": "s", main: "/main.jsonl"}

    assert heard(host, event, payload).transcript == ""
    if own:
        assert heard(host, event, {**payload, own: None}).transcript == ""
        assert heard(host, event, {**payload, own: "/own.jsonl"}).transcript == "/own.jsonl"
