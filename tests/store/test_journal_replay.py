"""Recorded events, decided again under the rules that were recorded with them: the same bytes."""

import random
import shutil
from pathlib import Path

import msgspec
import pytest
from journal_law import Chore, book, rule, runtime

import bylaw
from bylaw.engine.index import RuleSet
from bylaw.expr.expression import load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.views import ExpressionGuard, guard_reader
from bylaw.model.decision import Decision
from bylaw.model.event import TurnStart
from bylaw.model.rule import Limits, PlanForm, Trigger
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Kind
from bylaw.report.verify import ReplaySkip, verify
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import rules_without_texts

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "toml-rules"
EVENTS = 10_000
ANOTHER = """\
[rule]
id = "second-time"
trigger = "on_tool_complete"

[condition]
expression = "context.result.tool_name == 'shell' and context.state.get('seen', 0) >= 0"

[action]
type = "set_state"
key = "seen"
value = "{{ context.history.total_tool_calls }}"
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(EXAMPLES, root / "rules")
    (root / "bylaw.toml").touch()
    return root


class Life:
    """Random events of several sessions, in an order that could be."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.calls = {}

    def event(self):
        session = self.chance.choice(["one", "two", "three"])
        kind = self.chance.choice(
            ["prompt", "turn.start", "message", "message", "turn.end", "agent.stop", "custom"]
            + ["tool.before"] * 4
            + ["tool.after"] * 4
        )
        event = {"kind": kind, "session": session, **self.about(kind, session)}
        if self.chance.random() < 0.1:
            event["tokens"] = self.chance.randrange(200_000)
        if self.chance.random() < 0.3:
            event["facts"] = {"token_budget": 100_000, "user": {"id": "u1"}}
        if self.chance.random() < 0.05:
            event["agent"] = "helper"
        return event

    def about(self, kind, session):
        match kind:
            case "prompt" | "agent.stop" | "turn.end":
                return {"text": self.text()}
            case "message":
                role = self.chance.choice(["user", "assistant", "tool", "developer"])
                return {"role": role, "text": self.text()}
            case "tool.before":
                call = f"c{len(self.calls)}"
                tool = self.chance.choice(["shell", "grep", "read", "edit", "delete_file"])
                self.calls[session, call] = tool
                return {"tool": tool, "call": call, "args": self.args()}
            case "tool.after":
                mine = [key for key in self.calls if key[0] == session]
                key = self.chance.choice(mine) if mine else (session, "")
                tool = self.calls.pop(key, "grep")
                status = self.chance.choice(["ok", "ok", "ok", "error", "timeout", "denied"])
                result = self.chance.choice([None, self.text(), self.args(), 7, [1.5, True]])
                return {
                    "tool": tool,
                    "call": key[1],
                    "status": status,
                    "result": result,
                    "error": "it broke" if status == "error" else "",
                    "ms": self.chance.randrange(40_000),
                }
            case "custom":
                return {"type": "thing", "payload": self.args()}
        return {}

    def text(self):
        words = ["search", "test", "ÄÖ€", "\0text:", "\0plain:", "'\"\\", "x" * 300, "\n", ""]
        return " ".join(self.chance.choices(words, k=self.chance.randrange(6)))

    def args(self):
        path = self.chance.choice(["src/a.py", "tests/b.py", self.text()])
        return {"path": path, "deep": {self.text(): [self.text(), None, 2**60, 0.1]}}


def test_ten_thousand_random_events_are_decided_again_to_the_same_bytes(root, monkeypatch):
    monkeypatch.chdir(root)
    life = Life(1)
    with bylaw.Engine(bylaw.load(), journal="j.db") as engine:
        for number in range(EVENTS):
            if number == EVENTS // 2:
                (root / "rules" / "second-time.toml").write_text(ANOTHER)
                assert engine.reload().diagnostics == ()
            answer = engine.submit(life.event()).answer
            assert answer.problem == ""

    report = verify("j.db", decisions=True, tell=lambda _: None)

    assert report.findings == []
    assert report.records > EVENTS
    assert report.decisions.same == report.records
    assert report.decisions.unchecked == {}
    assert report.folded == report.sessions == 4  # that of the reload is `default`


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("held", [True, False])
def test_what_a_limit_held_back_is_in_the_record_on_either_path(fast, held):
    text = SourceFile("guard", "count_calls('shell') == 0" if held else "turn_index > 9")
    guard = load_guard(text, Span(0, len(text.text)), guard_environment())
    once = rule(
        "once",
        on=Trigger(kinds=(Kind.TURN_START,)),
        guard=ExpressionGuard(guard, guard_reader("test:law", "test:law#")),
        limits=Limits(once=True),
        plan=PlanForm(steps=(Chore("hello"),)),
    )
    with Journal() as journal:
        work = runtime(journal, once)
        work.renew(RuleSet((book(once),), fast=fast), rules_without_texts((book(once),)))
        for _ in range(2):
            work.submit(TurnStart())
        found = journal.query(
            "SELECT p.decision FROM payloads p JOIN records r USING (seq) WHERE r.kind = ?",
            ("turn.start",),
        )

    results = [[line.result.value for line in decoded(data).trace] for (data,) in found]
    assert results == ([["fired"], ["limited"]] if held else [[], []])


def decoded(data):
    return msgspec.json.decode(data, type=Decision)


def test_what_cannot_be_decided_again_is_listed(root, monkeypatch):
    monkeypatch.chdir(root)
    with bylaw.Engine(bylaw.load().in_force(), journal="l.db") as engine:
        engine.submit({"kind": "turn.start"})

    report = verify("l.db", decisions=True, tell=lambda _: None)

    assert report.findings == []
    assert report.decisions.same == 0
    assert report.decisions.unchecked[ReplaySkip.NO_RULES].ranges == [(1, 1)]

    with bylaw.Engine(bylaw.load(), journal="l.db") as engine:
        engine.submit({"kind": "turn.start"})

    # The same rules, and this time with their texts.
    report = verify("l.db", decisions=True, tell=lambda _: None)
    assert report.decisions.same == report.records
