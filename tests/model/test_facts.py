"""Typed facts."""

import pytest
from msgspec import UNSET

from bylaw.model.event import EVENT_CLASSES
from bylaw.model.vocabulary import FileStatus, Kind, PolicyMode
from bylaw.model.wire import EventError, decode_event

WORK = {Kind.PROMPT, Kind.MESSAGE, Kind.AGENT_STOP}
LAW = {Kind.FILE, Kind.BUS, Kind.APPROVAL}
COMMON_NAMES = {
    "token_budget",
    "context_window",
    "user",
    "project",
    "scripts",
    "disabled",
    "unknown",
}
WORK_NAMES = {"changes", "entries", "withheld", "changed", "unjudged"}
TOOL_NAMES = {"protected", "changed", "waits"}
OF_THE_HOST = {"outside", "literal", "unreadable", "duplicate", "withdrawn"}
LAW_NAMES = {"approvals", "phase", "allowed_roots", "policy_mode", *OF_THE_HOST}


@pytest.mark.parametrize("kind", list(Kind))
def test_which_facts_a_kind_can_carry(kind):
    facts = EVENT_CLASSES[kind].__annotations__.get("facts")
    names = set(facts.__struct_fields__) if facts else COMMON_NAMES

    own = dict.fromkeys(WORK, WORK_NAMES) | dict.fromkeys(LAW, LAW_NAMES)
    own |= dict.fromkeys((Kind.TOOL_BEFORE, Kind.TOOL_AFTER), TOOL_NAMES)
    assert names - COMMON_NAMES == own.get(kind, set())


def test_null_is_an_answer_and_absence_is_none():
    known = decode_event(b'{"kind": "bus", "message": {}, "facts": {"phase": null}}')
    unknown = decode_event(b'{"kind": "bus", "message": {}}')

    assert known.facts.phase is None
    assert unknown.facts.phase is UNSET
    assert known != unknown


@pytest.mark.parametrize("phase", ["-1", "5", '"2"', "true"])
def test_a_phase_is_0_to_4(phase):
    """LD-016, LD-017: an invalid phase must never open a gate."""
    with pytest.raises(EventError, match=r"`facts\.phase` must be"):
        decode_event(b'{"kind":"bus","message":{},"facts":{"phase":%s}}' % phase.encode())


def test_changes_are_known_one_baseline_at_a_time():
    event = decode_event(
        b'{"kind": "agent.stop", "facts": {"changes": {"base": {"ref": "abc", "files":'
        b' [{"path": "b", "status": "renamed", "old_path": "a", "digest": "d"}]}}}}'
    )
    [file] = event.facts.changes.base.files

    assert (file.path, file.status, file.old_path) == ("b", FileStatus.RENAMED, "a")
    assert event.facts.changes.prompt is UNSET


def test_an_entry_that_is_null_is_known_not_to_exist():
    event = decode_event(
        b'{"kind": "agent.stop", "facts": {"entries": {"aa": null,'
        b' "bb": {"policy": "p", "status": "failed", "digest": "d", "shown": 2}}}}'
    )

    assert event.facts.entries["aa"] is None
    assert event.facts.entries["bb"].shown == 2
    assert "cc" not in event.facts.entries


def test_policy_mode_is_closed():
    """LD-018"""
    event = decode_event(b'{"kind":"bus","message":{},"facts":{"policy_mode":"relaxed"}}')

    assert event.facts.policy_mode is PolicyMode.RELAXED
    with pytest.raises(EventError, match="cannot be `lenient`"):
        decode_event(b'{"kind":"bus","message":{},"facts":{"policy_mode":"lenient"}}')


@pytest.mark.parametrize("result", [b"{}", b'{"value": 1, "error": "x"}'])
def test_a_script_ended_in_one_way(result):
    with pytest.raises(EventError, match="exactly one of `value`, `error`, `killed`"):
        decode_event(b'{"kind":"prompt","facts":{"scripts":{"d":%s}}}' % result)


def test_a_script_can_give_null():
    event = decode_event(b'{"kind":"prompt","facts":{"scripts":{"d":{"value":null}}}}')

    assert event.facts.scripts["d"].value is None
    assert event.facts.scripts["d"].error is UNSET
