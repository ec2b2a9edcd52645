"""What happened: the records of a journal, filtered, in place, as lines and as data."""

import json

import pytest
from journals import BEGIN, JOURNAL, LINES, record, write_rules

from bylaw.model.display import width
from bylaw.model.vocabulary import Kind, Verdict
from bylaw.report.log import (
    OpenPlanReason,
    measure_columns,
    read_entries,
    session_counts,
    to_milliseconds,
)
from bylaw.report.printers import log as printer
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.search import PAGE_SIZE, JournalReader, RecordFilter, RecordSearch
from bylaw.store.system import own_process_name
from recording import use_utc

EVENTS = [
    {"kind": "session.start"},
    {"kind": "prompt", "text": "mend the\nbuild \x1b[31m"},
    {"kind": "turn.start"},
    {"kind": "tool.before", "tool": "shell", "args": {"command": "ls"}, "call": "1"},
    {"kind": "tool.after", "tool": "shell", "call": "1", "status": "ok", "result": "x", "ms": 9},
    {"kind": "tool.before", "tool": "shell", "args": {"command": "ls"}},
    {"kind": "turn.start", "session": "other"},
]


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use_utc(monkeypatch)
    write_rules(tmp_path, a_lines=LINES)
    return tmp_path


@pytest.fixture
def journal(monkeypatch):
    record(monkeypatch, EVENTS)
    return JOURNAL


def numbers(path, last=None, **wanted):
    return [entry.stored.header.seq for entry in read_entries(path, RecordFilter(**wanted), last)]


def kinds(path, **wanted):
    return [entry.stored.header.kind for entry in read_entries(path, RecordFilter(**wanted))]


def shown(path, *, limit=80, color=False, **wanted):
    lines = printer.LogPrinter.of(
        measure_columns(path), limit, color=color, one_session=wanted.get("session") is not None
    )
    return "".join(lines.render(entry) for entry in read_entries(path, RecordFilter(**wanted)))


class TestFilters:
    def test_all_records_in_their_order(self, journal):
        assert numbers(journal) == list(range(1, 11))

    def test_a_session(self, journal):
        assert numbers(journal, session="other") == [10]
        assert numbers(journal, session="default") == list(range(1, 10))

    def test_kinds(self, journal):
        wanted = (Kind.SESSION_START, Kind.TURN_START)
        assert kinds(journal, kinds=wanted) == ["session.start", "turn.start", "turn.start"]

    def test_a_verdict_or_a_stronger_one(self, journal):
        strong = tuple(one for one in Verdict if one >= Verdict.WARN)
        assert kinds(journal, verdicts=strong) == ["tool.before"]

    def test_a_rule_by_id_and_uid(self, journal):
        found = kinds(journal, rule=_denying(journal))
        assert found == ["tool.before", "message"]
        assert found == kinds(journal, rule=_denying(journal).rpartition("#")[2])

    def test_a_rule_that_only_looks_alike(self, journal):
        assert kinds(journal, rule=_denying(journal)[:-1]) == []

    def test_times(self, journal):
        assert numbers(journal, since=BEGIN + 6_000) == [10]
        assert numbers(journal, until=BEGIN) == [1]

    def test_the_newest(self, journal):
        assert numbers(journal, 2) == [9, 10]
        assert numbers(journal, 0) == []
        assert numbers(journal, 100) == list(range(1, 11))
        assert numbers(journal, 1, kinds=(Kind.TURN_START,), session="default") == [5]

    def test_effects_come_with_their_record_when_they_are_asked_for(self, journal):
        assert kinds(journal, kinds=(Kind.PROMPT,)) == ["prompt"]
        assert kinds(journal, kinds=(Kind.PROMPT,), with_effects=True) == ["prompt", "effect"]
        assert kinds(journal, kinds=(Kind.TURN_START,), with_effects=True) == ["turn.start"] * 2

    def test_more_records_than_are_read_in_one_go(self, journal, monkeypatch):
        record(monkeypatch, [{"kind": "session.start", "session": "many"}] * (2 * PAGE_SIZE))
        assert len(numbers(journal, session="many")) == 2 * PAGE_SIZE
        assert numbers(journal, 1, session="default") == [9]
        assert numbers(journal, PAGE_SIZE + 1)[0] == 10 + PAGE_SIZE

    def test_an_unknown_session(self, journal):
        with pytest.raises(JournalError, match="did you mean `other`") as refused:
            numbers(journal, session="othr")
        assert refused.value.code == "unknown-session"

    def test_no_journal(self):
        with pytest.raises(JournalError, match=r"journal `none\.db` not found") as refused:
            numbers("none.db")
        assert refused.value.code == "no-journal"

    def test_a_journal_that_is_just_being_made(self, root):
        (root / "empty.db").touch()
        assert numbers("empty.db") == []
        assert list(session_counts("empty.db")) == []

    def test_reading_makes_no_file(self, root):
        with pytest.raises(JournalError):
            numbers("none.db")
        assert not (root / "none.db").exists()

    def test_a_path_with_signs_that_mean_something_elsewhere(self, monkeypatch):
        odd = "a?mode=memory#100%41 ü.db"
        record(monkeypatch, EVENTS, journal=odd)
        assert len(numbers(odd)) == 10


def _denying(path):
    for entry in read_entries(path, RecordFilter(verdicts=(Verdict.DENY,))):
        return entry.stored.record.decision.reasons[0].uid
    raise AssertionError


def test_the_filter_on_a_session_uses_the_index(journal):
    with JournalReader(journal) as reader:
        seen = []
        search = RecordSearch(reader, RecordFilter(session="default"))
        each = reader.each
        reader.each = lambda statement, values=(): (
            seen.append((statement, values)) or each(statement, values)
        )
        assert len(list(search.records())) == 9
        assert search.start_of_last(1) == 8
        asked = [one for one in seen if "WHERE" in one[0]]
        plans = [
            row[3]
            for statement, values in asked
            for row in each(f"EXPLAIN QUERY PLAN {statement}", values)
        ]
    assert asked
    assert not [plan for plan in plans if "SCAN" in plan or "TEMP B-TREE" in plan]
    assert [plan for plan in plans if "records_of_session (session=?" in plan]


class TestPlaces:
    def test_what_was_caused_lies_deeper(self, journal):
        depths = {
            (entry.stored.header.seq, entry.stored.header.kind): entry.depth
            for entry in read_entries(journal, RecordFilter())
        }
        assert [key for key, depth in depths.items() if depth] == [
            (3, "effect"),
            (4, "message"),
            (9, "message"),
        ]

    def test_an_effect_knows_its_step(self, journal):
        (effect,) = read_entries(journal, RecordFilter(kinds=(Kind.EFFECT,)))
        assert effect.step.text == "hello"

    def test_what_changed_at_once(self, journal):
        (turn,) = read_entries(journal, RecordFilter(kinds=(Kind.TURN_START,), session="other"))
        assert [(one.rule, one.step.name) for one in turn.changed] == [("line-3", "seen")]

    def test_where_the_rule_of_a_change_stood(self, journal, root):
        write_rules(root, a_lines="")  # what counts are the rules of then
        (turn,) = read_entries(journal, RecordFilter(kinds=(Kind.TURN_START,), session="other"))
        assert turn.places == {"lines:rules/a.lines#line-3": "rules/a.lines:3"}

    def test_of_rules_whose_texts_are_gone_the_file_is_known(self, journal):
        with Journal(journal) as store:
            store.query("DELETE FROM rule_sets")
        (turn,) = read_entries(journal, RecordFilter(kinds=(Kind.TURN_START,), session="other"))
        assert turn.places == {"lines:rules/a.lines#line-3": "rules/a.lines"}

    def test_programs_that_read_records_load_no_rules(self, journal):
        (turn, *_) = read_entries(journal, RecordFilter(kinds=(Kind.TURN_START,)), places=False)
        assert turn.places == {}

    def test_plans_that_a_dead_process_left(self, journal):
        with Journal(journal) as store:
            boot = own_process_name().split("/")[0]
            store.query("INSERT INTO open_plans VALUES (2, 'default', ?)", (f"not-{boot}/x/1/1",))
        (prompt,) = read_entries(journal, RecordFilter(kinds=(Kind.PROMPT,)))
        assert prompt.plans is OpenPlanReason.LEFT
        assert "! its steps are left unfinished" in shown(journal)

    def test_plans_that_are_under_way(self, journal):
        with Journal(journal) as store:
            store.query("INSERT INTO open_plans VALUES (2, 'default', ?)", (own_process_name(),))
        (prompt,) = read_entries(journal, RecordFilter(kinds=(Kind.PROMPT,)))
        assert prompt.plans is OpenPlanReason.UNDER_WAY


class TestText:
    def test_as_people_read_it(self, journal):
        lines = shown(journal).splitlines()
        assert lines[0] == "2026-09-21"
        assert lines[1] == "   1  14:13:20  default  session.start   allow"
        assert lines[3].strip() == "plan line-2 (rules/a.lines:2): message.insert"
        assert lines[4] == (
            '   3  14:13:21  default  └ effect               message.insert ok developer: "h…'
        )
        assert any(line.strip().startswith("deny ") and "rules/a.lines:1" in line for line in lines)
        assert "state.set line-3 (rules/a.lines:3): seen = 1" in shown(journal)

    def test_no_line_is_wider_than_the_screen(self, journal):
        for limit in (60, 80, 120):
            assert max(map(width, shown(journal, limit=limit).splitlines())) <= limit

    def test_a_session_alone_needs_no_column(self, journal):
        assert "default" not in shown(journal, session="default")

    def test_foreign_text_cannot_move_the_cursor(self, journal):
        assert "\x1b" not in shown(journal)
        assert "mend the build \\u001b[31m" in shown(journal, limit=200)

    def test_colour_only_if_asked_for(self, journal):
        assert "\x1b[1;31mdeny" in shown(journal, color=True)

    def test_an_erased_payload_is_shown_as_such(self, journal):
        with Journal(journal) as store:
            store.query("DELETE FROM payloads WHERE seq = 2")
            store.query("UPDATE payloads SET event = x'00' WHERE seq = 1")
        text = shown(journal)
        assert "prompt          allow  [payload erased]" in text
        assert "session.start   allow  [payload damaged]" in text
        assert "message.insert ok" in text

    def test_sessions(self, journal):
        assert printer.render_sessions(session_counts(journal)) == (
            "session  records  denied  first                last\n"
            "default  9        1       2026-09-21 14:13:20  2026-09-21 14:13:25\n"
            "other    1        0       2026-09-21 14:13:26  2026-09-21 14:13:26\n"
            "\n"
            "2 sessions\n"
        )


class TestData:
    def test_the_shape(self, journal):
        first, *_ = read_entries(journal, RecordFilter())
        data = json.loads(json.dumps(printer.record_data(first.stored)))
        assert data == {
            "seq": 1,
            "session": "default",
            "at": BEGIN,
            "time": "2026-09-21T14:13:20.000Z",
            "kind": "session.start",
            "verdict": "allow",
            "event": {"kind": "session.start", "seq": 1, "at": BEGIN},
            "decision": {"verdict": "allow", "reasons": [], "plans": [], "fired": [], "trace": []},
            "rules": data["rules"],
            "version": data["version"],
            "redacted": False,
            "erased": False,
            "damaged": False,
        }
        assert len(data["rules"]) == 64

    def test_an_erased_payload(self, journal):
        with Journal(journal) as store:
            store.query("DELETE FROM payloads")
        data = printer.record_data(next(read_entries(journal, RecordFilter())).stored)
        assert (data["event"], data["decision"], data["erased"]) == (None, None, True)


class TestMoments:
    @pytest.mark.parametrize(
        ("text", "before"), [("90s", 90), ("5m", 300), ("2h", 7_200), ("1d", 86_400), ("1.5s", 1.5)]
    )
    def test_ago(self, text, before):
        assert to_milliseconds(text, BEGIN) == BEGIN - before * 1_000

    def test_iso(self):
        assert to_milliseconds("2026-09-21T14:13:20Z", 0) == BEGIN
        assert to_milliseconds("2026-09-21T16:13:20+02:00", 0) == BEGIN

    @pytest.mark.parametrize("text", ["", "5", "5w", "yesterday", "-5m", "9999999999s"])
    def test_what_is_no_time(self, text):
        with pytest.raises(ValueError, match="isoformat"):
            to_milliseconds(text, 0)
