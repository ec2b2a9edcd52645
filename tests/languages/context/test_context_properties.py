"""What holds for all documents of the context language and all that is said under them."""

import io

import msgspec
from context_sessions import Contract, answers, warnings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_contracts import has_type, made
from random_talk import Model, message, other
from random_toml import Dice
from ruamel.yaml import YAML

from bylaw.languages.context.output import ERROR_HEADER, is_payload
from bylaw.model.event import Prompt
from bylaw.model.vocabulary import Verdict

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150)
THROWS = st.binary(min_size=900, max_size=900)
CODES = {
    "AMBIGUOUS_ID",
    "SCHEMA_VIOLATION",
    "UNKNOWN_ID",
    "INVALID_COMMAND",
    "INVALID_YAML",
    "PARSE_ERROR",
    "CONFLICT",
    "DUPLICATE_ID",
    "REFERENCE_ERROR",
}
DETAILS = {"block_type", "id", "line", "responses", "workflows", "candidates"}
SUGGESTS = (
    "WARNING: ai-context-language\n"
    "Not a command. Did you mean: {} ? To run it, type it exactly as shown."
)
_ENCODE = msgspec.json.Encoder().encode


def enabled_of(slate):
    enabled = slate.enabled
    return enabled.responses, enabled.workflows, enabled.protocols


def check_payload(text):
    """AC-127 to AC-134: a payload, read by somebody else's YAML; its code."""
    assert is_payload(text)
    header, _, body = text.partition("\n")
    assert header == ERROR_HEADER
    read = YAML(typ="safe", pure=True).load(io.StringIO(body))
    assert list(read) in (["code", "message", "details"], ["code", "message", "details", "hint"])
    assert read["code"] in CODES
    assert isinstance(read["message"], str)
    assert set(read["details"]) <= DETAILS
    assert all(isinstance(one, str) for key, one in read["details"].items() if key == "id")
    assert "```" not in text
    assert "|" not in text
    return read


def said(dice, most=6):
    """A document, and what happens under it."""
    document = made(dice)
    happens = []
    for _ in range(dice.pick(range(1, most + 1))):
        talk = dice.pick([message, message, lambda dice, made: (other(dice, made), None)])
        happens.append(talk(dice, document))
    return document, happens


@settings(RANDOM, max_examples=300)
@given(THROWS)
def test_calls_do_what_the_document_says_and_nothing_else(thrown):
    """AC-004, AC-015, AC-124, AC-126, AC-A34, AC-A43"""
    document, happens = said(Dice(thrown))
    contract, model = Contract(document.text), Model(document)
    for event, told in happens:
        before = contract.slate
        decision = contract.submit(event)
        if told is None:
            assert contract.slate == before, "only messages of the user change something"
            continue
        for call in told.calls:
            model.call(*call)
        codes = [check_payload(text)["code"] for text in answers(decision)]
        assert codes == ([told.code] if told.code else [])
        assert warnings(decision) == [SUGGESTS.format(one) for one in told.suggestions]
        if not told.calls:
            assert contract.slate == before, "a failed call, a near miss and prose change nothing"
        assert contract.state == model.state
        assert enabled_of(contract.slate) == model.enabled
        assert contract.slate.response == model.response
        for name, (type_, _) in document.states.items():
            assert has_type(document, contract.state[name], type_)


@settings(RANDOM, max_examples=300)
@given(THROWS)
def test_what_breaks_an_enabled_rule_is_answered_with_one_payload(thrown):
    """AC-014, AC-132, AC-135, AC-166, AC-170 to AC-175"""
    document, happens = said(Dice(thrown), 12)
    contract, model = Contract(document.text), Model(document)
    for event, told in happens:
        decision = contract.submit(event)
        for call in told.calls if told else ():
            model.call(*call)
        if told:
            continue
        refused = model.refuses(event)
        payloads = [check_payload(text) for text in answers(decision)]
        assert [one["code"] for one in payloads] == ["CONFLICT"] * refused
        assert decision.verdict is (Verdict.HALT if refused else Verdict.ALLOW)
        for one in payloads:
            responses, workflows, _ = model.enabled
            assert one["details"].get("responses", []) == list(responses)
            assert one["details"].get("workflows", []) == list(workflows)


@settings(RANDOM)
@given(THROWS)
def test_a_suggestion_runs_when_it_is_submitted(thrown):
    """AC-099, AC-A27"""
    document, happens = said(Dice(thrown))
    contract = Contract(document.text)
    for event, _ in happens:
        for warning in warnings(contract.submit(event)):
            suggestion = warning.split("Did you mean: ", 1)[1].rsplit(" ? To run it", 1)[0]
            decision = contract.submit(Prompt(text=suggestion))
            assert decision.plans
            assert not decision.reasons


@settings(RANDOM)
@given(THROWS)
def test_replaying_gives_the_same_bytes(thrown):
    document, happens = said(Dice(thrown))
    lives = []
    for fast in (True, True, False):
        contract = Contract(document.text, fast=fast)
        decisions = [contract.submit(event) for event, _ in happens]
        shown = [
            (one.verdict.value, one.reasons, one.plans, one.fired, tuple(one.trace))
            for one in decisions
        ]
        lives.append(_ENCODE((shown, contract.slate)))

    assert lives[0] == lives[1] == lives[2]


@settings(RANDOM)
@given(THROWS, st.text(max_size=80))
def test_no_text_breaks_anything(thrown, text):
    """Whatever is typed is a call, an error with a payload, a warning, or prose."""
    document = made(Dice(thrown))
    contract = Contract(document.text)
    name = next(iter(document.commands))
    for line in (text, f"/{text}", f"/{name}({text}", f"/{name}({text})", f"{name}({text})"):
        for payload in answers(contract.say(line)):
            check_payload(payload)
        for state, (type_, _) in document.states.items():
            assert has_type(document, contract.state[state], type_)
