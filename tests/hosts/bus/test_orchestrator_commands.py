"""Commands of the running loop: bounded, refused where they may not be, under the rules as of now."""

import json
import shutil
import sys
import time

import pytest
from orchestrating import TELL, TELL_ERROR, message_id, processes_with, rule, run, take

from bylaw.cli import main
from bylaw.runtime.sandbox.command import COMMAND_PATH

FLOOD = """\
import sys
import time
for stream in (sys.stdout, sys.stderr):
    stream.write("begin" + "x" * 20_000_000 + "end")
"""


def tried(repository, *actions, seconds=300):
    """The only evidence of a message whose rule does that."""
    repository.rules(rule("try", 10, [take("key"), *actions, TELL], on_error=[TELL_ERROR]))
    msg_id = repository.put("a", "try")
    with repository.start("--once") as running:
        assert running.ended(seconds) == 1
        (line,) = running.lines
        assert running.notes == ""
    (evidence,) = repository.evidence_of(msg_id)
    assert line["status"] == "failed"
    assert evidence["channel"] == "error"
    assert evidence["text"].startswith(f"failed {msg_id}: ")
    assert repository.is_quiet()
    assert repository.locks() == []
    return evidence


def test_a_command_that_takes_too_long_ends_with_its_children(repository):
    """LD-087"""
    mark = f"family-{repository.root.parent.name}"
    evidence = tried(repository, run(f"python -I -S family.py {mark}", 1))
    assert "took longer than 1 s" in evidence["text"]
    assert repository.family() == 3
    assert processes_with(mark) == []


def test_a_program_that_is_missing(repository):
    """LD-103"""
    missing = [one for one in ("yarn", "pnpm", "npm", "node") if not is_there(one)]
    if not missing:
        pytest.skip("all programs are there")
    evidence = tried(repository, run(f"{missing[0]} test"), run("python -I -S note.py after"))
    assert f"program `{missing[0]}` not found" in evidence["text"]
    assert not repository.ran()


def is_there(program):
    return shutil.which(program, path=COMMAND_PATH) is not None


def test_a_flood_of_output_is_cut(repository):
    (repository.root / "work/flood.py").write_text(FLOOD + "sys.exit(1)\n")
    evidence = tried(repository, run("python -I -S flood.py"))
    (command,) = evidence["commands"]
    for stream in ("stdout", "stderr"):
        assert command[stream].startswith("begin")
        assert command[stream].endswith("end")
        assert command["cut"][stream] > 19_000_000
    assert len(json.dumps(evidence)) < 100_000


def test_a_folder_that_leads_out_is_refused_when_it_starts(repository):
    """LD-100"""
    outside = repository.root.parent / "outside"
    outside.mkdir()
    (outside / "note.py").write_text("open('ran', 'w')")
    (repository.root / "work/link").symlink_to(outside)
    evidence = tried(repository, run("python note.py x", cwd="work/link"))
    assert "is outside the folders in which commands may run" in evidence["text"]
    assert [one.name for one in outside.iterdir()] == ["note.py"]


def noting(text, word):
    return rule(
        "try", 10, [run(f"python -I -S note.py {word}"), TELL.replace("done", text)],
        on_error=[TELL_ERROR],
    )  # fmt: skip


def texts(repository):
    return [one["text"] for one in repository.evidence()]


def test_a_rule_that_was_edited_counts_from_the_next_message_on(repository, a_person, monkeypatch):
    repository.rules(noting("first", "one"))
    trusted(repository, monkeypatch)
    with repository.start(trust=False) as running:
        repository.put("a", "try")
        running.until(lambda: f"first {message_id('a')}" in texts(repository))
        repository.rules(noting("second", "two"))
        trusted(repository, monkeypatch)
        repository.put("b", "try")
        running.until(lambda: f"second {message_id('b')}" in texts(repository))
        # What does not load changes nothing, and is told.
        (repository.root / "runtime/rules/10.yaml").write_text("rules: [")
        running.until(lambda: "10.yaml" in running.notes)
        repository.put("c", "try")
        running.until(lambda: f"second {message_id('c')}" in texts(repository))
        assert running.end() == 0
    assert repository.ran() == {"one": 1, "two": 2}


def test_trust_for_one_run_is_not_in_what_is_edited_meanwhile(repository):
    repository.rules(noting("first", "one"))
    with repository.start() as running:
        repository.put("a", "try")
        running.until(lambda: f"first {message_id('a')}" in texts(repository))
        repository.rules(noting("second", "two"))
        msg_id = repository.put("b", "try")
        running.until(lambda: repository.evidence_of(msg_id, "error"))
        assert running.end() == 0
    assert repository.ran() == {"one": 1}


def test_rules_that_were_edited_are_not_trusted_any_more(repository, a_person, monkeypatch):
    repository.rules(noting("first", "one"))
    trusted(repository, monkeypatch)
    with repository.start(trust=False) as running:
        repository.put("a", "try")
        running.until(lambda: f"first {message_id('a')}" in texts(repository))
        repository.rules(noting("first", "two"))
        msg_id = repository.put("b", "try")
        running.until(lambda: repository.evidence_of(msg_id, "error"))
        (evidence,) = repository.evidence_of(msg_id)
        assert "`bylaw trust`" in evidence["text"]
        assert repository.ran() == {"one": 1}
        trusted(repository, monkeypatch)
        repository.put("c", "try")
        running.until(lambda: repository.evidence_of(message_id("c"), "output"))
        assert running.end() == 0
    assert repository.ran() == {"one": 1, "two": 1}


def trusted(repository, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bylaw", "trust", "--yes"])
    monkeypatch.chdir(repository.root)
    assert main() == 0


def test_without_trust_no_command_runs(repository, a_person):
    repository.rules(noting("first", "one"))
    msg_id = repository.put("a", "try")
    assert repository.once(trust=False) == 1
    assert "no person has trusted it" in repository.evidence_of(msg_id, "error")[0]["text"]
    assert not repository.ran()


def emergency(repository):
    actions = [run("python -I -S note.py emergency"), TELL]
    repository.rules(rule("now", 10, actions, category="D", on_error=[TELL_ERROR]))
    return repository.put("a", "now", "D")


def test_an_emergency_asks_first(repository):
    """LD-074, LD-075, LD-076"""
    msg_id = emergency(repository)
    assert repository.once() == 0
    (name,) = repository.names("input")
    request = repository.bus / "input" / name
    asked = json.loads(request.read_text())
    assert (asked["origin_ref"], asked["command_type"]) == (msg_id, "approval_request")
    assert repository.ran() == {"emergency": 1}
    ran_ns = (repository.root / "work/ran").stat().st_mtime_ns
    assert request.stat().st_ctime_ns < ran_ns


def test_an_emergency_that_cannot_ask_does_not_run(repository):
    """LD-076: whatever the request could be called is taken by a folder."""
    msg_id = emergency(repository)
    take_every_request(repository)
    with repository.start("--once") as running:
        assert running.ended() == 1
    (evidence,) = repository.evidence_of(msg_id)
    assert "already exists" in evidence["text"]
    assert not repository.ran()


def take_every_request(repository):
    now = int(time.time())
    for moment in range(now - 2, now + 60):
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(moment))
        for seq in range(1, 6):
            name = f"{stamp}_bylaw_request-{seq}-1.json"
            (repository.bus / "input" / name).mkdir()
