"""A journal that an earlier version wrote: read as it is, taken over, and gone on with."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import bylaw
from bylaw.report.verify import verify
from bylaw.store.journal.database import VERSION

OLD = Path(__file__).parent.parent / "data/journals/version-1.db"
RECORDS = 6


@pytest.fixture
def path(tmp_path):
    """A copy; three calls of a shell in session `s`, each followed by a notice."""
    return str(shutil.copy(OLD, tmp_path / "journal.db"))


def version_of(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute("PRAGMA user_version").fetchone()[0]


def assert_whole(path, records):
    report = verify(path, decisions=True, tell=lambda _: None)
    assert (report.findings, report.wrong) == ([], 0)
    assert report.records == records


def test_it_is_of_another_version():
    assert version_of(OLD) < VERSION


def test_looking_at_it_changes_nothing(path):
    assert_whole(path, RECORDS)
    assert version_of(path) == 1


def test_it_is_taken_over_and_gone_on_with(path):
    with bylaw.Engine((), journal=path) as engine:
        reply = engine.submit({"kind": "turn.start", "session": "s"})
    # What waited for this point in the old version is told in this one.
    assert [one.text for one in reply.messages] == ["That was enough."] * 3
    assert version_of(path) == VERSION
    assert_whole(path, RECORDS + 1 + 2 * 3)
