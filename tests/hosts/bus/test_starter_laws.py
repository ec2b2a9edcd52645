"""The laws that `bylaw init --law` lays out, under a real orchestrator that watches."""

import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from bylaw.hosts.starter import LAW_STARTER, starter_files, write_starter_files

BYLAW = [sys.executable, "-m", "bylaw"]
SHIP = "20240116_120002_cursor_ship"
DOWN = "20240116_120003_claude_down"


@pytest.fixture
def root(tmp_path):
    write_starter_files(str(tmp_path), starter_files(str(tmp_path), LAW_STARTER))
    return tmp_path


@contextmanager
def running(root):
    """A bus that runs; gives a function that reads its lines until one fits."""
    words = ["bus", "run", "--trust", "--root", str(root)]
    process = subprocess.Popen([*BYLAW, *words], stdout=subprocess.PIPE, text=True)

    def until(**wanted):
        for line in process.stdout:
            told = json.loads(line)
            if wanted.items() <= told.items():
                return told
        pytest.fail("it has ended")

    try:
        yield until
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
    finally:
        process.kill()
        process.communicate()


def send(root, msg_id, **more):
    message = {
        "msg_id": msg_id, "msg_type": "command", "command_type": "exec", "phase": 2,
        "title": "Now", "target_paths": ["demo/greeting.py"], "origin_ref": "here",
        "created_by": "cursor", "notes": "",
    }  # fmt: skip
    folder = root / "runtime" / "bus" / "input"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{msg_id}.json").write_text(json.dumps(message | more))


def evidence(root, told):
    return [json.loads((root / path).read_text()) for path in told["evidence"]]


def requests_in(root):
    folder = root / "runtime" / "bus" / "input"
    messages = [json.loads(path.read_text()) for path in folder.glob("*_bylaw_request-*.json")]
    return [one["origin_ref"] for one in messages]


def test_a_change_is_linted_and_tested(root):
    send(root, "20240116_120000_cursor_ready", category="A")
    with running(root) as until:
        until(msg_id="20240116_120000_cursor_ready")
        file = root / "demo" / "greeting.py"
        file.write_text(file.read_text() + "\n# more\n")
        clean = until(path="demo/greeting.py")
        file.write_text("def greet(name): return 1 \n")
        refused = until(path="demo/greeting.py")

    assert clean["status"] == "done"
    rules = [one["rule"] for one in evidence(root, clean)]
    assert rules == ["lint-on-change", "tests-on-change"]
    assert refused["status"] == "failed"
    [told] = evidence(root, refused)
    assert "blanks at the end of the line" in told["commands"][0]["stderr"]


def test_a_deploy_is_asked_for_approved_and_run(root):
    send(root, SHIP, category="B")
    with running(root) as until:
        held = until(msg_id=SHIP)
        asked = requests_in(root)
        tokens = root / "runtime" / "approvals"
        tokens.mkdir()
        (tokens / f"{SHIP}.human").write_text("Approved\n")
        done = until(msg_id=SHIP)

    assert (held["status"], asked) == ("held", [SHIP])
    assert (done["status"], done["rule"]) == ("done", "deploy")
    assert evidence(root, done)[0]["commands"][0]["stdout"] == "deployed\n"


def test_an_emergency_runs_and_is_asked_for(root):
    send(root, DOWN, category="D", target_paths=[])
    with running(root) as until:
        done = until(msg_id=DOWN)

    assert (done["status"], done["rule"]) == ("done", "roll-back")
    assert evidence(root, done)[0]["commands"][0]["stdout"] == "rolled back\n"
    assert requests_in(root) == [DOWN]


def test_no_lock_is_left(root):
    send(root, DOWN, category="D", target_paths=[])
    with running(root) as until:
        until(msg_id=DOWN)

    assert list((root / "runtime" / "locks").glob("*.lock")) == []
