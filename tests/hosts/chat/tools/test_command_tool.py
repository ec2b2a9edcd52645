"""Command tools: real programs, with trust and without it."""

import shlex
import sys
import threading

import pytest
from chat_folder import UNTRUSTED

from bylaw.hosts.chat.tools.base import ToolError, ToolTimeoutError
from bylaw.hosts.chat.tools.declarations import MAX_OUTPUT_BYTES, CommandTool
from bylaw.languages.chatmd.header import CommandTool as Declared
from bylaw.runtime.sandbox.client import Cancellation
from bylaw.runtime.settings import CommandSettings
from bylaw.runtime.trust import Trust, TrustState

PYTHON = f"{shlex.quote(sys.executable)} -I -S -c"


@pytest.fixture
def tool(chat):
    def make(command, *, description="", trust=Trust.for_one_run, cancellation=None, **settings):
        declared = Declared("it", command, description)
        return CommandTool(
            declared, str(chat.root), CommandSettings(**settings), trust, cancellation
        )

    return make


def python(tool, code, **more):
    return tool(PYTHON, **more).run({"arguments": [code]})


def test_what_is_printed_is_the_result(chat, tool):
    chat.put("a", "one\ntwo\n")
    assert tool("grep -n two").run({"arguments": ["a"]}) == "2:two\n"
    assert tool("echo").run({}) == "\n"


def test_standard_error_follows_on_a_line_of_its_own(tool):
    code = "import sys; print('out', end=''); print('err', file=sys.stderr)"
    assert python(tool, code) == "out\nerr\n"


def test_it_runs_in_the_root(chat, tool):
    assert tool("pwd -P").run({}) == f"{chat.root}\n"


def test_the_declared_command_is_split_as_a_shell_does(tool):
    assert (
        tool("printf '%s|' 'a b'").run({"arguments": ["c d", "$HOME", "; ls", "*"]})
        == "a b|c d|$HOME|; ls|*|"
    )


@pytest.mark.parametrize(
    "trust", [UNTRUSTED, Trust(TrustState.CHANGED, "`a` changed since it was trusted")]
)
def test_without_trust_nothing_is_started(chat, tool, trust):
    with chat.refused(f"`touch harm`: {trust.why}"):
        tool("touch harm", trust=lambda: trust).run({})


def test_nor_where_nobody_was_asked(chat, tool):
    with chat.refused("`touch harm`: its book does not declare that it starts programs"):
        tool("touch harm", trust=lambda: Trust(TrustState.NOT_NEEDED, "")).run({})


def test_trust_is_asked_for_at_every_start(chat, tool):
    answers = [Trust.for_one_run(), UNTRUSTED]
    once = tool("touch", trust=lambda: answers.pop(0))
    once.run({"arguments": ["first"]})
    with chat.refused("no person has trusted it"):
        once.run({"arguments": ["second"]})
    assert chat.all() == {"first": ""}


def test_a_command_that_fails(tool):
    with pytest.raises(ToolError) as failed:
        python(tool, "import sys; print('so far'); sys.exit('because')")
    assert not isinstance(failed.value, ToolTimeoutError)
    assert str(failed.value) == f"`{PYTHON}`: exit code 1\nso far\nbecause\n"


def test_a_command_that_is_killed(tool):
    with pytest.raises(ToolError, match="killed by SIGTERM"):
        python(tool, "import os; os.kill(os.getpid(), 15)")


def test_a_command_that_takes_too_long(tool):
    for seconds in (1, 10, 100):  # the first is enough if the machine is idle
        with pytest.raises(ToolTimeoutError, match=f"took longer than {seconds} s") as failed:
            python(
                tool, "import time; print('begun', flush=True); time.sleep(600)", timeout_s=seconds
            )
        if "begun" in str(failed.value):
            break
    assert f"took longer than {seconds} s\nbegun" in str(failed.value)


def test_a_command_that_somebody_ends(tool):
    cancellation = Cancellation()
    threading.Timer(0.5, cancellation.cancel).start()
    with pytest.raises(ToolError, match="cancelled"):
        python(tool, "import time; time.sleep(600)", cancellation=cancellation)


def test_of_much_output_the_beginning_and_the_end_are_kept(tool):
    text = python(tool, "print('a' * 300_000 + 'b')")
    assert len(text) < MAX_OUTPUT_BYTES + 100
    assert text.startswith("aaa")
    assert text.endswith("ab\n")
    assert "bytes left out" in text


def test_output_that_is_no_text(tool):
    assert python(tool, "import sys; sys.stdout.buffer.write(b'\\xff\\x00')") == "\ufffd\x00"


@pytest.mark.parametrize(
    ("command", "args", "words"),
    [
        ("no-such-program", [], "program `no-such-program` not found"),
        ("./local", [], "is a relative path"),
        ("", [], "the command is empty"),
        ("'unclosed", [], "`'unclosed` is not a valid command: no closing quotation"),
        ("echo", ["a\0b"], "an argument contains a null byte"),
        ("echo", ["x" * 200_000], "arguments exceed"),
        ("echo", ["\ud800"], "an argument is not text"),
    ],
)
def test_what_cannot_be_started(chat, tool, command, args, words):
    with chat.refused(words):
        tool(command).run({"arguments": args})


def test_only_programs_that_the_settings_allow(chat, tool):
    with chat.refused("`touch` is not one of the allowed programs"):
        tool("touch a", allow=("echo",)).run({})
    assert tool("echo a", allow=("echo",)).run({}) == "a\n"


def test_only_variables_that_the_settings_allow(tool, monkeypatch):
    monkeypatch.setenv("SECRET", "s3cret")
    assert "s3cret" not in tool("env").run({})
    assert "SECRET=s3cret" in tool("env", env=("SECRET",)).run({})


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"arguments": "-l"}, "`arguments` must be a list, not a string"),
        ({"arguments": ["a", 1]}, "`arguments[1]` must be a string, not a whole number"),
        ({"args": []}, "the call has no argument `args`: did you mean `arguments`?"),
    ],
)
def test_arguments(chat, tool, args, words):
    with chat.refused(words):
        tool("echo").run(args)


def test_what_the_model_is_told(tool):
    made = tool("git ls-files", description="Files that git knows.")
    assert made.spec.name == "it"
    assert made.spec.description == (
        "Run `git ls-files` with further arguments. No shell interprets them. Files that git knows."
    )
    assert made.also == ("shell",)
    assert made.spec.parameters == {
        "type": "object",
        "properties": {
            "arguments": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "Arguments to add to the command, one string each.",
            }
        },
        "required": [],
        "additionalProperties": False,
    }
