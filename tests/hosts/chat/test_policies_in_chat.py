"""File policies when the model of a chat hands back: told, answered, and let go after a while."""

import json
import subprocess
import sys

import pytest

BYLAW = (sys.executable, "-m", "bylaw")
POLICY = """\
---
name: README Accuracy
trigger: src/**/*.py
safety: README.md
---
Verify README.md.
"""
PATCH = "*** Begin Patch\n*** Add File: src/main.py\n+x = 1\n*** End Patch"


@pytest.fixture
def root(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "README.md").write_text("x\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
    policies = tmp_path / ".deepwork" / "policies"
    policies.mkdir(parents=True)
    (policies / "readme-accuracy.md").write_text(POLICY)
    (tmp_path / "a.chatmd").write_text('<tool name="apply_patch"/>\n<user>write it</user>\n')
    return tmp_path


def git(root, *words):
    subprocess.run(("git", *words), cwd=root, check=True, capture_output=True)


def chat(root, *said):
    calls = [{"name": "apply_patch", "args": {"patch": PATCH}}]
    turns = [{"text": "", "tool_calls": calls}, *({"text": text} for text in said)]
    (root / "turns.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in turns))
    words = (*BYLAW, "chat", "a.chatmd", "--model", "script:turns.jsonl")
    done = subprocess.run(words, cwd=root, check=False, capture_output=True, text=True)
    return done, (root / "a.chatmd").read_text()


def entries(root):
    return sorted(
        path.name.split(".")[1] for path in (root / ".deepwork/tmp/policy/queue").iterdir()
    )


def test_it_goes_on_until_it_promises(root):
    _, text = chat(root, "done", "looked at it <promise>readme-accuracy</promise>", "and more")
    assert text.count("## README Accuracy\nVerify README.md.") == 1
    assert "<promise>readme-accuracy</promise>" in text
    assert 'via_rule="readme-accuracy"' in text
    assert entries(root) == ["passed"]


def test_it_goes_on_until_it_has_done_it(root):
    (root / "README.md").write_text("x = 1\n")
    _, text = chat(root, "done")
    assert "Verify" not in text
    assert entries(root) == ["skipped"]


def test_an_unchanged_violation_blocks_three_times_and_is_then_let_through(root):
    """The person is warned, and the journal says that nobody answered."""
    done, text = chat(root, *(f"done {n}" for n in range(10)))
    assert text.count("## README Accuracy") == 3
    assert text.rindex("## README Accuracy") < text.index("done 3")
    assert "README Accuracy" in done.stderr + done.stdout
    assert entries(root) == ["queued"]
    words = (*BYLAW, "log", "--format", "json")
    log = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout
    assert '"released"' in log
    assert "not answered" in log


def test_each_on_its_own_if_the_settings_say_so(root):
    """DW-106, DW-118: the mode counts in a chat, too."""
    second = POLICY.replace("README Accuracy", "Changelog").replace("README.md", "CHANGES.md")
    (root / ".deepwork/policies/changelog.md").write_text(second)
    (root / ".deepwork/config.yml").write_text("policy:\n  output_mode: individual\n")
    _, text = chat(root, "done")
    assert text.count("The following policies require attention:") == 2
    assert 'via_rule="changelog"' in text
    assert 'via_rule="readme-accuracy"' in text
