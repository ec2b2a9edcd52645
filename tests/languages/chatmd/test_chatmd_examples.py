"""The examples of the document, as they stand there, on sessions that are driven (CM-130 to CM-136)."""

import re
from pathlib import Path

import pytest
from chat_rules import call, messages, rules_of, session, turn

from bylaw.engine.plan import StepOutcome
from bylaw.model.effects import HistoryCompact, ToolCall
from bylaw.model.event import Message, ToolAfter, TurnEnd, TurnStart
from bylaw.model.vocabulary import CallStatus, EffectStatus, Role, Verdict

DOCUMENT = Path(__file__).parents[2] / "data" / "seeds" / "000_2a4e22493fe0b8d1.txt"
EXAMPLES = re.findall(
    r"^```xml\n(.*?)^```",
    DOCUMENT.read_text().partition("Representative examples")[2],
    re.MULTILINE | re.DOTALL,
)
REMINDER, REQUIRES, PREREQS, INVARIANTS, ENRICH, PATCH_HELP, COMPACT = EXAMPLES


def test_all_of_them_in_one_file():
    """CM-005"""
    found = rules_of("\n".join(EXAMPLES))

    assert [rule.id for rule in found] == [
        "policy:X/requires",
        "policy:translate/validate",
        "periodic-reminder",
        "x-prereqs",
        "enrich-search",
        "patch-help",
        "auto-compact",
    ]


def test_periodic_reminder():
    """CM-130"""
    chat = session(REMINDER)
    starts = [chat.submit(TurnStart()), *(turn(chat) for _ in range(11))]

    told = [number for number, start in enumerate(starts, 1) if start.steps]
    assert told == [5, 10]
    assert messages(starts[4]) == [("user", "example reminder")]
    assert [rule for rule, _ in starts[4].steps] == ["periodic-reminder"]


def test_x_after_y_and_z():
    """CM-131"""
    chat = session(REQUIRES)
    verdicts = [call(chat, tool).verdict.value for tool in "XYXZX"]

    assert verdicts == ["deny", "allow", "deny", "allow", "allow"]


def test_the_friendlier_variant():
    """CM-132"""
    chat = session(PREREQS)

    assert messages(call(chat, "X")) == [
        ("tool", "Tool X requires tools Y and Z first"),
        ("developer", "Call tools Y and Z with appropriate arguments, then retry X."),
    ]
    call(chat, "Y")
    assert call(chat, "X").verdict is Verdict.DENY
    call(chat, "Z")
    assert call(chat, "X").verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    ("language", "size", "said"),
    [
        ("es", 16_000, []),
        ("it", 16_000, ["target_lang must be one of en, fr, de, es"]),
        ("es", 16_001, ["Input too long; please summarise first"]),
        (
            "it",
            16_001,
            ["target_lang must be one of en, fr, de, es", "Input too long; please summarise first"],
        ),
    ],
)
def test_invariants(language, size, said):
    """CM-133"""
    chat = session(INVARIANTS)
    chat.submit(Message(role=Role.USER, text="x" * size))
    judged = call(chat, "translate", {"target_lang": language})

    assert judged.verdict is (Verdict.DENY if said else Verdict.ALLOW)
    assert [line for _, text in judged.reasons for line in text.split("\n")] == said


@pytest.mark.parametrize("status", [CallStatus.OK, CallStatus.ERROR])
def test_enrich_search(status):
    """CM-134, CM-A35"""
    chat = session(ENRICH)
    after = ToolAfter(tool="odoc_search", call="c", args={"query": "eio"}, status=status)
    found = chat.submit(after)

    args = {"query": "related to eio"}
    assert found.steps == [("enrich-search", ToolCall(tool="markdown_search", args=args))]


def test_enrich_search_without_a_query():
    after = ToolAfter(tool="odoc_search", call="c", status=CallStatus.OK)

    assert messages(session(ENRICH).submit(after)) == [
        ("developer", "action of enrich-search failed: argument `query` missing")
    ]


@pytest.mark.parametrize(
    ("tool", "response", "count"),
    [
        ("apply_patch", "Error: bad hunk", 1),
        ("apply_patch", "ok", 0),
        ("edit", "Error: bad hunk", 0),
    ],
)
def test_patch_help(tool, response, count):
    """CM-135"""
    after = ToolAfter(tool=tool, call="c", status=CallStatus.ERROR, error=response)
    hint = "Patch failed. Ensure the diff matches the V4A format and file paths exist."

    assert messages(session(PATCH_HELP).submit(after)) == [("developer", hint)] * count


def test_auto_compact():
    """CM-136: at turn 1 and, still too large, again at turn 5."""

    def perform(step):
        failed = isinstance(step, HistoryCompact)
        return StepOutcome(EffectStatus.FAILED if failed else EffectStatus.OK)

    chat = session(COMPACT, perform=perform)
    assert chat.submit(TurnStart(), TurnEnd(tokens=40_000)).steps == []
    chat = session(COMPACT, perform=perform)
    ends = [chat.submit(TurnStart(), TurnEnd(tokens=40_001)) for _ in range(5)]

    assert [len(end.steps) for end in ends] == [2, 0, 0, 0, 2]
    assert ends[0].steps[0][1].keep == "system,developer,latest:8"
    assert ends[0].steps[0][1].strategy == "relevance+summary"
