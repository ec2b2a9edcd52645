"""`bylaw chat` as a program: real model clients on loopback, a terminal, a pipe, and what it says."""

import json
import os
import pty
import subprocess
import sys

import pytest

from model_server import anthropic_stream, model_server, openai_stream, status

BYLAW = [sys.executable, "-m", "bylaw"]
KEYS = {"OPENAI_API_KEY": "sk-test-123456789", "ANTHROPIC_API_KEY": "sk-test-123456789"}


@pytest.fixture
def server():
    with model_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bylaw.toml").write_text("discover = false\n")
    return tmp_path


def environment(server, folder):
    """As a person's, but for keys, proxies and the server."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    urls = {"OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.url.removesuffix("/v1")}
    return kept | KEYS | urls | {"XDG_STATE_HOME": str(folder.parent / "state")}


def chat(folder, server, *arguments, said=""):
    return subprocess.run(
        [*BYLAW, "chat", "main.chatmd", *arguments],
        cwd=folder,
        env=environment(server, folder),
        input=said,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


POLICY = '<policy><tool name="read_file"><quota per_session="1"/></tool></policy>\n'


@pytest.mark.parametrize(
    ("model", "stream"), [("openai:m", openai_stream), ("anthropic:m", anthropic_stream)]
)
def test_a_chat_with_a_real_client(folder, server, model, stream):
    (folder / "notes.txt").write_text("remember the milk\n")
    text = f'{POLICY}<tool name="read_file"/>\n<system>Be brief.</system>\n'
    (folder / "main.chatmd").write_text(text)
    calls = [(f"c{n}", "read_file", ['{"file":', '"notes.txt"}']) for n in (1, 2)]
    stop = "tool_calls" if "openai" in model else "tool_use"
    server.answers[:] = [stream("I ", "look", calls=calls, stop=stop), stream("Buy ", "milk.")]
    result = chat(folder, server, "--model", model, said="What is in my notes?\n")
    assert result.returncode == 0, result.stderr
    assert "Buy milk." in result.stdout
    written = (folder / "main.chatmd").read_text()
    assert "<user>What is in my notes?</user>" in written
    assert "remember the milk" in written
    assert 'via_rule="policy:read_file/quota"' in written
    assert written.rstrip().endswith("<assistant>Buy milk.</assistant>")
    first, second = (asked.body for asked in server.asked)
    assert "Be brief." in json.dumps(first)
    assert "remember the milk" in json.dumps(second)
    assert "per_session=1" in json.dumps(second)


def test_the_tokens_of_the_provider_are_told(folder, server):
    (folder / "main.chatmd").write_text("<user>hi</user>")
    server.answers[:] = [openai_stream("ho")]
    result = chat(folder, server, "--model", "openai:m", "--once", "--format", "json")
    assert json.loads(result.stdout.splitlines()[-1]) == {
        "ended": "done",
        "turns": 1,
        "tokens": {"sent": 11, "received": 7},
    }


def test_a_server_that_refuses_is_told_in_a_line_and_the_chat_can_go_on(folder, server):
    (folder / "main.chatmd").write_text("<user>hi</user>\n")
    server.answers[:] = [status(401, {"error": {"message": "bad key"}}), openai_stream("ho")]
    result = chat(folder, server, "--model", "openai:m", "--once")
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert "sk-test" not in result.stderr
    assert (folder / "main.chatmd").read_text() == "<user>hi</user>\n"
    again = chat(folder, server, "--model", "openai:m", "--once")
    assert again.returncode == 0, again.stderr
    assert (folder / "main.chatmd").read_text() == "<user>hi</user>\n<assistant>ho</assistant>\n"


def test_on_a_terminal_it_asks(folder, server):
    (folder / "main.chatmd").write_text("<system>s</system>\n")
    server.answers[:] = [openai_stream("one"), openai_stream("two \x1b[31m")]
    main, side = pty.openpty()
    process = subprocess.Popen(
        [*BYLAW, "chat", "main.chatmd", "--model", "openai:m"],
        cwd=folder,
        env=environment(server, folder),
        stdin=side,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(side)
    os.write(main, b"first\n\nsecond\n\x04")
    out, errors = process.communicate(timeout=300)
    os.close(main)
    assert process.returncode == 0, errors
    assert b"one" in out
    assert b"\x1b[31m" not in out
    written = (folder / "main.chatmd").read_text()
    assert [line for line in written.splitlines() if line.startswith("<user>")] == [
        "<user>first</user>",
        "<user>second</user>",
    ]


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("<user>hi</user>", [], "no model is set"),
        ("<user>hi</user>", ["--model", "opnai:x"], "did you mean `openai`?"),
        ("<user>hi</user>", ["--model", "script:none.jsonl"], "none.jsonl"),
        (
            "<user>hi</user>",
            ["--model", "openai:x", "--tools", "x"],
            "invalid value `x` for the tools: write `script:FILE`",
        ),
        ("<user>hi", ["--model", "openai:x"], "main.chatmd:1:1"),
        ("<rules><on event='x'/></rules>", ["--model", "openai:x"], "main.chatmd:1:19"),
        (
            "<tool_response tool_call_id='c'>x</tool_response>",
            ["--model", "openai:x"],
            "answers no earlier call",
        ),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(folder, server, text, arguments, told):
    (folder / "main.chatmd").write_text(text)
    result = chat(folder, server, *arguments)
    assert result.returncode == 1
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert (folder / "main.chatmd").read_text() == text
    assert not server.asked


def test_a_base_url_of_a_stranger_is_not_used(folder, server):
    (folder / "bylaw.toml").write_text(f'[model]\nbase_url = "{server.url}"\n')
    (folder / "main.chatmd").write_text("<user>hi</user>")
    elsewhere = environment(server, folder) | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    command = [*BYLAW, "chat", "main.chatmd", "--model", "openai:m", "--once"]
    server.answers[:] = [openai_stream("ho")]
    run = subprocess.Popen(
        command, cwd=folder, env=elsewhere, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        run.communicate(timeout=3)
    except subprocess.TimeoutExpired:  # it tries again where nobody listens
        run.kill()
        run.communicate()
    assert not server.asked
    trusted = subprocess.run(
        [*command, "--trust"], cwd=folder, env=elsewhere, capture_output=True, check=False
    )
    assert trusted.returncode == 0, trusted.stderr
    assert len(server.asked) == 1
