"""A writer may be killed at any moment: what it told is there, and nothing is done twice."""

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from bylaw.engine.plan import INTERRUPTED
from bylaw.model.vocabulary import EffectStatus
from bylaw.report.verify import verify
from bylaw.store.journal.records import STORED_QUERY, record_from_row
from bylaw.store.journal.search import JournalReader

HERE = Path(__file__).parent
KILLS, SEEDS = 100, (1, 2)


@pytest.fixture(scope="module", params=SEEDS)
def crashed(request, tmp_path_factory):
    """A journal whose writers were killed, and what they told."""
    folder = tmp_path_factory.mktemp("crashed")
    command = [sys.executable, HERE / "killed_writers.py", folder, str(KILLS), str(request.param)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert done.stderr == b""
    return folder, [int(line) for line in done.stdout.split()]


@pytest.fixture(scope="module")
def records(crashed):
    with JournalReader(str(crashed[0] / "j.db")) as reader:
        return [
            record_from_row(row).record for row in reader.each(f"{STORED_QUERY} ORDER BY r.seq")
        ]


@pytest.fixture(scope="module")
def effects(records):
    """How the steps of each decision ended, by its number."""
    found = defaultdict(list)
    for record in records:
        if record.header.kind == "effect":
            found[record.event.of].append((record.event.step, record.event))
    return found


def test_every_record_that_was_told_is_there_and_whole(crashed, records):
    told = crashed[1]

    assert len(told) > KILLS
    assert len(set(told)) == len(told)
    assert [record.header.seq for record in records] == list(range(1, len(records) + 1))
    assert set(told) <= {record.header.seq for record in records}


def test_the_journal_is_whole_and_sessions_are_what_their_records_give(crashed):
    report = verify(str(crashed[0] / "j.db"), decisions=False, tell=lambda _: None)

    assert report.findings == []
    assert report.folded == report.sessions > 1


def test_no_step_begins_twice_and_none_is_told_that_did_not_begin(crashed, effects):
    performed = Counter(
        tuple(map(int, line.split())) for line in (crashed[0] / "done").read_text().splitlines()
    )
    told = {(of, step): event.status for of, steps in effects.items() for step, event in steps}

    assert set(performed.values()) == {1}
    ok = {place for place, status in told.items() if status is EffectStatus.OK}
    assert ok <= set(performed)
    # What was performed but is not ok had begun when its process was killed.
    assert all(told[place] is EffectStatus.FAILED for place in set(performed) - ok)


def test_what_was_open_is_interrupted_once_and_the_rest_is_dropped(crashed, records, effects):
    prompts = [record.header.seq for record in records if record.header.kind == "prompt"]
    interrupted = 0
    for seq in prompts:
        steps = [(step, event.status.value) for step, event in effects[seq]]
        whole = [(1, "ok"), (2, "ok"), (3, "ok")]
        broken = [[*whole[:n], (n + 1, "failed")] for n in range(3)]
        assert steps == whole or steps in broken
        interrupted += steps != whole
        if steps != whole:
            assert effects[seq][-1][1].result == INTERRUPTED.result

    assert interrupted > 0
    with JournalReader(str(crashed[0] / "j.db")) as reader:
        assert reader.query("SELECT * FROM open_plans") == []
