"""Approvals that come while a call of an agent runs: they do not count until a person confirms."""

import os
import time
from contextlib import closing

import pytest
from called_hooks import Repository

from bylaw.hosts.bus.ledger import Ledger
from bylaw.hosts.bus.statements import Approvals
from bylaw.runtime.approvals import (
    FILE,
    MAX_DOUBTED,
    ApprovalKey,
    ApprovalWatch,
    RunningCall,
    read_approval_watch,
)

BUS = "runtime/bus"
ID = "20240116_120000_cursor_fix-lint"
TOKEN = f"runtime/approvals/{ID}.human"
LAW = """dsl_version: "0.1"
rules:
  - rule_id: R
    priority: 1
    trigger: {kind: bus_input}
    guards: {category_in: [B], approval: {mode: single, authorities: [human, antigravity]}}
    actions: [{type: write_bus, channel: output, template: done}]
"""
CONTEXT = "- **Active Phase**: `2`\n\n## Active Approvals\n\n"
LINE = f"- [x] {ID} | Human | Cat-B | 2024-01-16T12:05:00Z\n"
CALL = {"tool_name": "Bash", "tool_input": {"command": "python3 tidy.py"}}


@pytest.fixture
def repository(tmp_path):
    """A root under law, in which nothing is approved."""
    made = Repository(tmp_path / "root", tmp_path / "home")
    made.write("runtime/rules/law.yaml", LAW)
    made.write("SHARED_CONTEXT.md", CONTEXT)
    return made


@pytest.fixture
def approvals(repository):
    with closing(Ledger(str(repository.root))) as ledger:
        yield Approvals(str(repository.root), BUS, ledger)


def begin(repository, call="c1"):
    assert repository.call("PreToolUse", **CALL, tool_use_id=call).code == 0


def end(repository, call="c1"):
    return repository.call("PostToolUse", **CALL, tool_use_id=call, tool_response={})


def granted(approvals):
    return [one.where for one in approvals.found(ID) if one.grants]


def test_what_comes_while_a_call_runs_counts_neither_then_nor_later(repository, approvals):
    begin(repository)
    repository.write(TOKEN, "Approved\n")
    repository.write("SHARED_CONTEXT.md", f"{CONTEXT}{LINE}")
    assert granted(approvals) == []

    told = end(repository).answer["systemMessage"]

    assert granted(approvals) == []
    assert f"`{TOKEN}` has an approval of `{ID}` that appeared while a call of the" in told
    assert f"`bylaw approve {ID}`" in told
    assert "protected file changed while `Bash` ran" in told
    # What a person saves outside of a call is theirs, and so is a token of `bylaw approve`.
    repository.write("SHARED_CONTEXT.md", f"{CONTEXT}{LINE.replace('12:05', '12:06')}")
    assert granted(approvals) == ["SHARED_CONTEXT.md:5"]
    approvals.files.write_token(ID, "human", "Approved\n")
    assert sorted(granted(approvals)) == ["SHARED_CONTEXT.md:5", TOKEN]


def test_what_was_there_before_counts_and_so_does_what_a_person_approves_meanwhile(
    repository, approvals
):
    repository.write("SHARED_CONTEXT.md", f"{CONTEXT}{LINE}")
    begin(repository)
    approvals.files.write_token(ID, "antigravity", "Approved\n")
    assert len(granted(approvals)) == 2
    assert b"protected" not in end(repository).stdout
    assert len(granted(approvals)) == 2


def test_a_token_that_is_changed_in_place_has_not_the_time_that_it_says(repository, approvals):
    token = repository.write(TOKEN, "Rejected\n")
    found = token.stat()
    begin(repository)
    token.write_text("Approved\n")
    os.utime(token, ns=(found.st_atime_ns, found.st_mtime_ns - 10**12))
    assert granted(approvals) == []
    end(repository)
    assert granted(approvals) == []


@pytest.fixture
def hidden_token(repository):
    """A token that a call wrote, in a folder that it moved away before it ended."""
    begin(repository)
    repository.write(TOKEN, "Approved\n")
    folder, away = repository.root / "runtime/approvals", repository.root / "build"
    folder.rename(away)
    time.sleep(0.1)  # longer than the clock of files may stand still
    assert b"approves" not in end(repository).stdout
    return lambda: away.rename(folder)


def test_a_token_that_another_call_brings_back_does_not_count(repository, approvals, hidden_token):
    begin(repository, "c2")
    hidden_token()
    assert granted(approvals) == []
    told = end(repository, "c2").answer["systemMessage"]

    assert f"`{TOKEN}` has an approval of `{ID}` that appeared while a call of the" in told
    assert granted(approvals) == []
    begin(repository, "c3")
    end(repository, "c3")
    assert granted(approvals) == []
    approvals.files.write_token(ID, "human", "Approved\n")
    assert granted(approvals) == [TOKEN]


def test_nor_does_one_that_comes_back_between_two_calls(repository, approvals, hidden_token):
    hidden_token()
    assert granted(approvals) == []
    begin(repository, "c2")
    end(repository, "c2")
    assert granted(approvals) == []


def test_a_token_that_was_seen_before_counts_through_many_calls(repository, approvals):
    repository.write(TOKEN, "Approved\n")
    time.sleep(0.1)
    for call in ("c1", "c2"):
        begin(repository, call)
        assert granted(approvals) == [TOKEN]
        end(repository, call)
    assert granted(approvals) == [TOKEN]


def test_taking_back_counts_whoever_does_it(repository, approvals):
    repository.write("SHARED_CONTEXT.md", f"{CONTEXT}{LINE}")
    begin(repository)
    repository.write(TOKEN, "Revoked\n")

    assert granted(approvals) == []
    assert [one.authority for one in approvals.found(ID)] == ["human"]


def test_a_call_that_is_never_told_to_have_ended_ends_with_the_stop(repository, approvals):
    begin(repository, "c1")
    repository.write(TOKEN, "Approved\n")
    repository.stop()

    assert granted(approvals) == []
    assert not read_approval_watch(str(repository.root)).running


def gemini(repository, event, **fields):
    """A hook of a client whose calls have no ids."""
    about = {"tool_name": "run_shell_command", "tool_input": {"command": "python3 tidy.py"}}
    data = repository.payload(event, **(about if "Tool" in event else {}), **fields)
    assert repository.raw("gemini", event, data=data).code == 0


def test_of_parallel_calls_without_ids_the_first_counts_and_the_last_ends(repository, approvals):
    gemini(repository, "BeforeTool")
    repository.write(TOKEN, "Approved\n")
    time.sleep(0.1)  # longer than the clock of files may stand still
    gemini(repository, "BeforeTool")
    assert granted(approvals) == []
    gemini(repository, "AfterTool", tool_response={})
    assert granted(approvals) == []

    repository.write("SHARED_CONTEXT.md", f"{CONTEXT}{LINE}")  # by the call that still runs
    assert granted(approvals) == []
    gemini(repository, "AfterTool", tool_response={})

    assert granted(approvals) == []
    assert not read_approval_watch(str(repository.root)).running
    repository.write("SHARED_CONTEXT.md", f"{CONTEXT}{LINE.replace('12:05', '12:06')}")
    assert granted(approvals) == ["SHARED_CONTEXT.md:5"]


def test_a_call_that_was_denied_never_ran(repository, approvals):
    assert repository.shell("rm bylaw.toml").code == 2
    repository.write(TOKEN, "Approved\n")

    assert granted(approvals) == [TOKEN]
    begin(repository, "c2")
    end(repository, "c2")
    assert granted(approvals) == [TOKEN]


def test_a_subagent_that_stops_ends_no_calls_of_others(repository, approvals):
    begin(repository)
    about = {"stop_hook_active": False, "last_assistant_message": "Done."}
    repository.call("SubagentStop", agent_id="a1", agent_type="x", **about)
    repository.write(TOKEN, "Approved\n")

    assert granted(approvals) == []
    end(repository)
    assert granted(approvals) == []


def test_a_call_that_would_write_an_approval_is_refused_before(repository):
    for command in (f"echo Approved > {TOKEN}", "sed -i s/x/y/ SHARED_CONTEXT.md"):
        refused = repository.shell(command)
        assert refused.code == 2
        assert "it holds approvals" in refused.stderr


def test_what_cannot_be_told_lets_nothing_count(repository, approvals):
    repository.write(TOKEN, "Approved\n")
    assert granted(approvals) == [TOKEN]
    repository.write(f".bylaw/state/{FILE}", "[")
    assert granted(approvals) == []


def test_a_flood_does_not_push_out_what_is_doubted():
    marks = [ApprovalKey(str(number), None) for number in range(MAX_DOUBTED + 1)]
    watch = ApprovalWatch({"call": RunningCall(0)}, confirmed=["mine"]).after(["call"], marks)

    assert not any(watch.counts(one) for one in marks)
    assert watch.counts(ApprovalKey("mine", None))


def test_nor_a_subagent_that_is_left_alone(repository, approvals, monkeypatch):
    """Its calls are not judged, and watched all the same."""
    repository.write("bylaw.toml", "[hooks]\nsubagents = false\n")
    repository.trust(monkeypatch)
    call = {**CALL, "agent_id": "a1", "agent_type": "x", "tool_use_id": "c"}

    assert repository.call("PreToolUse", **call).code == 0
    repository.write(TOKEN, "")
    after = repository.call("PostToolUse", **call, tool_response={})

    assert granted(approvals) == []
    assert f"bylaw approve {ID}" in str(after.answer)
