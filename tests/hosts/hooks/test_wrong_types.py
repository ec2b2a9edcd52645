"""What a client cannot have sent is refused: every field that is read, as every wrong type.

Every recorded payload is taken, and every field of it in turn: of the payload itself, of the
arguments of a call, and of the objects in it of which we read more than that they are there.
"""

import json

import pytest
from called_hooks import Repository
from client_cases import heard
from msgspec.structs import replace
from recorded import recorded

from bylaw.hosts.clients.base import PayloadError
from bylaw.hosts.clients.fail_closed import DENIALS, EMPTY_ANSWERS, denial
from bylaw.model.vocabulary import HookPoint

RECORDED = {f"{one.name}@{one.event}": one for one in recorded()}
each = pytest.mark.parametrize("one", RECORDED.values(), ids=RECORDED.keys())

WORDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}
VALUES = [None, True, False, 7, 0, 1.5, "x", "", [], [7], ["x"], {}, {"a": 1}]

ARGUMENTS = ("tool_input", "toolArgs", "tool_args", "args")
INSIDE = (*ARGUMENTS, "mcp_context", "toolResult", "tool_result", "metadata")

# What null means where clients send it: that they have nothing to say there.
NULL_IS_ABSENT = {
    "transcript_path": "nullable in Codex, where nothing is written down",
    "agent_transcript_path": "recorded from Cursor; nullable in Codex",
    "last_assistant_message": "nullable in Codex, of an agent that said nothing",
}
NULL_IS_TOLD = {"exit": "OpenCode, of a command that was killed"}
# What clients send as more than one type.
ALSO_SENT = {
    ("cursor", "tool_input", "an object"): "of MCP tools JSON in a text; of others an object",
    ("copilot", "error", "an object"): "a message, or an object with one",
    ("cursor", "agent_transcript_path", "a text"): "recorded as null, where there is none",
}
# Handed on to rules as it is; what tools give has whatever type they like.
HANDED_ON = {
    ("claude", "tool_response"): "each tool has its own form",
    ("codex", "tool_response"): "a text, of MCP tools an object",
    ("qwen", "tool_response"): "each tool has its own form",
    ("droid", "tool_response"): "a text, sometimes of JSON",
    ("opencode", "output"): "what the tool gave",
    ("cursor", "sandbox"): "said of a command, and read by nobody but rules",
}
# Which arguments we read, by our name of a tool; all others are for rules alone, as they are.
READ_ARGUMENTS = {
    "shell": {"command", "cwd"},
    "file.write": {"file_path", "filePath", "path", "edits"},
    "file.read": {"file_path", "path"},
}
PATCHES = {"apply_patch": {"command"}}


def places(payload):
    """The way to every field that may be read."""
    for key, value in payload.items():
        yield (key,)
        if key in INSIDE and isinstance(value, dict):
            yield from ((key, inner) for inner in value)


def spoilt(payload, place, value):
    """The payload with another value in one place."""
    key, *rest = place
    return {**payload, key: spoilt(payload[key], rest, value) if rest else value}


def value_at(payload, place):
    for key in place:
        payload = payload[key]
    return payload


def outcome(one, payload):
    """What is read, or why it is refused."""
    try:
        return replace(one.adapter.read(one.event, payload), unknown=())
    except PayloadError as refused:
        return str(refused)


def is_read(one, place):
    """Whether what is read depends on a field: it is another if the field is, or is gone."""
    before, value = outcome(one, one.payload), value_at(one.payload, place)
    others = [other for other in VALUES if WORDS[type(other)] == WORDS[type(value)]]
    if isinstance(value, str):
        others += [value + "x", json.dumps({"a": value})]
    return any(outcome(one, spoilt(one.payload, place, other)) != before for other in others)


def is_free(one, place):
    """Whether a field is none of our business, and rules are handed it as it is."""
    if (one.host, place[0]) in HANDED_ON:
        return True
    if len(place) == 1 or place[0] not in ARGUMENTS or one.process_notices.call is None:
        return False
    call = one.process_notices.call
    ours = set().union(*(READ_ARGUMENTS.get(name, set()) for name in call.also))
    return place[1] not in ours | PATCHES.get(call.tool, set())


def wrong_values(one, place):
    """All values of another type than clients send there."""
    recorded_as = WORDS[type(value_at(one.payload, place))]
    for value in VALUES:
        kind = WORDS[type(value)]
        absent = value is None and name_of(place) in {**NULL_IS_ABSENT, **NULL_IS_TOLD}
        if kind != recorded_as and not absent and (one.host, name_of(place), kind) not in ALSO_SENT:
            yield value


@each
def test_a_field_of_a_wrong_type_is_refused_or_not_read_at_all(one):
    before = outcome(one, one.payload)
    for place in places(one.payload):
        if is_free(one, place):
            continue
        depends = is_read(one, place)
        for value in wrong_values(one, place):
            found = outcome(one, spoilt(one.payload, place, value))
            if isinstance(found, str):
                assert said_of(place, value, found), (place, value, found)
            else:
                assert not depends, f"{place} is read, and {value!r} let pass"
                assert found == before, f"{place} is read as {value!r}"


def name_of(place):
    """A field as all clients but Copilot CLI would call it, which has two names for it."""
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in place[-1])


def said_of(place, value, reason):
    """Whether a reason names the field and the type that it has."""
    is_named = any(f"{one}`" in reason for one in (name_of(place), place[-1]))
    is_text_of_json = isinstance(value, str) and "is not JSON" in reason
    return is_named and (f"is {WORDS[type(value)]}" in reason or is_text_of_json)


@pytest.mark.parametrize("table", [NULL_IS_ABSENT, NULL_IS_TOLD, ALSO_SENT, HANDED_ON])
def test_no_exception_is_made_without_need(table):
    """Each is of a field that a client sends; but that of a killed command was not recorded."""
    sent = {(one.host, key[-1]) for one in RECORDED.values() for key in places(one.payload)}
    names = {name for _, name in sent}

    for key in table:
        assert key in names if isinstance(key, str) else key[:2] in sent


@pytest.mark.parametrize("key", NULL_IS_ABSENT)
def test_null_is_as_good_as_absent_where_clients_send_it(key):
    for one in RECORDED.values():
        for place in places(one.payload):
            if name_of(place) == key:
                with_null = outcome(one, spoilt(one.payload, place, None))
                assert with_null == outcome(one, without(one.payload, place))


def without(payload, place):
    key, *rest = place
    if rest:
        return {**payload, key: without(payload[key], rest)}
    return {name: value for name, value in payload.items() if name != key}


# Client, event, tool, arguments → what is said; forms of which none was recorded.
CALLS = [
    ("claude", "PreToolUse", "Bash", {"command": 5}, "`command` of `Bash` is a number, not a text"),
    ("claude", "PreToolUse", "Bash", {"command": ["ls"]}, "is a list, not a text"),
    ("claude", "PreToolUse", "Bash", {"command": "ls", "workdir": {}}, "`workdir` of `Bash` is an"),
    ("claude", "PreToolUse", "MultiEdit", {"file_path": "a", "edits": {}}, "not a list of objects"),
    ("claude", "PreToolUse", "MultiEdit", {"edits": ["x"]}, "is a list with a text in it, not a"),
    ("claude", "PreToolUse", "Write", {"paths": ["a", 5]}, "is a list with a number in it, not a"),
    ("claude", "PreToolUse", "NotebookEdit", {"notebook_path": []}, "`notebook_path` of"),
    ("codex", "PreToolUse", "shell", {"command": ["ls", 5]}, "a list with a number in it"),
    ("codex", "PreToolUse", "Bash", {"command": ["ls"]}, "is a list, not a text"),
    ("codex", "PreToolUse", "apply_patch", {"command": [""]}, "`command` of `apply_patch` is a li"),
    ("droid", "PreToolUse", "ApplyPatch", {"input": {}}, "`input` of `ApplyPatch` is an object"),
    ("qwen", "PreToolUse", "read_many_files", {"paths": {"a": 1}}, "a text or a list of texts"),
    ("gemini", "BeforeTool", "run_shell_command", {"dir_path": 1}, "`dir_path` of"),
    ("copilot", "preToolUse", "apply_patch", {"patch": None}, "`patch` of `apply_patch` is null"),
    ("opencode", "tool.execute.before", "patch", {"patchText": 1}, "`patchText` of `patch` is a n"),
    ("cursor", "preToolUse", "Shell", {"command": []}, "`command` of `Shell` is a list, not a te"),
    ("cursor", "preToolUse", "Shell", {"command": "ls", "working_directory": 1}, "is a number"),
    ("cursor", "preToolUse", "Delete", {"path": True}, "`path` of `Delete` is true or false"),
]


def payload_of(tool, args):
    return {"tool_name": tool, "tool_input": args, "tool": tool, "args": args}


@pytest.mark.parametrize(("host", "event", "tool", "args", "said"), CALLS)
def test_an_argument_that_is_read_is_of_the_right_type(host, event, tool, args, said):
    with pytest.raises(PayloadError) as refused:
        heard(host, event, payload_of(tool, args))

    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("host", "event", "tool", "args"),
    [
        ("codex", "PreToolUse", "shell", {"command": ["bash", "-lc", "ls"]}),
        ("codex", "PreToolUse", "local_shell", {"command": []}),
        ("claude", "PreToolUse", "mcp__db__run", {"command": 5, "path": [], "edits": "x"}),
        ("claude", "PreToolUse", "Skill", {"command": {"a": 1}, "file_path": None}),
        ("claude", "PreToolUse", "WebFetch", {"command": 5}),
        ("opencode", "tool.execute.before", "db_run", {"command": 5}),
        ("copilot", "preToolUse", "db-run", {"path": 5}),
    ],
)
def test_what_may_be_so_is_left_as_it_is(host, event, tool, args):
    assert heard(host, event, payload_of(tool, args)).call.args == args


def test_folders_of_a_project_are_texts():
    for roots, said in (("/r", "is a text"), ([1], "a list with a number in it"), (None, "null")):
        with pytest.raises(PayloadError, match=said):
            heard("cursor", "beforeSubmitPrompt", {"prompt": "x", "workspace_roots": roots})


FOLDERS = ("cwd", "workspace_roots")  # those of the recording are not there


def spoilt_once():
    """One spoilt payload of each event, with as many different fields and types as there are."""
    turn = 0
    known = [one for one in RECORDED.values() if one.process_notices.moment is not HookPoint.OTHER]
    for (host, event), one in {(one.host, one.event): one for one in known}.items():
        judged = [place for place in places(one.payload) if place[-1] not in FOLDERS
                  and not is_free(one, place) and is_read(one, place)]  # fmt: skip
        if judged:
            turn += 1
            place = judged[turn % len(judged)]
            values = list(wrong_values(one, place))
            yield host, event, spoilt(one.payload, place, values[turn % len(values)]), place


SPOILT = {f"{host} {event} {'.'.join(place)}": (host, event, payload) for host, event, payload, place in spoilt_once()}  # fmt: skip


def test_every_gate_is_tried():
    tried = {(host, event) for host, event, _ in SPOILT.values()}
    recorded_gates = {(one.host, one.event) for one in RECORDED.values() if one.event in DENIALS[one.host] and not one.process_notices.passed_over}  # fmt: skip

    assert recorded_gates <= tried


@pytest.mark.parametrize(("host", "event", "payload"), SPOILT.values(), ids=SPOILT.keys())
def test_a_gate_is_closed_and_all_else_told_of(tmp_path, host, event, payload):
    """The process itself, in the words of each client."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    here = str(repository.root)
    payload = {**payload, **{key: here for key in ("cwd",) if key in payload}}
    if "workspace_roots" in payload:
        payload["workspace_roots"] = [here]

    called = repository.raw(host, event, data=json.dumps(payload).encode())

    assert "Traceback" not in called.stderr
    # A stop that goes round is let go, whatever fails.
    rounds = payload.get("loop_count")
    goes_round = payload.get("stop_hook_active") is True or (type(rounds) is int and rounds > 0)
    if event in DENIALS[host] and not goes_round:
        assert "bylaw failed, so nothing is allowed" in called.stderr
        shown = denial(host, event, called.stderr.removesuffix("\n"))
        assert (called.stdout.decode(), called.stderr, called.code) == shown
    else:
        assert called.stderr.startswith("bylaw failed, so nothing was checked: ")
        assert called.code == 0
        said = called.stdout.decode()
        assert said == EMPTY_ANSWERS.get(host, "") or called.answer.keys() == {"systemMessage"}
