"""Real changes of files under a real `bylaw bus run`: what a rule is told, and what nobody is."""

import signal
import time

import pytest
from orchestrating import is_known, run

EVERYTHING = """\
  - rule_id: seen
    priority: 10
    trigger: {kind: fs_event}
    actions:
      - {type: write_bus, channel: output, template: "{{type}} {{path}}"}
"""
ANSWER = f"""\
  - rule_id: answered
    priority: 20
    trigger: {{kind: bus_input}}
    guards: {{category_in: [A]}}
    actions:
      - {run("python note.py told")}
      - {{type: write_bus, channel: output, template: answered}}
"""


@pytest.fixture
def watched(repository):
    """A repository whose files are known: what is there at the very first start is no change."""
    repository.rules(EVERYTHING, ANSWER)
    for name in ("kept", "gone", "moved", "saved"):
        (repository.root / "work" / name).write_text(name)
    with repository.start() as running:
        running.until(lambda: is_known(repository.root / ".bylaw/state/watch.db"))
        assert running.end() == 0
    return repository


def told(repository, *channels):
    """Type and path of every change that left evidence, in the order of their names."""
    found = [one["event"] for one in repository.evidence(*channels) if "event" in one]
    return sorted((one["type"], one["path"]) for one in found)


def test_each_change_is_one_event_with_evidence(watched):
    """[LD-001] [LD-A32]"""
    work = watched.root / "work"
    expected = [
        ("created", "work/new"),
        ("deleted", "work/gone"),
        ("modified", "work/kept"),
        ("renamed", "work/there"),
    ]
    with watched.start() as running:
        (work / "new").write_text("new")
        (work / "kept").write_text("other")
        (work / "gone").unlink()
        (work / "moved").rename(work / "there")
        running.until(lambda: len(told(watched)) >= len(expected))
        time.sleep(0.5)
        assert running.end() == 0
        lines = running.lines

    assert told(watched, "output") == expected
    assert told(watched, "error") == []
    assert sorted((one["change"], one["path"]) for one in lines) == expected
    (renamed,) = (one for one in lines if one["change"] == "renamed")
    assert renamed["old_path"] == "work/moved"


def test_one_save_by_renaming_is_one_change(watched):
    """[LD-A34]"""
    work = watched.root / "work"
    with watched.start() as running:
        # On a busy machine the steps could take longer than the watcher waits.
        running.process.send_signal(signal.SIGSTOP)
        (work / "saved~new").write_text("saved anew")
        (work / "saved").unlink()
        (work / "saved~new").rename(work / "saved")
        running.process.send_signal(signal.SIGCONT)
        running.until(lambda: told(watched))
        time.sleep(0.5)
        assert running.end() == 0

    assert told(watched) == [("modified", "work/saved")]


def test_what_the_bus_does_is_no_change(watched):
    """[LD-A33] Else the rule about every file would start itself for ever."""
    with watched.start() as running:
        watched.put("message", "any")
        running.until(lambda: any(one.get("text") == "answered" for one in watched.evidence()))
        running.until(lambda: told(watched))
        time.sleep(0.5)
        assert running.end() == 0

    # The command wrote that file, and its rule had to see it; nothing else is new.
    assert told(watched) == [("created", "work/ran")]


def test_a_link_that_leads_out_is_told_as_an_error(watched):
    """[LD-001] [LD-012]"""
    outside = watched.root.parent / "outside"
    outside.mkdir()
    with watched.start() as running:
        (watched.root / "work/link").symlink_to(outside)
        running.until(lambda: told(watched, "error"))
        (outside / "file").write_text("no event")
        time.sleep(0.5)
        assert running.end() == 0

    assert told(watched, "output") == []
    assert told(watched, "error") == [("created", "work/link")]
    (evidence,) = watched.evidence("error")
    assert (evidence["rule"], evidence["event"]["path"]) == ("path", "work/link")


def test_what_changes_while_nobody_watches_is_found_later(watched):
    """[LD-001] [LD-A32] `--once` leaves changes to the next watcher, which finds them."""
    (watched.root / "work/new").write_text("new")
    assert watched.once() == 0
    assert told(watched) == []

    with watched.start() as running:
        running.until(lambda: told(watched))
        assert running.end() == 0
    assert told(watched) == [("created", "work/new")]
