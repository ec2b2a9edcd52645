"""`bylaw policies run`: what an agent is told when it stops, and what was done for it."""

import json
import os
import subprocess
import sys

import pytest

from own_session import Terminal

BYLAW = (sys.executable, "-m", "bylaw", "policies", "run")
README = "---\nname: README Accuracy\ntrigger: src/**/*.py\nsafety: README.md\n---\nVerify it.\n"
PAIR = "---\nset:\n  - src/{path}.py\n  - tests/{path}_test.py\n---\nChange both.\n"
STRIP = "import sys; p = sys.argv[1]; t = open(p).read().strip(); open(p, 'w').write(t + chr(10))"
FORMAT = f'---\ntrigger: "**/*.py"\naction:\n  command: python -c "{STRIP}" {{file}}\n---\n'


@pytest.fixture
def root(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "README.md").write_text("x\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
    (tmp_path / ".deepwork" / "policies").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    return tmp_path


def git(root, *words):
    subprocess.run(("git", *words), cwd=root, check=True, capture_output=True)


def policy(root, name, text):
    (root / ".deepwork" / "policies" / f"{name}.md").write_text(text)


def run(root, *options, said=None, cwd="."):
    words = (*BYLAW, *options, *(("--assistant-text", "-") if said else ()))
    environment = os.environ | {"XDG_STATE_HOME": str(root.parent / "state")}
    return subprocess.run(
        words, cwd=root / cwd, input=said or "", check=False, capture_output=True, text=True,
        env=environment,
    )  # fmt: skip


def told(done):
    return json.loads(done.stdout)


def test_nothing_changed(root):
    policy(root, "readme-accuracy", README)
    done = run(root)
    assert (done.returncode, done.stdout) == (0, "no policy needs attention\n")
    assert "no policies" not in done.stderr


def test_what_a_removed_policy_left_is_skipped_and_can_be_decided_again(root):
    """DW-076: by a rule that is stored like every other"""
    policy(root, "readme-accuracy", README)
    (root / "src/a.py").write_text("a")
    assert run(root).returncode == 1
    (root / ".deepwork/policies/readme-accuracy.md").unlink()
    [entry] = told(run(root, "--format", "json"))["entries"]
    again = (*BYLAW[:3], "verify", "--decisions")
    verified = subprocess.run(again, cwd=root, check=False, capture_output=True, text=True)

    assert (entry["status"], entry["action_result"]["output"]) == (
        "skipped",
        "the policy was removed",
    )
    assert verified.returncode == 0, verified.stdout


def test_so_is_a_failure_that_it_left(root):
    policy(root, "fails", "---\ntrigger: 'src/*.py'\naction: {command: 'false {file}'}\n---\n")
    (root / "src/a.py").write_text("a")
    [entry] = told(run(root, "--trust", "--format", "json"))["entries"]
    assert entry["status"] == "failed"
    (root / ".deepwork/policies/fails.md").unlink()
    [entry] = told(run(root, "--format", "json"))["entries"]

    assert (entry["status"], entry["action_result"]["output"]) == (
        "skipped",
        "the policy was removed",
    )
    assert told(run(root, "--format", "json"))["entries"] == []


def test_there_are_no_policies(root):
    done = run(root)
    assert (done.returncode, done.stdout) == (0, "no policy needs attention\n")
    assert "no policies found; create one with `bylaw policies new NAME`" in done.stderr


def test_policies_are_switched_off(root):
    policy(root, "readme-accuracy", README)
    (root / ".deepwork/config.yml").write_text("policy: {enabled: false}\n")
    done = run(root)
    assert (done.returncode, done.stdout) == (0, "no policy needs attention\n")
    assert "policies are disabled: `.deepwork/config.yml` sets" in done.stderr
    assert "no policies found" not in done.stderr


def test_the_standard_flow(root):
    """DW-081, DW-084, DW-143: told until it is promised, or done."""
    policy(root, "readme-accuracy", README)
    (root / "src/main.py").write_text("x = 1\n")
    first = run(root, "--format", "json")
    assert first.returncode == 1
    assert told(first)["output"] == (
        "The following policies require attention:\n\n## README Accuracy\nVerify it.\n"
    )
    assert [one["status"] for one in told(first)["entries"]] == ["queued"]
    assert run(root).returncode == 1
    last = run(root, "--format", "json", said="fine <promise>README accuracy</promise>")
    assert last.returncode == 0
    assert [one["status"] for one in told(last)["entries"]] == ["passed"]
    (root / "src/main.py").write_text("x = 2\n")
    assert run(root).returncode == 1
    (root / "README.md").write_text("y\n")
    assert [one["status"] for one in told(run(root, "--format", "json"))["entries"]] == ["skipped"]


def test_a_command_runs_only_when_it_is_trusted(root):
    policy(root, "format", FORMAT)
    (root / "src/main.py").write_text("x = 1   \n")
    untrusted = run(root)
    assert untrusted.returncode == 1
    assert "the command of `format` was not run: no person has trusted it" in untrusted.stderr
    assert (root / "src/main.py").read_text() == "x = 1   \n"
    trusted = run(root, "--trust", "--format", "json")
    assert trusted.returncode == 0
    (entry,) = told(trusted)["entries"]
    assert (entry["status"], entry["action_result"]["runs"][0]["times"]) == ("passed", 2)
    assert (root / "src/main.py").read_text() == "x = 1\n"


def test_a_failing_command_says_how_to_skip_it(root):
    """DW-097, DW-A46"""
    fails = (
        '---\ntrigger: "**/*.py"\naction:\n  command: python -c "raise SystemExit(3)" {file}\n---\n'
    )
    policy(root, "strict", fails)
    (root / "src/main.py").write_text("x = 1\n")
    done = run(root, "--trust", "--format", "json")
    assert done.returncode == 1
    assert "exit code 3" in told(done)["output"]
    assert "<promise>strict</promise>" in told(done)["output"]
    assert run(root, "--trust").returncode == 1
    assert run(root, "--trust", said="<promise>strict</promise>").returncode == 0


def test_individual_messages_and_a_run_from_a_folder_below(root):
    """DW-094, DW-106"""
    policy(root, "readme-accuracy", README)
    policy(root, "pair", PAIR)
    (root / ".deepwork/config.yml").write_text("policy:\n  output_mode: individual\n")
    (root / "src/main.py").write_text("x = 1\n")
    done = told(run(root, "--format", "json", cwd="src"))
    assert len(done["messages"]) == 2
    assert "Change both." in done["messages"][0]


def test_a_broken_policy_is_told_and_spoils_no_other(root):
    policy(root, "readme-accuracy", README)
    policy(root, "broken", "---\ntriger: x\n---\nx\n")
    (root / "src/main.py").write_text("x = 1\n")
    done = told(run(root, "--format", "json"))
    assert [one["file"] for one in done["diagnostics"]] == [".deepwork/policies/broken.md"] * len(
        done["diagnostics"]
    )
    assert "## README Accuracy" in done["output"]


def test_no_repository(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "git" in done.stderr


class TestNotChecked:
    """A program reads the same shape when nobody can tell (design of the verb)."""

    def nothing_but(self, done):
        assert done.returncode == 1
        said = told(done)
        found = said.pop("diagnostics")
        nothing = {key: [] for key in ("entries", "messages", "shown", "refused")}
        assert said == {**nothing, "output": ""}
        assert "error" in done.stderr
        return [(one["code"], one["severity"], one["message"]) for one in found]

    def test_outside_of_a_repository(self, tmp_path):
        [(code, severity, message)] = self.nothing_but(run(tmp_path, "--format", "json"))
        assert (code, severity) == ("policies-not-checked", "error")
        assert str(tmp_path) in message

    def test_a_corrupt_index(self, root):
        policy(root, "readme-accuracy", README)
        (root / ".git/index").write_bytes(b"no index")
        [(code, _, message)] = self.nothing_but(run(root, "--format", "json"))
        assert code == "policies-not-checked"
        assert "`readme-accuracy` cannot be checked: `git status` failed: .git/index" in message

    def test_settings_that_do_not_load(self, root):
        (root / "bylaw.toml").write_text("[stop]\nmax_blocks = 0\n")
        [(code, _, _)] = self.nothing_but(run(root, "--format", "json"))
        assert code == "unusable-setting"

    def test_a_message_that_is_not_there(self, root):
        done = run(root, "--format", "json", "--assistant-text", "no.txt")
        assert len(self.nothing_but(done)) == 1


class TestProgress:
    """Which run is at work, on a terminal."""

    @pytest.fixture
    def slow(self, root):
        script = "sleep 0.7"
        policy(
            root,
            "slow",
            f'---\ntrigger: src/*.py\naction:\n  command: sh -c "{script}" {{file}}\n---\n',
        )
        for name in "abc":
            (root / f"src/{name}.py").write_text("x = 1\n")
        return root

    def test_a_terminal_shows_it(self, slow):
        with Terminal([*BYLAW, "--trust"], folder=slow) as terminal:
            shown = terminal.rest()
        assert "\r\x1b[Kpolicy slow: 3 of 3 …" in shown
        assert "…note" not in shown, "a note has a line of its own"
        assert shown.endswith("\r\x1b[Kno policy needs attention\n")

    def test_a_pipe_does_not(self, slow):
        done = run(slow, "--trust")
        assert "3 of 3" not in done.stderr + done.stdout
        assert "\x1b" not in done.stderr
