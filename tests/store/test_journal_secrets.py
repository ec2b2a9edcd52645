"""What `[journal] redact` names never reaches the disk, wherever it stands; the rest stays whole."""

import json
import re

import pytest
from journal_law import PROCEDURE, book, rule

import bylaw
from bylaw.engine.index import RuleSet
from bylaw.engine.plan import StepOutcome
from bylaw.model.effects import MessageInsert, Notify, StateSet, ToolCall
from bylaw.model.procedure import Book, Group
from bylaw.model.rule import PlanForm, RuleVerdict, Trigger
from bylaw.model.vocabulary import EffectStatus, Kind, Op, Role, Verdict
from bylaw.model.wire import decode_event
from bylaw.report.verify import RecordNumbers, ReplaySkip, verify
from bylaw.runtime.submit import Runtime
from bylaw.store.journal.journal import REDACTED, Journal, Redactor
from bylaw.store.journal.records import rules_without_texts
from bylaw.store.journal.sessions import SNAPSHOT_EVERY

SECRET = "hunter2-SECRET"
CARD = 4111111111111111
PATTERNS = (re.compile(r"hunter[0-9]-[A-Z]{1,20}"), re.compile("4111[0-9]{12}"))


class Telling:
    """A step, or a reason, with the text of the event."""

    def __init__(self, make, op=Op.NOTIFY):
        self.op = op
        self._make = make

    def make(self, view, match):
        return self._make(getattr(view.event, "text", "") or str(getattr(view.event, "args", "")))


TELLING = rule(
    "telling",
    on=Trigger(kinds=(Kind.MESSAGE, Kind.PROMPT)),
    plan=PlanForm(
        steps=(
            Telling(lambda text: (Notify(text=f"heard: {text}"),)),
            Telling(
                lambda text: (StateSet(space="test:s", name="said", value=[text]),), Op.STATE_SET
            ),
            Telling(lambda text: (ToolCall(tool="t", args={text: text}),), Op.TOOL_CALL),
            Telling(
                lambda text: (MessageInsert(role=Role.DEVELOPER, text=text),), Op.MESSAGE_INSERT
            ),
        )
    ),
)
DENYING = rule(
    "denying",
    on=Trigger(kinds=(Kind.TOOL_BEFORE,)),
    judgement=RuleVerdict(Verdict.WARN, Telling(lambda text: f"not so loud: {text}")),
)


class Failing:
    """A guard whose error quotes what it met."""

    def test(self, view):
        raise ValueError(f"what is {view.event!r}?")


FAILING = rule("failing", on=Trigger(kinds=(Kind.TURN_END,)), guard=Failing())


def events(secret):
    nested = {"deep": [{"deeper": secret, secret: 1, "file": secret, "session": [secret]}]}
    return [
        {"kind": "prompt", "text": f"my word is {secret}."},
        {"kind": "message", "role": "user", "text": f"{secret} " * 100},
        {
            "kind": "tool.before",
            "tool": "t",
            "call": "1",
            "args": {"a": secret, "n": CARD, **nested},
        },
        {"kind": "tool.after", "tool": "t", "call": "1", "status": "ok", "result": nested},
        {"kind": "tool.after", "tool": "t", "call": "2", "status": "ok", "result": CARD},
        {"kind": "tool.after", "tool": secret, "status": "error", "error": secret},
        {
            "kind": "custom",
            "type": "x",
            "payload": {"status": secret, "kind": secret, "uid": [secret]},
        },
        {"kind": "turn.end", "text": secret, "actor": secret},
        {"kind": "agent.stop", "text": secret},
        {"kind": "bus", "message": {"note": secret, "n": float(CARD)}},
        {"kind": "file", "change": "created", "path": f"/home/{secret}/x"},
        {"kind": "turn.start", "facts": {"user": {"id": secret, "settings": {secret: secret}}}},
        {"kind": "turn.start", "facts": {"scripts": {"k": {"value": {"v": secret}}}}},
        {"kind": "turn.start", "facts": {"scripts": {"k": {"error": secret}}}},
        {"kind": "approval", "id": secret, "authority": "human", "granted": True},
    ]


@pytest.fixture(params=[False, True], ids=["file", "after a snapshot"])
def written(request, tmp_path):
    """A journal with all of it; before a snapshot is due, or behind one."""
    path = str(tmp_path / "j.db")
    group = Group("law", 0, PROCEDURE, (TELLING, DENYING, FAILING))
    law = Book(dialect="test", path="law", files=(), digest="", groups=(group,))
    performers = {
        Op.TOOL_CALL: lambda due, event: StepOutcome(EffectStatus.OK, {SECRET: [SECRET]}),
        Op.MESSAGE_INSERT: lambda due, event: StepOutcome(EffectStatus.FAILED, {"error": SECRET}),
    }
    journal = Journal(path, redactor=Redactor(PATTERNS))
    work = Runtime(RuleSet((law,)), rules_without_texts((law,)), journal, performers=performers)
    with journal:
        for event in events(SECRET):
            work.submit(decode_event(line(event)))
        if request.param:
            for _ in range(SNAPSHOT_EVERY):
                work.submit(decode_event(b'{"kind": "session.start"}'))
        yield path, journal


def line(event):
    return json.dumps(event).encode()


@pytest.mark.usefixtures("written")
def test_no_byte_of_a_secret_is_in_any_file(tmp_path):
    files = sorted(tmp_path.iterdir())

    assert [one.name for one in files] == ["j.db", "j.db-shm", "j.db-wal"]
    for one in files:
        data = one.read_bytes()
        assert b"SECRET" not in data
        assert str(CARD).encode() not in data
    assert REDACTED.encode() in b"".join(one.read_bytes() for one in files)


def test_the_session_holds_none_either(written):
    session = written[1].session("default")

    assert "SECRET" not in repr(session)
    assert session.slate.variables["test:s"]["said"] != []
    assert session.count_calls("t") > 2  # names of tools stay, or quotas would not count


def test_the_journal_is_whole_and_says_what_it_hides(written):
    report = verify(written[0], decisions=True, tell=lambda _: None)

    assert report.findings == []
    assert report.folded == report.sessions
    (hidden,) = written[1].query("SELECT count(*) FROM records WHERE redacted")
    assert hidden[0] > 10
    unchecked = report.decisions.unchecked
    assert unchecked[ReplaySkip.REDACTED].count == hidden[0]
    left = unchecked.get(ReplaySkip.NO_RULES, RecordNumbers()).count
    assert left == report.records - hidden[0]


def test_rules_have_seen_what_is_hidden(tmp_path):
    seen = []
    spying = rule(
        "spying",
        on=Trigger(kinds=(Kind.PROMPT,)),
        judgement=RuleVerdict(Verdict.WARN, Telling(lambda text: seen.append(text) or text)),
    )
    law = (book(spying),)
    with Journal(redactor=Redactor(PATTERNS)) as journal:
        work = Runtime(RuleSet(law), rules_without_texts(law), journal)
        answer = work.submit(decode_event(line(events(SECRET)[0])))
        (kept,) = journal.query("SELECT decision FROM payloads")

    assert seen == ["my word is hunter2-SECRET."]
    assert answer.deciding.reasons[0].text == "my word is hunter2-SECRET."
    assert b"my word is [redacted]." in kept[0]


def test_quiet_events_of_the_fast_path_are_recorded_with_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bylaw.toml").write_text('[journal]\nredact = ["hunter[0-9]-[A-Z]{1,20}"]\n')
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.lines").write_text(
        "deny tool shell if count_calls('shell') >= 1 because once\n"
        "on tool.before if turn_index == 99 say hello\n"
    )
    with bylaw.Engine(bylaw.load("rules"), journal=True) as engine:
        engine.submit({"kind": "tool.before", "tool": "ls", "args": {"a": SECRET}})
        engine.submit({"kind": "tool.before", "tool": "ls", "args": {"a": "nothing"}})

    data = (tmp_path / ".bylaw" / "state" / "journal.db").read_bytes()
    assert b"SECRET" not in data
    assert b"[redacted]" in data
    report = verify(".bylaw/state/journal.db", decisions=True, tell=lambda _: None)
    assert report.findings == []
    assert (report.decisions.same, report.decisions.unchecked[ReplaySkip.REDACTED].count) == (1, 1)
