"""A message that is held, a person who decides on a terminal, and the real bus between them."""

import json
import subprocess

import pytest
from on_terminal import BYLAW, on_terminal

ID = "20240116_120000_cursor_fix-lint"
LAW = """
dsl_version: "0.1"
rules:
  - rule_id: R-EXEC
    priority: 10
    trigger: {kind: bus_input, match: {command_types: [exec]}}
    guards: {category_in: [B], approval: {mode: single, authorities: [human]}}
    actions:
      - {type: write_bus, channel: output, template: "done {{msg_id}}"}
  - rule_id: R-EMERGENCY
    priority: 20
    trigger: {kind: bus_input, match: {command_types: [exec]}}
    guards: {category_in: [D], approval: {mode: retroactive, authorities: [human]}}
    actions:
      - {type: request_approval, channel: input, to: human, payload_template: "ran {{msg_id}}"}
      - {type: write_bus, channel: output, template: "done {{msg_id}}"}
"""


@pytest.fixture
def root(tmp_path):
    for folder in ("runtime/rules", "runtime/bus/input"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bylaw.toml").touch()
    (tmp_path / "runtime" / "rules" / "law.yaml").write_text(LAW)
    (tmp_path / "SHARED_CONTEXT.md").write_text("Active Phase: 2\n")
    return tmp_path


def put(root, **changed):
    message = {
        "msg_id": ID, "msg_type": "command", "command_type": "exec", "phase": 2, "category": "B",
        "title": "Fix lint", "target_paths": ["src/a.ts"], "run": ["npm test"],
        "origin_ref": "src/a.ts", "created_by": "cursor", "notes": "",
    }  # fmt: skip
    (root / "runtime" / "bus" / "input" / "m.json").write_text(json.dumps(message | changed))


def waiting(root):
    return sorted(one.name for one in (root / "runtime" / "bus" / "input").iterdir())


def run_once(root):
    done = subprocess.run(
        [*BYLAW, "bus", "run", "--once"], cwd=root, capture_output=True, timeout=60, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line)["status"] for line in done.stdout.splitlines()]


def test_what_is_held_goes_on_when_it_is_approved(root):
    put(root)
    assert run_once(root) == ["held"]
    assert waiting(root) == ["m.json"]
    shown, _ = on_terminal(root, ["approve", ID], b"y\n")

    assert "\nstate         held: " in shown
    assert run_once(root) == ["done"]
    assert waiting(root) == []


def test_an_approval_does_not_pass_to_what_took_its_place(root):
    put(root)
    assert run_once(root) == ["held"]
    on_terminal(root, ["approve", ID], b"y\n")
    put(root, run=["npm run evil"])

    assert run_once(root) == ["held"]
    on_terminal(root, ["approve", ID], b"y\n")
    assert run_once(root) == ["done"]


def test_a_line_does_not_pass_to_a_swap_while_the_bus_is_down(root):
    put(root)
    assert run_once(root) == ["held"]
    (root / "SHARED_CONTEXT.md").write_text(f"Active Phase: 2\nDECISION: APPROVED {ID} BY human\n")
    put(root, run=["npm run evil"])
    assert run_once(root) == ["held"]
    put(root)

    assert run_once(root) == ["done"]


def test_an_emergency_is_approved_by_its_request(root):
    put(root, category="D")
    assert run_once(root) == ["done"]
    run_once(root)  # the request itself is seen
    (request,) = waiting(root)
    shown, code = on_terminal(root, ["approve", request.removesuffix(".json")], b"y\n")

    assert code == 0
    assert f"Approve {ID} as human?" in shown
    assert 'run           "npm test"' in shown
    assert "\nstate         done\n" in shown
    run_once(root)
    assert waiting(root) == []


def test_a_bus_that_runs_goes_on_at_once(root):
    put(root)
    words = [*BYLAW, "bus", "run"]
    with subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, text=True) as bus:
        try:
            assert json.loads(bus.stdout.readline())["status"] == "held"
            on_terminal(root, ["approve", ID, "--yes"], b"")
            assert json.loads(bus.stdout.readline())["status"] == "done"
        finally:
            bus.terminate()
