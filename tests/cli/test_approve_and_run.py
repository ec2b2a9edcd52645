"""A message that is held, a person who decides on a terminal, and the real bus between them."""

import json
import subprocess

import pytest
from on_terminal import BYLAW, call, on_terminal

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
        [*BYLAW, "bus", "run", "--once"], cwd=root, capture_output=True, timeout=300, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line)["status"] for line in done.stdout.splitlines()]


def test_what_is_held_goes_on_when_it_is_approved(root):
    put(root)
    assert run_once(root) == ["held"]
    assert waiting(root) == ["m.json"]
    shown, _ = on_terminal(root, ["approve", ID], b"y\n")

    assert "\nstate         held: `R-EXEC` needs approval by `human` (" in shown
    assert "\nwould run     nothing\n" in shown
    assert run_once(root) == ["done"]
    assert waiting(root) == []


RUNS = """
dsl_version: "0.1"
rules:
  - rule_id: R-NOTES
    priority: 1
    trigger: {kind: bus_input, match: {command_types: [exec]}}
    guards: {category_in: [B], approval: {mode: dual, authorities: [human, antigravity]}}
    actions:
      - {type: run_cmd, cmd: "python notes.py", cwd: ".", timeout_sec: 60}
  - rule_id: R-JOB
    priority: 2
    trigger: {kind: bus_input, match: {command_types: [exec]}}
    guards: {category_in: [B], approval: {mode: single, authorities: [human]}}
    actions:
      - {type: run_cmd, cmd: "python job.py", cwd: ".", timeout_sec: 60}
      - {type: run_cmd, cmd: "{{run}}", cwd: ".", timeout_sec: 60}
"""


def law(root, text, roots='["."]'):
    (root / "runtime" / "rules" / "law.yaml").write_text(text)
    (root / "bylaw.toml").write_text(f"[command]\nroots = {roots}\n")


def looked_at(root, *words):
    done = call(root, "approve", ID, "--format", "json", *words)
    assert done.stderr == ""
    return json.loads(done.stdout)


class TestWhatWouldRun:
    """Commands stand in rules: who approves must see them."""

    @pytest.fixture(autouse=True)
    def _remembered(self, tmp_path_factory, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))

    def test_commands_of_rules_and_of_the_message(self, root):
        law(root, RUNS)
        put(root)
        assert run_once(root) == ["held"]
        shown, _ = on_terminal(root, ["approve", ID], b"n\n")

        assert (
            'would run     ["python", "job.py"] in "." by R-JOB\n'
            '              ["npm", "test"] in "." by R-JOB\n'
            '              ["python", "notes.py"] in "." by R-NOTES, after the others also \n'
            "              approve\n"
            "but           no command starts: no person has trusted it yet; see `bylaw trust`\n"
        ) in shown
        files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        assert looked_at(root)["would_run"] == [
            {"rule": "R-JOB", "argv": ["python", "job.py"], "cwd": ".", "at_once": True},
            {"rule": "R-JOB", "argv": ["npm", "test"], "cwd": ".", "at_once": True},
            {"rule": "R-NOTES", "argv": ["python", "notes.py"], "cwd": ".", "at_once": False},
        ]
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == files

    def test_it_is_what_runs(self, root):
        """The other has approved already, so it is the first rule that fires."""
        law(root, RUNS)
        (root / "notes.py").write_text("open('ran', 'w').close()")
        assert call(root, "trust", "--yes").returncode == 0
        put(root)
        tokens = root / "runtime" / "approvals"
        tokens.mkdir()
        (tokens / f"{ID}.antigravity").write_text("Approved\n")
        assert run_once(root) == ["held"]
        shown, _ = on_terminal(root, ["approve", ID], b"y\n")

        assert 'would run     ["python", "notes.py"] in "." by R-NOTES\nstate' in shown
        assert not (root / "ran").exists()
        assert run_once(root) == ["done"]
        assert (root / "ran").exists()

    def test_another_authority(self, root):
        law(root, RUNS)
        put(root)
        told = looked_at(root, "--by", "antigravity")["would_run"]

        assert told == [
            {"rule": "R-NOTES", "argv": ["python", "notes.py"], "cwd": ".", "at_once": False}
        ]

    def test_an_approval_of_another_text_is_none(self, root):
        law(root, RUNS)
        put(root)
        tokens = root / "runtime" / "approvals"
        tokens.mkdir()
        (tokens / f"{ID}.antigravity").write_text(f"Approved\ndigest: {'0' * 64}\n")

        assert [one["rule"] for one in looked_at(root)["would_run"] if one["at_once"]] == [
            "R-JOB", "R-JOB",
        ]  # fmt: skip

    def test_where_nothing_may_run(self, root):
        law(root, RUNS, roots="[]")
        put(root)
        told = looked_at(root)

        assert told["would_run"] == []
        assert any(
            one.startswith("`R-JOB` fails: no folder is allowed") for one in told["would_not"]
        )

    def test_no_rule_matches(self, root):
        put(root, category="C")
        shown, _ = on_terminal(root, ["approve", ID], b"n\n")

        assert "would run     nothing\nbecause       no matching rule\n" in shown

    def test_what_is_through_runs_nothing_more(self, root):
        law(root, LAW)
        put(root, category="D")
        assert run_once(root) == ["done"]
        (root / "runtime" / "bus" / "input" / "m.json").unlink(missing_ok=True)
        run_once(root)
        (request,) = waiting(root)
        shown, _ = on_terminal(root, ["approve", request.removesuffix(".json")], b"n\n")

        assert "would run     nothing\nstate         done\n" in shown


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
