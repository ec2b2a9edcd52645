"""Every payload that was recorded from a real client goes through its adapter.

What must be read of each stands in data/hooks/heard.json; the answers to each are compared with
the words that its client takes, written down here once more.
"""

import json

import pytest
from recorded import DATA, recorded

from bylaw.hosts.clients.base import HookReply
from bylaw.hosts.clients.fail_closed import DENIALS, EMPTY_ANSWERS, EXIT_ZERO_CLIENTS, denial
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.effects import ABILITIES

RECORDED = {one.name + "@" + one.event: one for one in recorded()}
EXPECTED = json.loads((DATA / "hooks" / "heard.json").read_text(encoding="utf-8"))
REASON = 'no "shell" here\n(rule r, guard.chatmd:1)'
TEXTS = ("a notice", "and another")
SAID = "a notice\n\nand another"
LONG = 200

each = pytest.mark.parametrize("one", RECORDED.values(), ids=RECORDED.keys())


def read(one):
    """What was read, as it stands in the file: what is empty is left out."""
    heard, call = one.process_notices, one.process_notices.call
    found = {"moment": heard.moment, "session": heard.session, "agent": heard.agent}
    found |= {"text": heard.text, "again": heard.again, "tokens": heard.tokens}
    if call is not None:
        found |= {"tool": call.tool, "also": [*call.also], "paths": call.args.get("paths")}
        found |= {"call": call.id, "status": call.status, "error": call.error, "ms": call.ms}
        found["result"] = call.result if len(str(call.result)) < LONG else "…"
    return {key: value for key, value in found.items() if value not in (None, "", False)}


def test_nothing_is_left_out():
    assert RECORDED.keys() == EXPECTED.keys()
    assert {one.host for one in RECORDED.values()} == ABILITIES.keys()


@each
def test_payload_is_read(one):
    assert read(one) == EXPECTED[f"{one.name}@{one.event}"]


@each
def test_no_field_is_unknown(one):
    """But for those of events that nobody judges."""
    is_judged = one.process_notices.moment is not HookPoint.OTHER or one.process_notices.passed_over
    assert not is_judged or one.process_notices.unknown == ()


@each
def test_arguments_stay_as_they_were(one):
    call = one.process_notices.call
    if call is None:
        return
    given = [one.payload.get(key) for key in ("tool_input", "toolArgs", "args")]
    given = next((value for value in given if isinstance(value, dict)), None)
    assert given is None or given.items() <= call.args.items()


@each
def test_fields_that_nobody_knows_are_ignored(one):
    payload = {**one.payload, "brandNew": {"of": 1}, "later": "x"}
    heard = one.adapter.read(one.event, payload)
    assert heard.unknown == tuple(sorted({*one.process_notices.unknown, "brandNew", "later"}))
    assert (heard.moment, heard.text, heard.call) == (
        one.process_notices.moment,
        one.process_notices.text,
        one.process_notices.call,
    )


@each
def test_refusal_is_in_the_words_of_the_client(one):
    if one.process_notices.moment not in ABILITIES[one.host].denies:
        return
    output = one.adapter.answer(one.process_notices, HookReply(refused=True, reason=REASON))
    assert (output.stdout, output.stderr, output.exit_code) == denial(one.host, one.event, REASON)
    assert one.event in DENIALS[one.host]
    assert output.exit_code == (0 if one.host in EXIT_ZERO_CLIENTS else 2)
    assert json.loads(output.stdout) == refused(one)


@each
def test_context_is_in_the_words_of_the_client(one):
    output = one.adapter.answer(one.process_notices, HookReply(for_model=TEXTS))
    assert (output.stderr, output.exit_code) == ("", 0)
    if one.process_notices.moment in ABILITIES[one.host].for_model:
        assert json.loads(output.stdout) == in_context(one)
    else:
        assert output.stdout == EMPTY_ANSWERS.get(one.host, "")


@each
def test_nothing_to_say_is_silence(one):
    output = one.adapter.answer(one.process_notices, HookReply())
    assert (output.stdout, output.stderr) == (EMPTY_ANSWERS.get(one.host, ""), "")
    assert output.exit_code == 0


def refused(one):
    """By hand, what each client takes for a refusal."""
    moment, host = one.process_notices.moment, one.host
    if host == "cursor":
        return refused_in_cursor(one)
    if host == "gemini":
        return {"decision": "deny", "reason": REASON}
    if moment is not HookPoint.BEFORE_TOOL or host == "opencode":
        return {"decision": "block", "reason": REASON}
    words = {"permissionDecision": "deny", "permissionDecisionReason": REASON}
    if host == "copilot":
        return words
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **words}}


def refused_in_cursor(one):
    if one.process_notices.moment in (HookPoint.STOP, HookPoint.SUBAGENT_STOP):
        return {"followup_message": REASON}
    if one.process_notices.moment is HookPoint.PROMPT:
        return {"continue": False, "user_message": REASON}
    for_agent = {} if one.event == "beforeReadFile" else {"agent_message": REASON}
    return {"permission": "deny", "user_message": REASON, **for_agent}


def in_context(one):
    """By hand, where each client takes context."""
    match one.host:
        case "cursor":
            return {"additional_context": SAID}
        case "opencode":
            return {"context": [*TEXTS]}
        case "copilot":
            return {"additionalContext": SAID}
    return {"hookSpecificOutput": {"hookEventName": one.event, "additionalContext": SAID}}
