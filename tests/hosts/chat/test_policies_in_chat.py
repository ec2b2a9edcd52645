"""File policies when the model of a chat hands back: told, answered, and let go after a while."""

import json
import subprocess
import sys

import pytest
from open_chats import blocks_of

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


def chat(root, *said, works=True):
    calls = [{"name": "apply_patch", "args": {"patch": PATCH}}]
    work = [{"text": "", "tool_calls": calls}] if works else []
    turns = [*work, *({"text": text} for text in said)]
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
    told = "released after 3 blocks: `readme-accuracy`; recorded as unanswered"
    assert done.stderr.count(told) == 7, "at each of the stops that were let through"
    assert released(root) == ["unanswered: it blocked 3 times"] * 7
    assert entries(root) == ["queued"]
    [entry] = (root / ".deepwork/tmp/policy/queue").iterdir()
    assert json.loads(entry.read_text())["shown"] == 3
    verified = subprocess.run((*BYLAW, "verify"), cwd=root, check=False, capture_output=True)
    assert verified.returncode == 0, verified.stdout


def test_blocks_are_counted_also_if_more_of_them_are_allowed_later(root):
    """What was let through in between is no block."""
    (root / "bylaw.toml").write_text("[stop]\nmax_blocks = 4\n")
    chat(root, *(f"done {n}" for n in range(6)))
    (root / "bylaw.toml").write_text("[stop]\nmax_blocks = 6\n")
    (root / "a.chatmd").write_text((root / "a.chatmd").read_text() + "<user>go on</user>\n")
    done, _ = chat(root, *(f"again {n}" for n in range(4)), works=False)
    assert done.stderr.count("released after 6 blocks") == 2
    assert released(root) == [f"unanswered: it blocked {n} times" for n in (4, 4, 6, 6)]


def events(root):
    words = (*BYLAW, "log", "--format", "json")
    log = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout
    return [json.loads(line)["event"] for line in log.splitlines()]


def released(root):
    return [one["result"]["note"] for one in events(root) if one.get("status") == "released"]


@pytest.mark.parametrize("mode", ["individual", "batch"])
def test_invariants_2_and_6_what_is_demanded_names_the_policies_and_they_do_not_act_on_it(
    root, mode
):
    second = POLICY.replace("README Accuracy", "Changelog").replace("README.md", "CHANGES.md")
    (root / ".deepwork/policies/changelog.md").write_text(f"{second}\0 \r\n\n")
    (root / ".deepwork/config.yml").write_text(f"policy:\n  output_mode: {mode}\n")
    chat(root, "done")
    told = [one for one in events(root) if one.get("role") == "developer"]
    blocks = [one for one in blocks_of((root / "a.chatmd").read_text()) if one.synthetic]

    uids = [f"policies:.deepwork/policies/{n}.md#{n}" for n in ("changelog", "readme-accuracy")]
    assert [one["cause"] for one in told] == ([uids] if mode == "batch" else [[u] for u in uids])
    assert [one["text"] for one in told] == [one.text for one in blocks]


def test_each_on_its_own_if_the_settings_say_so(root):
    """DW-106, DW-118: the mode counts in a chat, too."""
    second = POLICY.replace("README Accuracy", "Changelog").replace("README.md", "CHANGES.md")
    (root / ".deepwork/policies/changelog.md").write_text(second)
    (root / ".deepwork/config.yml").write_text("policy:\n  output_mode: individual\n")
    _, text = chat(root, "done")
    assert text.count("The following policies require attention:") == 2
    assert 'via_rule="changelog"' in text
    assert 'via_rule="readme-accuracy"' in text
