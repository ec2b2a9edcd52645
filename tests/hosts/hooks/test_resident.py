"""The process that has everything imported: the same answers, sooner, and never a way around."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import sysconfig
import time
import venv
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from called_hooks import COMMAND, NO_SHELL, Repository

from bylaw.hosts.hooks.resident import _code_stamp
from bylaw.hosts.hooks.resident_client import SOCKET

COPIED = {
    "hint.toml": "toml-rules/large-result-hint.toml",
    "law.yaml": "law/runtime/rules/10-changes.yaml",
    "context.md": "context/review.md",
}
TESTS = """---
name: Tests
set: ["src/{path}.py", "tests/{path}_test.py"]
---
Write tests.
"""
FORMAT = """---
name: Format
trigger: src/*.py
action:
  command: touch -c {file}
---
"""


@pytest.fixture
def repository(tmp_path):
    """A repository whose hooks may leave a resident; it is ended at the end."""
    made = Repository(tmp_path / "root", tmp_path / "home", {"BYLAW_RESIDENT": "1"})
    made.rules(NO_SHELL)
    yield made
    for process in residents(made):
        with suppress(ProcessLookupError):  # it ends by itself, too
            os.kill(process, signal.SIGKILL)


def socket_of(repository):
    """Where its resident listens."""
    return repository.home / ".local/state/bylaw" / SOCKET


def residents(repository):
    """The processes that serve this home, children included."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes()
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        home = f"HOME={repository.home}".encode()
        if b"hooks.resident" in words and home in variables:
            found.append(int(folder.name))
    return sorted(found)


def await_resident(repository):
    """Call until one answers."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        repository.shell("ls")
        if socket_of(repository).exists():
            return residents(repository)[0]
        time.sleep(0.2)
    raise AssertionError("no resident came up")


def test_answers_are_the_same_with_and_without_it(repository):
    first = repository.shell("ls", "c1", "one")
    await_resident(repository)
    second = repository.shell("ls", "c1", "two")

    assert first == second
    assert second.own["permissionDecision"] == "deny"


JUDGES_ALL = """
import sys
from pathlib import Path
from bylaw.hosts.hooks import resident

resident._import_all()
before = set(sys.modules)
from bylaw.hosts.hooks.payload import handle_payload


class Reply:
    def give(self, output):
        print("deny" in output.stdout, "block" in output.stdout)

    def fail(self, why):
        raise SystemExit(why)

    def may_open(self):
        pass


for event, path in zip(sys.argv[1::2], sys.argv[2::2]):
    handle_payload("claude", event, Path(path).read_bytes(), Reply())
print(sorted(set(sys.modules) - before - {"bylaw.hosts.hooks.payload"}))
"""


def test_no_child_of_it_imports_anything(repository, tmp_path, monkeypatch):
    repository.write(
        "bylaw.toml",
        "".join(f'[[book]]\npath = "{name}"\n' for name in ("guard.chatmd", *COPIED)),
    )
    examples = Path(__file__).parents[3] / "examples"
    for name, example in COPIED.items():
        repository.write(name, (examples / example).read_text())
    repository.write(".deepwork/policies/tests.md", TESTS)
    repository.write(".deepwork/policies/format.md", FORMAT)
    repository.write(".deepwork/config.yml", "policy:\n  output_mode: individual\n")
    subprocess.run(["git", "init", "-q"], cwd=repository.root, check=True)
    repository.write("src/a.py", "a = 1\n")
    repository.trust(monkeypatch)
    call = {"tool_name": "Bash", "tool_input": {"command": "cp a b > c"}, "tool_use_id": "1"}
    events = {
        "UserPromptSubmit": {"prompt": "/review fast"},
        "PreToolUse": call,
        "PostToolUse": {**call, "tool_response": "long " * 5_000},
        "Stop": {"last_assistant_message": "Done."},
    }
    words = []
    for event, fields in events.items():
        (tmp_path / event).write_bytes(repository.payload(event, **fields))
        words += [event, str(tmp_path / event)]

    done = subprocess.run(
        [sys.executable, "-I", "-c", JUDGES_ALL, *words],
        cwd=repository.root,
        env=repository.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    *said, imported = done.stdout.splitlines()
    assert said == ["False False", "True False", "False False", "False True"]
    assert imported == "[]"


def test_a_home_may_be_deep(tmp_path):
    """An address of a socket has at most 107 bytes."""
    deep = Repository(tmp_path / "root", tmp_path / ("d" * 120), {"BYLAW_RESIDENT": "1"})
    deep.rules(NO_SHELL)

    process = await_resident(deep)
    os.kill(process, signal.SIGKILL)


def test_each_call_has_its_own_folder_and_environment(repository, tmp_path):
    await_resident(repository)
    other = Repository(tmp_path / "other", repository.home, {"BYLAW_RESIDENT": "1"})

    assert other.shell("ls").code == 0
    assert repository.shell("ls").code == 2
    assert (other.root / ".bylaw/state/journal.db").exists()


def test_rules_that_change_count_at_once(repository):
    await_resident(repository)
    assert repository.shell("ls").code == 2

    (repository.root / "guard.chatmd").write_text("<policy></policy>\n")
    assert repository.shell("ls").code == 0
    repository.rules(NO_SHELL)
    assert repository.shell("ls").code == 2


def test_many_at_once_are_all_judged(repository):
    repository.rules('<policy><tool name="shell"><quota per_session="5"/></tool></policy>')
    await_resident(repository)
    command = [sys.executable, "-I", "-m", "bylaw", "hook", "claude", "PreToolUse"]
    running = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=repository.root,
            env=repository.environment,
        )
        for _ in range(12)
    ]
    for number, process in enumerate(running):
        given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": f"p{number}"}
        process.stdin.write(repository.payload("PreToolUse", "many", **given))
        process.stdin.close()
    for process in running:
        process.stdout.read()
        process.stdout.close()
    codes = [process.wait(300) for process in running]

    assert sorted(codes) == [0] * 5 + [2] * 7


@pytest.mark.parametrize("length", [10, 2_000_000])
def test_a_resident_that_hangs_is_not_waited_for(repository, length):
    """It has time to take a call, not the time to judge it; and what it did not take it drops."""
    process = await_resident(repository)
    before = judged(repository)
    os.kill(process, signal.SIGSTOP)
    called = repository.shell("x" * length)
    os.kill(process, signal.SIGCONT)

    assert "quota" in called.own["permissionDecisionReason"]
    assert repository.shell("ls").code == 2  # the resident has seen the first one by now
    assert judged(repository) == before + 2


def judged(repository):
    """How many calls are on record."""
    with sqlite3.connect(repository.root / ".bylaw/state/journal.db") as journal:
        found = journal.execute("SELECT count(*) FROM records WHERE kind = 'tool.before'")
        return found.fetchone()[0]


def test_a_second_installation_has_a_resident_of_its_own(repository, tmp_path):
    """One that waits for the other's would start a process in vain with every call."""
    first = await_resident(repository)
    other = tmp_path / "other/bin/python"
    venv.create(other.parent.parent)
    (packages,) = (tmp_path / "other/lib").glob("python*/site-packages")
    ours = sysconfig.get_path("purelib")
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    code = "from bylaw.hosts.hooks.resident_client import SOCKET; print(SOCKET)"
    done = subprocess.run([other, "-I", "-c", code], capture_output=True, check=True)
    theirs = socket_of(repository).with_name(done.stdout.decode().strip())
    assert theirs != socket_of(repository)
    call = [other, *COMMAND[1:], "claude", "PreToolUse"]
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
    until = time.monotonic() + 300
    while not theirs.exists() and time.monotonic() < until:
        called = repository.raw(data=repository.payload("PreToolUse", **given), command=call)
        assert called.code == 2
        time.sleep(0.2)

    assert theirs.exists()
    assert socket_of(repository).exists()
    assert first in residents(repository)


def test_code_that_an_older_file_replaces_is_noticed(tmp_path, monkeypatch):
    """Going back to an earlier version is a change like any other."""
    file = tmp_path / "bylaw_probe.py"
    file.write_text("")
    os.utime(file, (1000, 1000))
    monkeypatch.syspath_prepend(tmp_path)
    import_module("bylaw_probe")
    before = _code_stamp()
    assert _code_stamp() == before

    os.utime(file, (1, 1))
    assert _code_stamp() != before


def test_a_resident_that_is_killed_is_replaced(repository):
    first = await_resident(repository)
    os.kill(first, signal.SIGKILL)

    assert repository.shell("ls").code == 2
    assert await_resident(repository) != first
    assert repository.shell("ls").code == 2


def test_somebody_elses_socket_is_not_believed(repository, tmp_path):
    """A process that answers in its place would let everything through."""
    folder = socket_of(repository).parent
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    answer = b"t" + b"a" + (5).to_bytes(4, "big") + bytes(5)
    script = tmp_path / "impostor.py"
    script.write_text(
        f"""
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind({SOCKET!r})
listener.listen(8)
print("ready", flush=True)
while True:
    line, _ = listener.accept()
    line.sendall({answer!r})
    line.close()
"""
    )
    command = [sys.executable, str(script)]
    impostor = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder)
    try:
        assert impostor.stdout.readline() == b"ready\n"
        assert repository.shell("ls").own["permissionDecision"] == "deny"
    finally:
        impostor.kill()
        impostor.wait()
        impostor.stdout.close()


def test_nobody_waits_for_a_pipe_that_the_resident_holds(repository):
    """Clients wait until all pipes of a hook are closed."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
    subprocess.run(
        [sys.executable, "-I", "-m", "bylaw", "hook", "claude", "PreToolUse"],
        input=repository.payload("PreToolUse", **given),
        capture_output=True,
        cwd=repository.root,
        env=repository.environment,
        pass_fds=(writing,),
        check=False,
    )
    os.close(writing)
    await_resident(repository)

    assert os.read(reading, 1) == b""  # it would hang if anybody had the other end
    os.close(reading)


def test_it_ends_when_its_home_is_gone(repository):
    process = await_resident(repository)
    socket_of(repository).unlink()
    until = time.monotonic() + 300
    while process in residents(repository) and time.monotonic() < until:
        time.sleep(0.2)

    assert process not in residents(repository)


def test_a_request_that_is_none_hurts_nobody(repository, monkeypatch):
    await_resident(repository)
    monkeypatch.chdir(socket_of(repository).parent)
    for data in (b"", b"x", b"5\nab", b"9999999999\n", b"-1\n", b"3\na\0b"):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(SOCKET)
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            assert line.recv(100) == b""

    assert json.loads(repository.shell("ls").stdout)
