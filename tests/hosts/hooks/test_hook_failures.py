"""What a failure of Bylaw itself means: gates are closed in the client's own words, see `front`."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from called_hooks import COMMAND, NO_SHELL, Repository

from bylaw.hosts.clients.fail_closed import DENIALS

IMPATIENT = """
import sys
import bylaw.hosts.clients.fail_closed as closing
closing.PATIENCE_S = 1.0
closing.STOP_PATIENCE_S = 3.0
from bylaw.hosts.hooks.entrypoint import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def repository(tmp_path):
    """One hook has been called, so there is a journal."""
    made = Repository(tmp_path / "root", tmp_path / "home")
    assert made.shell("ls").code == 0
    return made


def locked_journal(repository):
    """Nobody can write to the journal as long as this is open."""
    connection = sqlite3.connect(repository.root / ".bylaw/state/journal.db", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return closing(connection)


def children(process):
    """The processes that a process has started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(child) for child in listed.split()]


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-"])
def test_a_refusal_stands_where_nobody_listens(repository, closed):
    """A client takes the exit code or the JSON; neither may be lost with the other."""
    repository.rules(NO_SHELL)
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
    script = f'exec "$@" {closed}'
    called = repository.raw(
        *("-c", script, "sh", *COMMAND, "claude", "PreToolUse"),
        data=repository.payload("PreToolUse", **given),
        command=["sh"],
    )

    assert called.code == 2
    if closed == "2>&-":
        assert called.own["permissionDecision"] == "deny"


def test_a_child_that_is_killed(repository):
    with locked_journal(repository):
        process = subprocess.Popen(
            [*COMMAND, "claude", "PreToolUse"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=repository.root,
            env=repository.environment,
        )
        given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
        process.stdin.write(repository.payload("PreToolUse", **given))
        process.stdin.close()
        until = time.monotonic() + 300
        while not children(process.pid) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.5)
        with suppress(ProcessLookupError):
            os.kill(children(process.pid)[0], signal.SIGKILL)
        stdout, stderr = process.stdout.read(), process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        assert process.wait(300) == 2
    assert b'"permissionDecision":"deny"' in stdout
    assert b"killed by signal 9" in stdout
    assert b"killed by signal 9" in stderr


def test_a_payload_that_does_not_end(repository):
    """Whoever keeps the pipe open gets an answer all the same."""
    reading, writing = os.pipe()
    os.write(writing, b"{")
    try:
        done = subprocess.run(
            [sys.executable, "-c", IMPATIENT, "claude", "PreToolUse"],
            stdin=reading,
            capture_output=True,
            cwd=repository.root,
            env=repository.environment,
            timeout=300,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)

    assert done.returncode == 2
    assert b"payload is incomplete" in done.stdout


def test_a_child_that_takes_too_long(repository):
    with locked_journal(repository):
        given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
        called = repository.raw(
            *("claude", "PreToolUse"),
            data=repository.payload("PreToolUse", **given),
            command=[sys.executable, "-I", "-c", IMPATIENT],
        )

    assert called.code == 2
    assert "the decision took longer than 1 s" in called.own["permissionDecisionReason"]


@pytest.mark.parametrize("words", [("claude", "Stop"), ("claude",)])
def test_a_stop_may_take_longer_also_where_the_payload_names_it(repository, words):
    with locked_journal(repository):
        called = repository.raw(
            *words,
            data=repository.payload("Stop", stop_hook_active=False),
            command=[sys.executable, "-I", "-c", IMPATIENT],
        )

    assert called.code == 2
    assert "the decision took longer than 3 s" in called.stderr


def test_a_stop_that_goes_round_is_let_go_where_nothing_can_be_counted(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")
    state = repository.home / ".local/state/bylaw"
    state.mkdir(parents=True, mode=0o700)
    (state / "failed-stops").touch()  # it should be a folder

    assert repository.stop().code == 2
    assert repository.stop(again=True).code == 0


def test_a_journal_that_cannot_be_written(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    (repository.root / ".bylaw/state/journal.db").mkdir(parents=True)

    before = repository.shell("ls")
    after = repository.call(
        "PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="c"
    )

    assert before.code == 2
    assert "journal.db" in before.own["permissionDecisionReason"]
    assert after.code == 0
    assert "Traceback" not in before.stderr + after.stderr


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "Stop", "SubagentStop"])
def test_settings_that_do_not_load_close_every_gate_and_name_the_file(tmp_path, event):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")

    called = repository.call(event, tool_name="Bash", tool_input={"command": "ls"}, prompt="x")

    assert called.code == 2
    assert "bylaw.toml:2" in called.stderr
    assert "max_bloks" in called.stderr


def test_a_core_rule_that_does_not_load_closes_gates_and_is_named(tmp_path):
    """TR-A12"""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("rules/core.toml", 'core = true\n[rule]\nid = "x"\nid = "y"\n')

    called = repository.shell("ls")

    assert called.code == 2
    assert "rules/core.toml" in called.own["permissionDecisionReason"]


def test_a_chat_book_that_does_not_load_denies_by_its_own_rule(tmp_path):
    """Its reason is that of a rule, so the failure of a file is no failure of Bylaw."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.rules("<rules><on id='x'></rules>\n")

    called = repository.shell("ls")

    assert called.code == 2
    assert "guard.chatmd" in called.own["permissionDecisionReason"]
    assert "bylaw failed" not in called.stderr


def test_a_law_file_that_does_not_load_is_told_once(tmp_path):
    """What it could have refused are messages of the bus, of which no client tells."""
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("runtime/rules/broken.yaml", "rule_id: R-1\npriority: ten\n")

    first, second = repository.shell("ls"), repository.shell("ls", "c2")

    assert first.code == 0
    assert "`runtime/rules/broken.yaml` does not load: line" in first.answer["systemMessage"]
    assert (second.stdout, second.code) == (b"", 0)


def test_open_on_failure_counts_only_when_it_is_trusted(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", '[hooks]\non_failure = "open"\n')
    (repository.root / ".bylaw/state/journal.db").mkdir(parents=True)

    untrusted = repository.shell("ls")

    assert untrusted.code == 2


def test_a_person_can_open_gates_for_a_while(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.write("bylaw.toml", "[stop]\nmax_bloks = 1\n")
    folder = repository.home / ".local/state/bylaw"
    folder.mkdir(parents=True)

    def released(until, mode=0o600):
        (folder / "release").write_text(f"{until}\n")
        (folder / "release").chmod(mode)
        return repository.shell("ls")

    assert released(int(time.time()) + 60).code == 0
    assert "nothing was checked" in released(int(time.time()) + 60).stderr
    assert released(int(time.time()) - 1).code == 2  # it is over
    assert released(int(time.time()) + 60, 0o666).code == 2  # anybody could have written it
    assert released(10**12).code == 2  # nobody may open gates for ever
    assert released("soon").code == 2


def test_a_release_does_not_open_what_rules_forbid(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    repository.rules(NO_SHELL)
    folder = repository.home / ".local/state/bylaw"
    folder.mkdir(parents=True)
    (folder / "release").write_text(f"{int(time.time()) + 60}\n")
    (folder / "release").chmod(0o600)

    assert repository.shell("ls").own["permissionDecision"] == "deny"


@pytest.mark.parametrize("host", sorted(DENIALS))
def test_every_gate_of_every_client_is_closed_in_its_own_words(tmp_path, host):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    for event in DENIALS[host]:
        called = repository.raw(host, event, data=b"nope")

        assert "bylaw failed" in called.stderr
        assert "bylaw failed" in str(called.answer)
        assert called.code == (0 if host == "cursor" else 2)


GONE = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'


@pytest.mark.parametrize("resident", ["0", "1"])
@pytest.mark.parametrize("host", sorted(DENIALS))
def test_a_folder_that_is_gone_opens_no_gate(tmp_path, host, resident):
    """Where nobody can tell where we are, what cannot be judged stays closed all the same."""
    repository = Repository(tmp_path / "root", tmp_path / "home", {"BYLAW_RESIDENT": resident})
    event = next(iter(DENIALS[host]))

    called = repository.raw(
        *("-c", GONE, "sh", *COMMAND, host, event), data=b"nope", command=["sh"]
    )

    assert "bylaw failed, so nothing is allowed" in str(called.answer)
    assert "Traceback" not in called.stderr
    assert called.code == (0 if host == "cursor" else 2)


def test_a_folder_that_is_gone_keeps_no_rule_from_being_asked(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home", {"BYLAW_RESIDENT": "1"})
    repository.rules(NO_SHELL)
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}

    called = repository.raw(
        *("-c", GONE, "sh", *COMMAND, "claude", "PreToolUse"),
        data=repository.payload("PreToolUse", **given),
        command=["sh"],
    )

    assert "quota" in called.own["permissionDecisionReason"]


def test_what_fails_while_a_failure_is_told_opens_nothing(repository):
    """Whether a person has opened gates cannot be found out: then nobody has."""
    script = """
import sys
import bylaw.hosts.hooks.failure_state as open_gates
def broken():
    raise RuntimeError("broken, too")
open_gates.release_end = broken
from bylaw.hosts.hooks.entrypoint import main
sys.exit(main(sys.argv[1:]))
"""
    command = [sys.executable, "-I", "-c", script]

    called = repository.raw("claude", "PreToolUse", data=b"nope", command=command)

    assert called.code == 2
    assert "payload is not JSON" in called.own["permissionDecisionReason"]


def test_each_cause_of_a_stop_that_fails_is_told(tmp_path):
    """Three of one cause let the next one go; another cause has not been told yet."""
    repository = Repository(tmp_path / "root", tmp_path / "home")

    def stops(data, number):
        return [repository.raw("claude", "Stop", data=data).code for _ in range(number)]

    assert stops(b"nope", 2) == [2, 2]
    assert stops(b"[]", 2) == [2, 2]
    assert stops(b"\xff", 2) == [2, 2]
    assert stops(b"nope", 2) == [2, 0]
    assert stops(b"[]", 2) == [2, 0]


def test_stops_that_fail_for_ever_other_causes_end_too(tmp_path):
    repository = Repository(tmp_path / "root", tmp_path / "home")
    payloads = [repository.payload("Stop", cwd=f"/nowhere-{number}") for number in range(52)]

    assert [repository.raw("claude", "Stop", data=one).code for one in payloads] == [2] * 50 + [
        0,
        0,
    ]
