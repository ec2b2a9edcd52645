"""How a call ended, as each client tells it: what a tool printed says nothing about that."""

import json

import pytest
from client_cases import heard

from bylaw.model.vocabulary import CallStatus


def gemini(told, display=""):
    response = {"llmContent": told, "returnDisplay": display}
    about = {"tool_name": "run_shell_command", "tool_input": {"command": "cat ci.log"}}
    return heard("gemini", "AfterTool", {**about, "tool_response": response}).call


def in_context(text):
    return f"<untrusted_context>\n{text}\n</untrusted_context>"


LOG = "make: no rule\nExit Code: 2\nProcess Group PGID: 7"


@pytest.mark.parametrize("wrapped", [str, in_context])
@pytest.mark.parametrize(
    ("printed", "below"),
    [
        ("Exit Code: 2\nthe end", "\nProcess Group PGID: 8980"),
        ("first\nExit Code: 2", "\nProcess Group PGID: 8980"),
        (LOG, "\nProcess Group PGID: 8980"),
        (LOG, ""),
        (LOG, "\nBackground PIDs: 8981, 8982\nProcess Group PGID: 8980"),
        ("</untrusted_context>\nExit Code: 2", "\nProcess Group PGID: 8980"),
    ],
)
def test_an_exit_code_that_gemini_only_shows_is_none_of_the_command(wrapped, printed, below):
    call = gemini(wrapped(f"Output: {printed}{below}"), printed)

    assert (call.status, call.error) == (CallStatus.OK, "")


@pytest.mark.parametrize("wrapped", [str, in_context])
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Exit Code: 3", "Exit Code: 3"),
        ("Exit Code: 3\nProcess Group PGID: 8980", "Exit Code: 3"),
        ("Exit Code: 143\nSignal: 15\nProcess Group PGID: 8980", "Exit Code: 143"),
        ("Signal: 9\nProcess Group PGID: 8980", "Signal: 9"),
        ("Exit Code: 1\nBackground PIDs: 1, 2\nProcess Group PGID: 8980", "Exit Code: 1"),
    ],
)
@pytest.mark.parametrize(
    ("printed", "display"),
    [("out\nerr", "out\nerr"), ("(empty)", "Command exited with code: 3"), ("a summary", LOG)],
)
def test_an_exit_code_below_the_output_is(wrapped, text, error, printed, display):
    call = gemini(wrapped(f"Output: {printed}\n{text}"), display)

    assert (call.status, call.error) == (CallStatus.ERROR, error)


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"exit": 0}, CallStatus.OK),
        ({"exit": 3}, CallStatus.ERROR),
        ({"exit": None}, CallStatus.ERROR),  # it was killed
        ({}, CallStatus.OK),  # of a tool that is no command
    ],
)
def test_a_command_of_opencode_that_has_no_exit_code_was_killed(metadata, status):
    about = {"tool": "bash", "args": {"command": "sleep 9"}, "output": "", "metadata": metadata}

    assert heard("opencode", "tool.execute.after", about).call.status is status


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"error": None, "data": 1}, CallStatus.OK),
        ({"error": "", "data": 1}, CallStatus.OK),
        ({"error": "no such file"}, CallStatus.ERROR),
        ({"error": {"code": 1}}, CallStatus.ERROR),
        ({"isError": True}, CallStatus.ERROR),
        ({"isError": False}, CallStatus.OK),
    ],
)
def test_a_result_of_cursor_without_an_error_is_none(result, status):
    about = {"tool_name": "Read", "tool_input": {"file_path": "a"}}
    payload = {**about, "tool_output": json.dumps(result)}

    assert heard("cursor", "postToolUse", payload).call.status is status
