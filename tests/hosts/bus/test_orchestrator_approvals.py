"""The running loop and what people say: it waits, runs, and ends what was taken back."""

import shutil
import time

import pytest
from orchestrating import (
    DUAL,
    SINGLE,
    TELL,
    TELL_ERROR,
    message_id,
    processes_with,
    rule,
    run,
    take,
)  # fmt: skip

from bylaw.hosts.bus.orchestrator import BusListener, open_bus
from bylaw.model.codes.runtime import JOURNAL_BUSY
from bylaw.model.errors import BylawError
from bylaw.model.event import ApprovalGiven
from bylaw.runtime.answer import unrecorded_answer
from bylaw.store.journal.errors import JournalError


@pytest.fixture
def laws(repository):
    repository.mark = f"family-{repository.root.parent.name}"
    repository.rules(
        rule("notes", 10, [run("{{run}}"), TELL], category="B", more=SINGLE),
        rule("both", 20, [run("{{run}}"), TELL], category="C", more=DUAL),
        rule(
            "sleeps", 30, [take("bed"), run(f"python -I -S family.py {repository.mark}", 600), TELL],
            category="B", more=SINGLE, on_error=[TELL_ERROR],
        ),
    )  # fmt: skip
    return repository


def put(laws, slug, about, category="B"):
    return laws.put(slug, about, category, run=[f"python -I -S note.py {message_id(slug)}"])


def held(laws, msg_id):
    return [one for one in laws.evidence_of(msg_id, "error") if one["rule"] == "held"]


def line(msg_id, mark="x"):
    return f"- [{mark}] {msg_id} | Human | Cat-B | 2024-01-16T12:05:00Z"


def by_token(laws, msg_id):
    laws.token(msg_id)


def by_marker(laws, msg_id):
    laws.context(f"DECISION: APPROVED {msg_id} BY human")


def by_list(laws, msg_id):
    laws.context(line(msg_id))


@pytest.mark.parametrize("approve", [by_token, by_marker, by_list])
def test_what_is_held_runs_as_soon_as_it_is_approved(laws, approve):
    with laws.start(only_watching=True) as running:
        msg_id = put(laws, "a", "notes")
        running.until(lambda: held(laws, msg_id))
        running.until(lambda: laws.names("input") == ["a.json"])
        approve(laws, msg_id)
        running.until(lambda: laws.evidence_of(msg_id, "output"))
        running.until(laws.is_quiet)
        assert running.end() == 0
        assert [one["status"] for one in running.lines] == ["held", "done"]
    assert laws.ran() == {msg_id: 1}
    assert len(held(laws, msg_id)) == 1


def test_a_token_in_a_folder_that_was_not_there(laws):
    (laws.root / "runtime/approvals").rmdir()
    with laws.start(only_watching=True) as running:
        msg_id = put(laws, "a", "notes")
        running.until(lambda: held(laws, msg_id))
        (laws.root / "runtime/approvals").mkdir()
        time.sleep(0.5)
        laws.token(msg_id)
        running.until(lambda: laws.evidence_of(msg_id, "output"))


def test_who_takes_back_in_a_folder_that_is_new(laws):
    msg_id = message_id("a")
    laws.token(msg_id)
    with laws.start(only_watching=True) as running:
        laws.put("a", "sleeps", "B")
        running.until(lambda: laws.family() == 3)
        shutil.move(laws.root / "runtime/approvals", laws.root.parent)
        shutil.move(laws.root.parent / "approvals", laws.root / "runtime")
        time.sleep(0.5)
        assert len(processes_with(laws.mark)) == 3
        laws.token(msg_id, "Rejected")
        running.until(lambda: not processes_with(laws.mark))


def test_two_different_authorities(laws):
    with laws.start(only_watching=True) as running:
        msg_id = put(laws, "a", "both", "C")
        running.until(lambda: held(laws, msg_id))
        laws.context(f"DECISION: APPROVED {msg_id} BY human")
        running.until(lambda: len(held(laws, msg_id)) == 2)
        laws.token(msg_id, authority="human")
        time.sleep(0.6)
        assert not laws.ran()
        assert laws.names("input") == ["a.json"]
        laws.token(msg_id, authority="antigravity")
        running.until(lambda: laws.evidence_of(msg_id, "output"))
        running.until(laws.is_quiet)
        assert running.end() == 0
    assert laws.ran() == {msg_id: 1}


def rejected_token(laws, msg_id, _):
    laws.token(msg_id, "Rejected")


def removed_token(_laws, _msg_id, token):
    token.unlink()


def listed_as_revoked(laws, msg_id, _):
    laws.context(line(msg_id, "~"))


def listed_as_expired(laws, msg_id, _):
    laws.context(line(msg_id, "!"))


def changed_context(laws, msg_id, _):
    laws.context()


def unreadable_token(laws, msg_id, _):
    laws.token(msg_id, "Rejected\n" + "x" * 20_000)


def link_to_nowhere(laws, _msg_id, _token):
    (laws.root / "runtime/approvals").rmdir()
    (laws.root / "runtime/approvals").symlink_to("nowhere")


def unreadable_context(laws, _msg_id, _token):
    new = laws.root / ".context"
    new.write_bytes(b"Active Phase: 2\n\xff\n")
    new.rename(laws.root / "SHARED_CONTEXT.md")


@pytest.mark.parametrize(
    ("approve", "revoke"),
    [
        (by_token, rejected_token),
        (by_token, removed_token),
        (by_list, listed_as_revoked),
        (by_list, listed_as_expired),
        (by_marker, changed_context),
        (by_marker, rejected_token),
        (by_marker, unreadable_token),
        (by_list, link_to_nowhere),
        (by_token, unreadable_context),
    ],
)
def test_who_takes_back_ends_what_runs(laws, approve, revoke):
    msg_id = message_id("a")
    approve(laws, msg_id)
    token = laws.root / f"runtime/approvals/{msg_id}.human"
    with laws.start(only_watching=True) as running:
        laws.put("a", "sleeps", "B")
        running.until(lambda: laws.family() == 3)
        assert len(processes_with(laws.mark)) == 3
        revoke(laws, msg_id, token)
        running.until(lambda: not processes_with(laws.mark))
        running.until(laws.is_quiet)
        assert running.end() == 0
        assert [one["status"] for one in running.lines] == ["failed"]
    (evidence,) = laws.evidence_of(msg_id)
    assert (evidence["channel"], evidence["rule"]) == ("error", "sleeps")
    assert "its approval was revoked" in evidence["text"]
    assert evidence["commands"][0]["ending"] == "cancelled"
    assert laws.locks() == []
    assert laws.states() == {"failed": 1}


def test_an_approval_of_another_message_ends_nothing(laws):
    msg_id = message_id("a")
    laws.token(msg_id)
    with laws.start() as running:
        laws.put("a", "sleeps", "B")
        running.until(lambda: laws.family() == 3)
        laws.token(message_id("b"), "Rejected")
        laws.context("another line")
        time.sleep(0.5)
        assert len(processes_with(laws.mark)) == 3
        running.end()


@pytest.mark.parametrize("said", ["Rejected", "Denied", ""])
def test_what_was_never_approved_does_not_run(laws, said):
    with laws.start() as running:
        laws.token(message_id("a"), said)
        msg_id = put(laws, "a", "notes")
        running.until(lambda: laws.evidence_of(msg_id, "error"))
        assert running.end() == 0
    assert not laws.ran()


def test_what_was_rejected_is_held_and_says_so(laws):
    laws.token(message_id("a"), "Rejected")
    laws.context(f"DECISION: REJECTED {message_id('b')} BY human")
    laws.token(message_id("b"), authority="antigravity")
    put(laws, "a", "notes")
    put(laws, "b", "both", "C")
    with laws.start("--once") as running:
        assert running.ended() == 0
        assert [one["status"] for one in running.lines] == ["held", "held"]
    for slug in "ab":
        (evidence,) = held(laws, message_id(slug))
        assert "the approval by `human` is revoked" in evidence["text"]
    assert not laws.ran()


def test_an_emergency_that_was_rejected_does_not_start(laws):
    laws.rules(rule("emergency", 40, [run("python -I -S note.py x"), TELL], category="D"))
    msg_id = message_id("a")
    laws.token(msg_id, "Rejected")
    laws.put("a", "emergency", "D")
    with laws.start("--once") as running:
        assert running.ended() == 1
        assert [one["status"] for one in running.lines] == ["failed"]
    (evidence,) = laws.evidence_of(msg_id, "error")
    assert "its approval was revoked" in evidence["text"]
    assert not laws.ran()


def test_a_message_that_changed_is_not_what_was_approved(laws):
    with laws.start() as running:
        msg_id = put(laws, "a", "notes")
        running.until(lambda: held(laws, msg_id))
        running.until(lambda: laws.names("input") == ["a.json"])
        laws.put("a", "notes", "B", run=["python -I -S note.py other"])
        laws.token(msg_id)
        running.until(lambda: len(held(laws, msg_id)) == 2)
        time.sleep(0.3)
        assert not laws.ran()
        assert running.end() == 0


def test_what_a_held_message_depends_on_besides_approvals(laws):
    """LD-012: its target was inside when it was held, and is not any more."""
    msg_id = put(laws, "a", "notes")
    assert laws.once() == 0
    assert len(held(laws, msg_id)) == 1
    (laws.root / "notes").symlink_to("/")
    with laws.start("--once") as running:
        assert running.ended() == 1
        assert [one["status"] for one in running.lines] == ["refused"]
    assert laws.names("input") == []


def test_an_approval_that_cannot_be_recorded_runs_nothing(laws):
    """The journal fails for a moment, and only for what a person said."""
    laws.token(message_id("a"))
    put(laws, "a", "notes")
    with open_bus(str(laws.root), BusListener(handled=bool, note=bool), trust=True) as opened:
        runtime = opened._loop.runtime
        submit = runtime.submit

        def failing(event):
            if isinstance(event, ApprovalGiven):
                return unrecorded_answer(event, JournalError(JOURNAL_BUSY, "the journal is held"))
            return submit(event)

        runtime.submit = failing
        time.sleep(0.3)
        with pytest.raises(BylawError, match="the journal is held"):
            opened.orchestrator.run_once()
    assert not laws.ran()
