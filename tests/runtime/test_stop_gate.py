"""Stops that are blocked or let through, and what a person is told of it."""

from msgspec.structs import replace

from bylaw.model.decision import Decision, Reason
from bylaw.model.event import AgentStop
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.vocabulary import Verdict
from bylaw.runtime.answer import (
    MAX_IN_A_ROW,
    MAX_NAME,
    MAX_NAMED,
    Answer,
    BlocksBefore,
    decide_stop,
    release_warning,
)


def reasons(*rules, verdict=Verdict.DENY):
    return tuple(
        Reason(rule=rule, uid=rule, file="p.md", line=1, verdict=verdict, text="x")
        for rule in rules
    )


def test_it_names_each_rule_once_and_how_often_it_blocked():
    said = release_warning(reasons("tidy", "readme", "tidy"), 3)

    assert said == "released after 3 blocks: `tidy`, `readme`; recorded as unanswered"


def test_once_is_one_block():
    assert release_warning(reasons("tidy"), 1).startswith("released after 1 block: `tidy`;")


def test_many_rules_are_counted_and_no_name_is_long_or_moves_the_cursor():
    said = release_warning(reasons("a\x1b[2J", "b" * 1000, *map(str, range(MAX_NAMED))), 2)

    assert "and 2 more" in said
    assert "\x1b" not in said
    assert "b" * (MAX_NAME + 1) not in said


class Gate:
    """A session whose stops are decided as a test says."""

    def __init__(self, max_blocks=2):
        self.session = lambda _: self._session
        self._session = Session()
        self._max = max_blocks

    def stop(self, *said, **before):
        event, decided = AgentStop(each=True), Decision(verdict=Verdict.DENY, reasons=said)
        self._session = fold(self._session, event, decided)
        judged = decide_stop(Answer(event, decided), self, self._max, BlocksBefore(**before))
        for record in judged.release_records:
            self._session = fold(self._session, record, Decision())
        return judged


def demanded(judged):
    return [one.rule for one in judged.decision.reasons] if judged.blocks else None


def test_a_violation_blocks_so_often_whatever_others_do():
    gate = Gate()
    [p] = reasons("p")
    stops = [gate.stop(p, replace(reasons("q")[0], text=str(n))) for n in range(5)]

    assert [demanded(one) for one in stops] == [["p", "q"]] * 2 + [["q"]] * 3
    assert [len(one.warnings) for one in stops] == [0, 0, 1, 0, 0], "the person is told once"
    assert "after 2 blocks: `p`;" in stops[2].warnings[0]
    assert [len(one.release_records) for one in stops] == [0, 0, 1, 1, 1], (
        "and it is recorded each time"
    )


def test_the_stop_is_let_through_when_none_is_left():
    gate = Gate()
    gate.stop(*reasons("p"))
    stops = [gate.stop(*reasons("p", "q")) for _ in range(4)]

    assert [demanded(one) for one in stops] == [["p", "q"], ["q"], None, None]
    assert stops[2].let_through == {"p", "q"}
    for ended in stops[2:]:
        assert ["`p`, `q`" in one for one in ended.warnings] == [True], "a stop that ends tells all"


def test_one_that_comes_back_as_another_blocks_anew():
    gate = Gate()
    for _ in range(2):
        gate.stop(*reasons("p"))
    changed = [replace(reasons("p")[0], text="other")]

    assert not gate.stop(*reasons("p")).blocks
    assert gate.stop(*changed).blocks


def test_rules_that_only_warn_are_not_what_blocks():
    gate = Gate(max_blocks=1)
    said = (*reasons("tidy"), *reasons("spelling", verdict=Verdict.WARN))
    gate.stop(*said)
    ended = gate.stop(*said)

    assert not ended.blocks
    assert "spelling" not in ended.warnings[0]


def test_a_block_of_others_counts_as_one_of_ours():
    gate = Gate(max_blocks=2)
    stops = [gate.stop(*reasons("p"), of_others=1) for _ in range(2)]

    assert [demanded(one) for one in stops] == [["p"], None]
    assert "after 1 block: `p`;" in stops[1].warnings[0]


def test_a_block_of_others_lets_nothing_through_that_was_never_told():
    gate = Gate(max_blocks=1)
    stops = [gate.stop(*reasons("p"), of_others=1) for _ in range(2)]

    assert [demanded(one) for one in stops] == [["p"], None]


def test_blocks_in_a_row_end_for_all_each_with_its_own_count():
    gate = Gate()
    for _ in range(2):
        gate.stop(*reasons("p"))
    ended = gate.stop(*reasons("p", "q"), in_a_row=MAX_IN_A_ROW)

    assert not ended.blocks
    assert [one.split(";")[0] for one in ended.warnings] == [
        "released after 2 blocks: `p`",
        f"released after {MAX_IN_A_ROW} blocks: `q`",
    ]
    assert len(ended.release_records) == 2
