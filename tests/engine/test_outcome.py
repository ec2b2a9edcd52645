"""Outcomes and the references to them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw.engine.plan import CUT, DONE, INTERRUPTED, MAX_FILLED_CHARS, StepOutcome, fill, fill_text
from bylaw.model.effects import (
    AgentRun,
    ApprovalRequest,
    BusWrite,
    CommandRun,
    EntryWrite,
    LockRelease,
    MessageInsert,
    Outcome,
    OutcomePart,
    OutputReplace,
)
from bylaw.model.vocabulary import Authority, Channel, EffectStatus, EntryStatus, Role

ERROR, EXIT_CODE, RESULT, COUNT = (Outcome(part) for part in OutcomePart)
ENTRY = {"hash": "h", "status": EntryStatus.PASSED, "policy": "p", "baseline": "b"}


def ok(result):
    return StepOutcome(EffectStatus.OK, result)


def failed(result=None, status=EffectStatus.FAILED):
    return StepOutcome(status, result)


class TestParts:
    def test_an_object_says_its_parts_by_name(self):
        known = [ok({"error": "e", "exit_code": 0, "result": [1, "ä"], "count": 3})]

        assert fill_text((ERROR, EXIT_CODE, RESULT, COUNT), known) == 'e0[1,"ä"]3'

    def test_anything_else_is_the_result(self):
        assert fill_text(RESULT, [ok("found")]) == "found"
        assert fill_text((ERROR, EXIT_CODE, COUNT), [ok("found")]) == ""

    def test_or_the_error_of_a_step_that_failed(self):
        assert fill_text(ERROR, [failed("no such file")]) == "no such file"
        assert fill_text(RESULT, [failed("no such file")]) == ""

    @pytest.mark.parametrize("status", [s for s in EffectStatus if s is not EffectStatus.OK])
    def test_a_failure_without_a_word_says_its_status(self, status):
        """LD-103: evidence of a failure is never empty"""
        assert fill_text(ERROR, [failed(status=status)]) == status.value
        assert fill_text(ERROR, [failed({"exit_code": 1}, status)]) == status.value

    def test_what_was_interrupted_says_so(self):
        assert INTERRUPTED.failed
        assert fill_text(ERROR, [INTERRUPTED]) == "interrupted"

    def test_the_newest_outcome_that_has_the_part_counts(self):
        """A lock released in between hides no exit code."""
        known = [ok({"exit_code": 0}), ok({"exit_code": 3}), DONE]

        assert fill_text(EXIT_CODE, known) == "3"

    def test_without_outcomes_references_are_empty(self):
        assert fill_text(("a", RESULT, "b"), ()) == "ab"


class TestFill:
    @pytest.mark.parametrize(
        ("step", "field"),
        [
            (MessageInsert(role=Role.DEVELOPER, text=("got ", RESULT)), "text"),
            (AgentRun(src="a.chatmd", input=("got ", RESULT)), "input"),
            (BusWrite(channel=Channel.OUTPUT, text=("got ", RESULT)), "text"),
            (ApprovalRequest(to=Authority.HUMAN, text=("got ", RESULT)), "text"),
            (EntryWrite(**ENTRY, result=("got ", RESULT)), "result"),
            (OutputReplace(text=("got ", RESULT)), "text"),
        ],
        ids=lambda value: getattr(value, "op", ""),
    )
    def test_every_text_is_filled(self, step, field):
        filled = fill(step, [ok("x")])

        assert getattr(filled, field) == "got x"
        assert b"outcome" not in msgspec.json.encode(filled)

    @pytest.mark.parametrize(
        "step",
        [
            LockRelease(key="k"),
            CommandRun(argv=("a", "b"), cwd=".", timeout_s=1),
            EntryWrite(**ENTRY, trigger_files=("a", "b")),
        ],
        ids=lambda step: step.op,
    )
    def test_other_fields_stay_as_they_are(self, step):
        assert fill(step, [ok("x")]) == step

    @pytest.mark.parametrize("text", ['{"outcome":"error"}', "{{error}}", "{error}", "${x}", "%s"])
    def test_what_is_filled_in_is_never_filled_again(self, text):
        """LD-105"""
        step = MessageInsert(role=Role.TOOL, text=("a ", RESULT))
        once = fill(step, [ok(text)])

        assert once.text == f"a {text}"
        assert fill(once, [ok("b"), failed("c")]) == once

    @given(st.lists(st.text() | st.just(RESULT)).map(tuple), st.text())
    def test_only_references_change(self, pieces, result):
        expected = "".join(result if piece is RESULT else piece for piece in pieces)

        assert fill_text(pieces, [ok(result)]) == expected

    def test_a_long_result_referred_to_often_is_cut(self):
        result = "x" * (MAX_FILLED_CHARS // 2 + 1)
        text = fill_text((RESULT,) * 10_000, [ok(result)])

        assert text == "x" * MAX_FILLED_CHARS + CUT

    def test_what_just_fits_is_not_cut(self):
        result = "x" * MAX_FILLED_CHARS

        assert fill_text((RESULT, ""), [ok(result)]) == result
