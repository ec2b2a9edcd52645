"""A message that is through, and whose process died before it put the file away."""

import json
import sqlite3
from contextlib import closing

import pytest
from orchestrating import TELL, message_id, rule


@pytest.fixture
def left(repository):
    """A repository with such a file, its path, and the evidence of its message."""
    repository.rules(rule("tell", 10, [TELL]))
    repository.put("a", "tell")
    text = (repository.bus / "input/a.json").read_text()
    assert repository.once() == 0
    assert repository.is_quiet()
    path = repository.bus / "processing" / asked(repository, "SELECT claim FROM messages")
    path.write_text(text)
    (evidence,) = (repository.bus / "output").iterdir()
    return repository, path, evidence


def asked(repository, question):
    """What the ledger answers."""
    with closing(sqlite3.connect(repository.root / ".bylaw/state/bus.db")) as ledger, ledger:
        return next((row[0] for row in ledger.execute(question)), None)


def kept(repository):
    return [json.loads((repository.bus / "error" / one).read_text()) for one in told(repository)]


def told(repository):
    return repository.names("error")


def test_what_evidence_holds_is_removed(left):
    repository, path, evidence = left
    assert repository.once() == 0

    assert repository.is_quiet()
    assert not path.exists()
    assert told(repository) == []
    assert evidence.exists()


def test_what_no_evidence_holds_is_kept(left):
    repository, path, evidence = left
    message = json.loads(path.read_text())
    evidence.unlink()
    assert repository.once() == 0

    assert repository.is_quiet()
    assert kept(repository) == [message]


def test_what_evidence_holds_in_part_is_kept(left):
    repository, path, evidence = left
    message = json.loads(path.read_text())
    body = json.loads(evidence.read_text())
    evidence.write_text(json.dumps({**body, "message": {**body["message"], "notes": "…"}}))
    assert repository.once() == 0

    assert repository.is_quiet()
    assert kept(repository) == [message]


def test_what_somebody_wrote_into_it_meanwhile_is_kept(left):
    repository, path, _ = left
    message = json.loads(path.read_text()) | {"notes": "more"}
    path.write_text(json.dumps(message))
    assert repository.once() == 0

    assert repository.is_quiet()
    assert kept(repository) == [message]


def test_a_request_that_was_only_looked_at_waits_on(repository):
    """LD-A39: nothing of it was begun, so nothing was interrupted."""
    repository.rules(rule("tell", 10, [TELL]))
    repository.put(
        "a", "other", command_type="approval_request", origin_ref=message_id("b"),
        approval_by=["human"],
    )  # fmt: skip
    assert repository.once() == 0
    assert repository.states() == {"waiting": 1}
    asked(repository, "UPDATE messages SET state = 'running', tries = 0")
    claim = asked(repository, "SELECT claim FROM messages")
    (repository.bus / "input/a.json").rename(repository.bus / "processing" / claim)
    assert repository.once() == 0

    assert repository.names("input") == ["a.json"]
    assert repository.states() == {"waiting": 1}
    assert told(repository) == []
