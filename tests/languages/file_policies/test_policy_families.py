"""The rules of one policy, asked together or one by one: the same decisions, needs and traces."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from policy_texts import API, FORMAT, PAIRING, README, policy_text
from policy_world import World, book_of

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.engine.view import NO_MORE_FACTS
from bylaw.model.decision import OPEN_ENTRIES, Needs, TraceResult
from bylaw.model.event import AgentStop
from bylaw.model.facts import Entry, WorkFacts
from bylaw.model.session import Session
from bylaw.model.vocabulary import EntryStatus

BOOK = book_of(
    api_documentation=API,
    python_formatting=FORMAT,
    readme_accuracy=README,
    source_test_pairing=PAIRING,
    prompt_only=policy_text("name: Since the prompt\ntrigger: src/**\ncompare_to: prompt"),
)
UIDS = sorted({rule.uid for group in BOOK.groups for rule in group.rules})
POLICIES = [uid.rpartition("#")[2] for uid in UIDS if ":builtin#" not in uid]
PATHS = ["src/main.py", "src/a/b.py", "tests/a/b_test.py", "api/x.py", "docs/api/x.md", "README.md"]
ENTRIES = st.builds(
    Entry,
    policy=st.sampled_from([*POLICIES, "removed"]),
    status=st.sampled_from(EntryStatus),
    digest=st.sampled_from(["", "x"]),
    shown=st.integers(0, 3),
    interrupted=st.booleans(),
    tried_now=st.booleans(),
    stood_before=st.booleans(),
)
WORLDS = st.builds(
    World,
    files=st.dictionaries(st.sampled_from(PATHS), st.sampled_from([None, "one", "two "])),
    entries=st.dictionaries(st.sampled_from(["1" * 12, "2" * 12]), ENTRIES),
)


def both(session, event):
    """What is decided rule by rule, after seeing that the families say the same."""
    decided = decide(RuleSet([BOOK], fast=False), session, event)
    assert decide(RuleSet([BOOK]), session, event) == decided
    return decided


@settings(max_examples=200, deadline=None)
@given(
    world=WORLDS,
    disabled=st.sets(st.sampled_from(UIDS), max_size=3),
    unknown=st.sampled_from(
        ["", "changes:base", "changes:prompt", f"entries:{OPEN_ENTRIES}", NO_MORE_FACTS]
    ),
    round_=st.sampled_from([1, 2]),
)
def test_families_say_what_their_rules_say(world, disabled, unknown, round_):
    facts = WorkFacts(disabled=tuple(sorted(disabled)), unknown=(unknown,) if unknown else ())
    event = AgentStop(seq=1, round=round_, facts=facts)
    while isinstance(asked := both(Session(), event), Needs):
        for need in asked.needs:
            event = replace(event, facts=world.gather(need, event.facts))


def by_id(uid):
    return uid.rpartition("#")[2]


def test_what_is_idle_is_told_once_and_not_asked():
    """Most policies are about other files: each costs one question a round, not three."""
    rules = RuleSet([BOOK])
    world, event = World({"docs/other.md": "x"}), AgentStop(seq=1)
    while isinstance(decision := decide(rules, Session(), event), Needs):
        for need in decision.needs:
            event = replace(event, facts=world.gather(need, event.facts))
    results = {by_id(line.uid): line.result for line in decision.trace}
    assert {results[policy] for policy in POLICIES} == {TraceResult.GUARD_FALSE}
    families = [one for found in rules.candidates(event) for one in found.families]
    assert sorted(by_id(one[0].uid) for one in families if len(one) > 2) == sorted(POLICIES)
