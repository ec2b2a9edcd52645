"""Random rules, messages and approvals: what is decided is what a plain reading of the law says."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from law_sessions import DIGEST, ID, approved, bus, loaded, under

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.decision import Decision
from bylaw.model.session import Session
from bylaw.model.vocabulary import ApprovalState, PolicyMode, Verdict

BOTH = ("human", "antigravity")
NEEDED = {"single": 1, "dual": 2}
RUN = {"type": "run_cmd", "cmd": "npm test", "cwd": "src", "timeout_sec": 9}
BROUGHT = {**RUN, "cmd": "{{run}}"}
LOCK = {"type": "write_processing_lock", "lock_key": "k"}
TELL = {"type": "write_bus", "channel": "output", "template": "told"}
ASK = {"type": "request_approval", "channel": "input", "to": "human", "payload_template": "may I"}


def some(*values):
    """Some of these, in their order."""
    return st.sets(st.sampled_from(values), min_size=1).map(
        lambda one: [v for v in values if v in one]
    )


def maybe(strategy):
    return st.none() | strategy


@st.composite
def rules(draw, number):
    """One rule that loads."""
    categories = draw(maybe(some("A", "B", "C", "D")))
    types = draw(maybe(some("task", "exec", "approval_request")))
    actions = draw(
        st.lists(st.sampled_from([RUN, BROUGHT, TELL, ASK, TELL, LOCK]), min_size=1, max_size=4)
    )
    if types and "approval_request" in types:
        actions = [TELL]
    if BROUGHT in actions and (not categories or "A" in categories):
        actions = [RUN if one is BROUGHT else one for one in actions]
    mode = draw(st.sampled_from(["none", "single", "dual", "retroactive"]))
    authorities = draw(some(*BOTH)) if mode != "dual" else list(BOTH)
    if mode in ("none", "retroactive") and draw(st.booleans()):
        authorities = []
    guards = {"phase_in": draw(maybe(some(1, 2, 3))), "category_in": categories}
    match = {"command_types": types, "paths": draw(maybe(some("src/**", "**/*.ts", "lib/*")))}
    return {
        "rule_id": f"R{number}",
        "priority": draw(st.integers(1, 3)),
        "trigger": {"kind": "bus_input", "match": present(match)},
        "guards": present(guards) | {"approval": {"mode": mode, "authorities": authorities}},
        "actions": actions,
        "continue": draw(st.booleans()),
    }


def present(keys):
    return {key: value for key, value in keys.items() if value is not None}


@st.composite
def books(draw):
    count = draw(st.integers(1, 5))
    return [draw(rules(number)) for number in range(count)]


approvals = st.builds(
    approved,
    by=st.sampled_from(BOTH),
    id=st.sampled_from([ID, ID, ID, ID + "2"]),
    category=st.sampled_from(["", "", "B", "C"]),
    digest=st.sampled_from([DIGEST, DIGEST, "other"]),
    state=st.sampled_from([ApprovalState.GRANTED, *ApprovalState]),
)
messages = st.builds(
    lambda told, phase, flag, **fields: bus(
        told={"phase": phase, "policy_mode": PolicyMode.RELAXED} if told else {"phase": phase},
        phase=2 if told or phase is None else phase,
        **({} if flag is None else {"requires_approval": flag}),
        **fields,
    ),
    told=st.booleans(),
    phase=st.sampled_from([None, 1, 2, 2, 3]),
    flag=st.sampled_from([None, True, False]),
    approvals=st.lists(approvals, max_size=4),
    retry=st.integers(0, 1),
    category=st.sampled_from("ABCD"),
    command_type=st.sampled_from(["task", "exec", "exec", "approval_request"]),
    target_paths=st.lists(
        st.sampled_from(["src/a.ts", "src\\b.ts", "lib/c.py", "x.ts"]), max_size=2
    ),
    run=st.just(["npm test", "node x.js"]),
)


def runs(rule):
    return any(one["type"] == "run_cmd" for one in rule["actions"])


def is_within(path, pattern):
    path = path.replace("\\", "/")
    tests = {
        "src/**": path.startswith("src/"),
        "**/*.ts": path.endswith(".ts"),
        "lib/*": path.startswith("lib/") and path.count("/") == 1,
    }
    return tests[pattern]


def needed(rule, message):
    """How many approvals the law wants before this rule may act on this message."""
    mode = rule["guards"]["approval"]["mode"]
    if message["category"] == "D":
        return 0
    if mode in NEEDED:
        return NEEDED[mode]
    if not runs(rule):
        return 0
    return 1 if message["category"] in "BC" or message.get("requires_approval") is True else 0


def granted(rule, event):
    listed = rule["guards"]["approval"]["authorities"] or BOTH
    return {
        one.authority
        for one in event.facts.approvals
        if one.authority in listed
        and one.id == event.message["msg_id"]
        and one.state is ApprovalState.GRANTED
        and one.category in ("", event.message["category"])
        and one.digest == event.digest
    }


def fits(rule, event):
    """Everything but the approvals."""
    message, match, guards = event.message, rule["trigger"]["match"], rule["guards"]
    only_tells = all(one is TELL for one in rule["actions"])
    types = match.get("command_types") or ["task", "exec", *["approval_request"] * only_tells]
    paths = match.get("paths")
    return (
        event.facts.phase in guards.get("phase_in", (0, 1, 2, 3, 4))
        and message["category"] in guards.get("category_in", "ABCD")
        and message["command_type"] in types
        and (
            not paths
            or (
                bool(message["target_paths"])
                and all(any(is_within(t, p) for p in paths) for t in message["target_paths"])
            )
        )
    )


def by_the_law(book, event):
    """The verdict, and the ids of the rules that act."""
    acting, waiting = [], False
    for rule in sorted(book, key=lambda one: one["priority"]):
        if not fits(rule, event):
            continue
        if len(granted(rule, event)) < needed(rule, event.message):
            waiting = True
            continue
        acting.append(rule)
        if not rule["continue"]:
            break
    ids = [rule["rule_id"] for rule in acting]
    if event.message["command_type"] == "approval_request":
        return Verdict.ALLOW, ids
    if waiting and not any(map(runs, acting)):
        return Verdict.ASK, ids
    return (Verdict.ALLOW if acting else Verdict.DENY), ids


def text_of(book):
    return json.dumps({"dsl_version": "0.1", "rules": book})


@settings(max_examples=400, deadline=None)
@given(books(), messages)
def test_what_is_decided_is_what_the_law_says(book, event):
    """LD-080 to LD-084, LD-A28: first match, by priority, then position."""
    decision = decide(RuleSet([loaded(text_of(book))]), Session(), event)
    assert isinstance(decision, Decision)
    verdict, ids = by_the_law(book, event)
    judged = [one.verdict for one in decision.reasons if one.rule != "relaxed"]

    assert max(judged, default=Verdict.ALLOW) is verdict
    fired = [line.uid.partition("#")[2] for line in decision.trace if line.result == "fired"]
    assert [one for one in fired if one.startswith("R")] == ids


@settings(max_examples=300, deadline=None)
@given(books(), messages)
def test_no_command_without_what_its_category_demands(book, event):
    """LD-067 to LD-069, LD-075, LD-076, LD-A16"""
    decision = decide(RuleSet([loaded(text_of(book))]), Session(), event)
    for plan in decision.plans:
        done = [step.op.value for step in plan.steps]
        if "command.run" not in done:
            continue
        rule = next(one for one in book if one["rule_id"] == plan.rule)
        assert event.message["command_type"] != "approval_request"
        assert event.facts.phase is not None
        if event.message["category"] == "D":
            assert "approval.request" in done[: done.index("command.run")]
        elif event.message["category"] in "BC":
            mode = rule["guards"]["approval"]["mode"]
            assert len(granted(rule, event)) >= NEEDED.get(mode, 1)
        if rule["actions"].count(BROUGHT):
            assert event.message["category"] != "A"


@settings(max_examples=200, deadline=None)
@given(books(), messages, st.sampled_from(["", "command.run", "lock.acquire", "approval.request"]))
def test_every_end_has_evidence_and_no_lock_stays(book, event, failing):
    """LD-003, LD-092: whatever fails."""
    message = under(text_of(book), failing=failing).submit(event)
    if event.message["command_type"] != "approval_request":
        channels = [
            step.channel.value for step, _ in message.performed if step.op.value == "bus.write"
        ]
        assert {"output", "error"} & set(channels)
    held = set()
    for step, outcome in message.performed:
        if step.op.value == "lock.acquire" and not outcome.failed:
            held.add(step.key)
        elif step.op.value == "lock.release":
            held.discard(step.key)
    assert not held
