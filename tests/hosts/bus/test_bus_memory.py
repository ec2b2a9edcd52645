"""What the bus remembers when its state is taken away, and what trust for one run covers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BYLAW = (sys.executable, "-m", "bylaw")
ID = "20240116_120000_cursor_deploy"
RULES = """\
dsl_version: "0.1"
rules:
  - rule_id: R-B
    priority: 1
    trigger: {kind: bus_input, match: {command_types: [exec]}}
    guards: {category_in: [B], approval: {mode: single, authorities: [human]}}
    actions:
      - {type: write_processing_lock, lock_key: deploy}
      - {type: run_cmd, cmd: "{{run}}", cwd: src, timeout_sec: 60}
      - {type: release_lock, lock_key: deploy}
"""


@pytest.fixture
def root(tmp_path):
    for folder in ("src", "runtime/rules", "runtime/approvals", "runtime/bus/input"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bylaw.toml").write_text('[command]\nroots = ["src"]\n')
    (tmp_path / "SHARED_CONTEXT.md").write_text("Active Phase: 2\n")
    (tmp_path / "runtime/rules/laws.yaml").write_text(RULES)
    return tmp_path


def send(root, said, name=ID):
    message = {
        "msg_id": ID, "msg_type": "command", "command_type": "exec", "phase": 2, "category": "B",
        "title": "t", "target_paths": [], "run": [f"python -c 'print({said})'"],
        "origin_ref": "o", "created_by": "cursor", "notes": "",
    }  # fmt: skip
    (root / f"runtime/bus/input/{name}.json").write_text(json.dumps(message))


def run(root):
    words = (*BYLAW, "bus", "run", "--once", "--trust", "--root", str(root))
    environment = os.environ | {"XDG_STATE_HOME": str(root / "home")}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment)
    return [json.loads(line)["status"] for line in done.stdout.splitlines()], done.stderr


def ledger_of(root):
    return list(Path(root, ".bylaw/state").glob("bus.db*"))


def test_a_ledger_that_is_gone_is_made_from_the_journal(root):
    """LD-A07, LD-A13: what is done is not done again, and no approval passes to another text."""
    (root / f"runtime/approvals/{ID}.human").write_text("Approved\n")
    send(root, 5)
    assert run(root)[0] == ["done"]
    for file in ledger_of(root):
        file.unlink()
    send(root, 666)
    statuses, told = run(root)
    assert statuses == ["refused"]
    assert "ledger lost; restored 1 message from the journal" in told
    (evidence,) = (root / "runtime/bus/error").iterdir()
    assert "duplicate msg_id" in json.loads(evidence.read_text())["text"]


def test_a_held_message_is_still_bound_to_what_was_seen(root):
    send(root, 5)
    assert run(root)[0] == ["held"]
    for file in ledger_of(root):
        file.unlink()
    send(root, 666)
    (root / f"runtime/approvals/{ID}.human").write_text("Approved\n")
    assert run(root)[0] == ["held"]
    assert list((root / "runtime/bus/output").iterdir()) == []


def test_trust_for_one_run_is_in_the_rules_as_they_were(root):
    """Rules that are edited while it runs are not trusted by it."""
    from bylaw.hosts.bus.active_rules import ActiveRules  # noqa: PLC0415 - the others are processes

    in_force = ActiveRules(str(root), trusted_once=True)
    assert in_force.trust().given
    edited = RULES.replace('"{{run}}"', '"python evil.py"').replace("[B]", "[A]")
    (root / "runtime/rules/laws.yaml").write_text(edited)
    in_force.reload()
    assert not in_force.trust().given
    (root / "runtime/rules/laws.yaml").write_text(RULES)
    in_force.reload()
    assert in_force.trust().given
