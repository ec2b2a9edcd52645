"""A gate that is not told what it is about stays closed, and says which field is missing."""

import json

import pytest
from recorded import recorded

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import PayloadError
from bylaw.hosts.hooks.payload import read_event
from bylaw.model.vocabulary import HookPoint

FOLDERS = ("cwd", "workspace_roots")  # those of the recording are not there
RECORDED = {
    f"{one.name}@{one.event}": one
    for one in recorded()
    if one.process_notices.moment in (HookPoint.BEFORE_TOOL, HookPoint.PROMPT)
}
each = pytest.mark.parametrize("one", RECORDED.values(), ids=RECORDED.keys())

# Without these nobody can judge; the first are of prompts, the others of calls.
NEEDED = {
    *("prompt", "text"),
    *("tool_name", "toolName", "tool"),
    *("tool_input", "toolArgs", "args"),
    *("command", "file_path"),  # of events of Cursor that are about one tool
}
# Our name of a tool → arguments of which it needs one.
NEEDED_ARGUMENTS = {
    "shell": {"command"},
    "file.write": {"file_path", "filePath", "path", "command"},
}


def read(one, payload):
    kept = {key: value for key, value in payload.items() if key not in FOLDERS}
    return read_event(one.adapter, one.event, json.dumps(kept).encode())


def without(payload, key):
    return {name: value for name, value in payload.items() if name != key}


@each
def test_as_it_was_recorded_it_is_judged(one):
    assert read(one, one.payload).moment is one.process_notices.moment


@each
def test_a_field_without_which_nobody_can_judge(one):
    for key in one.payload:
        if key not in NEEDED or (
            key == "prompt" and one.process_notices.moment is not HookPoint.PROMPT
        ):
            read(one, without(one.payload, key))
        elif not (key == "command" and "tool_name" in one.payload):  # how a server is started
            with pytest.raises(PayloadError, match="is missing"):
                read(one, without(one.payload, key))


@each
def test_an_argument_without_which_nobody_can_judge(one):
    key = next((key for key in ("tool_input", "toolArgs", "args") if key in one.payload), "")
    given = one.payload.get(key)
    if not isinstance(given, dict):
        return
    needed = set().union(
        *(NEEDED_ARGUMENTS.get(name, set()) for name in one.process_notices.call.also)
    )
    for name in given:
        spoilt = {**one.payload, key: without(given, name)}
        if name in needed:
            with pytest.raises(PayloadError, match=f"`{name}`"):
                read(one, spoilt)
        else:
            read(one, spoilt)


@pytest.mark.parametrize(
    ("host", "tool", "args", "said"),
    [
        ("claude", "Bash", {}, "call of `Bash` has no command"),
        ("claude", "Write", {"file_path": "", "content": "x"}, "call of `Write` names no file"),
        ("claude", "NotebookEdit", {"new_source": "x"}, "`notebook_path`"),
        ("codex", "apply_patch", {"command": "no patch"}, "call of `apply_patch` names no"),
        ("cursor", "EditNotebook", {"cell": 1}, "`target_notebook`"),
    ],
)
def test_what_a_call_is_about(host, tool, args, said):
    event = "preToolUse" if host == "cursor" else "PreToolUse"
    payload = json.dumps({"tool_name": tool, "tool_input": args}).encode()

    with pytest.raises(PayloadError) as refused:
        read_event(load_adapter(host), event, payload)

    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("host", "tool", "args"),
    [
        ("claude", "Glob", {"pattern": "*"}),
        ("claude", "mcp__srv__ask_user", {}),
        ("claude", "Skill", {}),
        ("codex", "local_shell", {"command": []}),
        ("cursor", "EditNotebook", {"target_notebook": "a.ipynb"}),
    ],
)
def test_what_clients_leave_out(host, tool, args):
    event = "preToolUse" if host == "cursor" else "PreToolUse"
    payload = json.dumps({"tool_name": tool, "tool_input": args}).encode()

    assert read_event(load_adapter(host), event, payload).call.tool == tool


def test_what_has_happened_is_judged_all_the_same():
    payload = json.dumps({"tool_name": "Bash"}).encode()

    assert read_event(load_adapter("claude"), "PostToolUse", payload).call.args == {}
