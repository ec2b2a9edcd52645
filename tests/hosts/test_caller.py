"""Which coding agent is at work: by variables, and by the real processes that led to this one."""

import json
import os
import subprocess
import sys

import pytest

from bylaw.hosts.clients.caller import AGENTS, agent_of_ancestors, agent_of_environment
from bylaw.store.system import ProcessInfo, process_info
from own_session import SHELL, Terminal

ABOVE = [
    sys.executable,
    "-c",
    "from bylaw.hosts.clients import caller as k; print(k.agent_of_ancestors(k.ancestors()))",
]


def shown_on_terminal(words, **more):
    with Terminal(words, **more) as terminal:
        return terminal.rest()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_variables(agent):
    for variable in agent.variables:
        assert (
            agent_of_environment({variable: "1", "HOME": "/"})
            == f"`{variable}` is set, as {agent.name} does"
        )
        assert agent_of_environment({variable: ""}) == ""
    assert agent_of_environment({}) == ""


def process(name, *words):
    return ProcessInfo(7, name, 1, 1, ended=False, session=7, terminal=0), words


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("claude", ("claude", "-p", "x"), "Claude Code"),
        ("2.1.325", ("/home/u/.local/bin/claude",), "Claude Code"),
        ("node", ("node", "/usr/bin/gemini", "--yolo"), "Gemini CLI"),
        ("MainThread", ("node", "--no-warnings", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"), "Gemini CLI"),
        ("node", ("/usr/bin/node", "/opt/node_modules/@qwen-code/qwen-code/cli.js"), "Qwen Code"),
        ("codex", ("/x/node_modules/@openai/codex/vendor/codex", "exec"), "Codex"),
        ("copilot", (), "Copilot"),
        ("droid", ("droid", "exec"), "Droid"),
        ("opencode", ("opencode", "run"), "OpenCode"),
        ("cursor-agent", ("/home/u/.local/bin/cursor-agent",), "Cursor"),
        ("sh", ("/bin/sh", "/usr/local/bin/claude"), "Claude Code"),
        ("bash", ("bash",), ""),
        ("cursor", ("/usr/share/cursor/cursor", "--type=renderer"), ""),  # a person's editor
        ("python3", ("python3", "/home/u/codex/train.py"), ""),
        ("vim", ("vim", "claude"), ""),
        ("node", ("node", "/srv/node_modules/express/index.js"), ""),
        ("claude-notes", ("claude-notes",), ""),
    ],
)  # fmt: skip
def test_names_of_processes(name, words, expected):
    found = agent_of_ancestors([process("bash", "bash"), process(name, *words)])

    assert found == (f"process 7, an ancestor of this one, is {expected}" if expected else "")


def test_without_a_terminal_all_ancestors_count():
    look = "from bylaw.store.system import ancestors; print([i.pid for i, _ in ancestors()])"
    done = subprocess.run(
        [sys.executable, "-c", look], start_new_session=True, capture_output=True, check=True
    )
    found = json.loads(done.stdout)

    assert found[:2] == [os.getpid(), os.getppid()]
    assert len(found) == len(set(found))


@pytest.fixture
def claude(tmp_path):
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\n"$@"\nexit\n')
    program.chmod(0o755)
    return str(program)


def test_an_agent_within_the_session_of_a_terminal(claude):
    shown = shown_on_terminal([*SHELL, claude, *ABOVE])

    assert shown.endswith(" is Claude Code\n")


def test_an_agent_that_leads_the_session_of_a_terminal(claude):
    assert shown_on_terminal([claude, *ABOVE]).endswith(" is Claude Code\n")


def test_whoever_opened_the_terminal_is_not_in_it(claude):
    assert shown_on_terminal([*SHELL, *ABOVE], opened_by=[claude]) == "\n"


def test_a_process_with_a_strange_name(tmp_path):
    program = tmp_path / "a) R 1 ("
    program.write_text("#!/bin/sh\nread line\n")
    program.chmod(0o755)
    with subprocess.Popen([program], stdin=subprocess.PIPE) as started:
        try:
            assert process_info(started.pid).parent == os.getpid()
        finally:
            started.communicate(b"\n")


def test_a_real_agent_above(tmp_path):
    agent = tmp_path / "opencode"
    agent.write_text('#!/bin/sh\n"$@"\nexit\n')
    agent.chmod(0o755)
    done = subprocess.run([agent, *ABOVE], capture_output=True, text=True, check=True)

    assert done.stdout.endswith(" is OpenCode\n")


def test_a_real_package_above(tmp_path):
    script = tmp_path / "node_modules" / "@github" / "copilot" / "index.js"
    script.parent.mkdir(parents=True)
    script.write_text("import subprocess, sys; subprocess.run(sys.argv[1:], check=True)")
    node = tmp_path / "node"
    node.symlink_to(sys.executable)
    done = subprocess.run(
        [node, script, *ABOVE], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip

    assert done.stdout.endswith(" is Copilot\n")
