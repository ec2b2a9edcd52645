"""LD-022 to LD-038: what a message must be, and what relaxed mode forgives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw.languages.law.messages import (
    MAX_PROBLEMS,
    MAX_RUN,
    MAX_TARGETS,
    check_message,
    is_decision,
    is_message_id,
)
from bylaw.model.facts import LawFacts
from bylaw.model.vocabulary import PolicyMode

MSG = {
    "msg_id": "20240116_120000_cursor_fix-lint",
    "msg_type": "command",
    "command_type": "exec",
    "phase": 2,
    "category": "A",
    "title": "Fix lint",
    "target_paths": ["src/a.ts"],
    "origin_ref": "src/a.ts",
    "created_by": "cursor",
    "notes": "",
}
STRICT = LawFacts(phase=2)
RELAXED = LawFacts(phase=2, policy_mode=PolicyMode.RELAXED)


def refused(facts=STRICT, without=(), **changes):
    message = {key: value for key, value in {**MSG, **changes}.items() if key not in without}
    return check_message(message, facts).refused


def test_a_message_as_it_should_be():
    for facts in (STRICT, RELAXED, LawFacts(), LawFacts(phase=None)):
        assert check_message(MSG, facts).refused == ()
        assert check_message(MSG, facts).forgiven == ()


def test_what_need_not_be_there():
    optional = {"run": ["npm test"], "requires_approval": True, "approval_by": ["human"]}

    assert refused(**optional) == ()
    assert refused(run=[], approval_by=[], requires_approval=False) == ()


@pytest.mark.parametrize(
    "id_",
    [
        "20240116_120000_cursor_fix-lint",
        "20240229_235959_a_b_c",
        "20240116_120000_claude-code_x_y-z",
    ],
)
def test_ids(id_):
    assert is_message_id(id_)
    assert refused(msg_id=id_) == ()


@pytest.mark.parametrize(
    "id_",
    [
        "2024-01-16_120000_cursor_x",
        "20241301_120000_cursor_x",
        "20240230_120000_a_b",
        "20230229_120000_a_b",
        "20240116_250000_cursor_x",
        "20240116_126000_cursor_x",
        "20240116_120060_cursor_x",
        "00000116_120000_cursor_x",
        "20240116_120000_cursor",
        "20240116_120000_cursor_",
        "20240116_120000__x",
        "20240116_120000_cursor__x",
        "20240116_120000_cursor_x/../y",
        "20240116_120000_cursor_x.y",
        "20240116_120000_cursor_x\n",
        "２０２４0116_120000_cursor_x",
        "20240116_120000_cursor_" + "x" * 200,
        "",
        None,
        5,
        ["20240116_120000_cursor_x"],
    ],
)
def test_what_is_no_id(id_):
    assert not is_message_id(id_)
    (problem,) = refused(msg_id=id_)
    assert problem.startswith("`msg_id` must be `YYYYMMDD_HHMMSS_<agent>_<slug>`, not ")


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("msg_type", "note", "`msg_type` must be `command` or `evidence`, not `note`"),
        ("msg_type", ["command"], "`msg_type` must be `command` or `evidence`, not a list"),
        (
            "command_type",
            "run",
            "`command_type` must be `task` or `exec` or `approval_request`, not `run`",
        ),
        ("phase", 5, "`phase` must be a whole number from 0 to 4, not `5`"),
        ("phase", "two", "`phase` must be a whole number from 0 to 4, not `two`"),
        ("phase", True, "`phase` must be a whole number from 0 to 4, not `true`"),
        ("phase", 2.0, "`phase` must be a whole number from 0 to 4, not `2.0`"),
        ("phase", 3, "`phase` is 3, but the active phase is 2"),
        ("category", "a", "`category` must be `A` or `B` or `C` or `D`, not `a`"),
        ("category", "E", "`category` must be `A` or `B` or `C` or `D`, not `E`"),
        ("title", ["x"], "`title` must be a text of 0 to 4,096 characters, not a list"),
        (
            "target_paths",
            "src/a.ts",
            "`target_paths` must be a list of at most 1,000 paths, not `src/a.ts`",
        ),
        ("run", "npm test", "`run` must be a list of at most 100 commands, not `npm test`"),
        (
            "run",
            ["npm test", {}],
            "`run` contains a command that must be a text of 1 to 10,000 characters, not a mapping",
        ),
        ("requires_approval", 1, "`requires_approval` must be true or false, not `1`"),
        ("requires_approval", "yes", "`requires_approval` must be true or false, not `yes`"),
        ("approval_by", ["cursor"], "`approval_by` must be a list of `human` and `antigravity`"),
        ("approval_by", "human", "`approval_by` must be a list of `human` and `antigravity`"),
        (
            "created_by",
            " ",
            "`created_by` must be a text of 1 to 4,096 characters, not an empty text",
        ),
        ("notes", None, "`notes` must be a text of 0 to 100,000 characters, not nothing"),
        ("prioritty", 1, "unknown key `prioritty`"),
        ("titel", "x", "unknown key `titel` (did you mean `title`?)"),
        ("approved", True, "unknown key `approved` (did you mean `approval_by`?)"),
    ],
)
def test_what_is_refused_names_the_field(key, value, problem):
    assert refused(**{key: value}) == (problem,)


@pytest.mark.parametrize("key", ["category", "msg_type", "target_paths", "origin_ref", "title"])
def test_what_is_missing(key):
    """LD-029: a category that is missing is never taken for A."""
    assert refused(without=(key,)) == (f"`{key}` is missing",)


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "src/../../x", "", ".", "a/..", "C:\\x", "\\x", "..\\x", "a\nb", "\0"],
)
def test_targets_that_are_not_inside(path):
    (problem,) = refused(target_paths=["src/a.ts", path])
    assert problem.startswith("`target_paths` must be inside the root, but ")


def test_targets_are_normalised_before_they_are_judged():
    assert refused(target_paths=["./src//a.ts", "src\\a.ts", "src/x/../a.ts"]) == ()
    assert refused(target_paths=[]) == ()
    assert refused(target_paths=["a"] * (MAX_TARGETS + 1)) != ()
    assert refused(run=["npm test"] * (MAX_RUN + 1)) != ()


def test_a_target_that_really_lies_outside():
    facts = LawFacts(phase=2, outside=("src/link",))

    assert refused(facts) == ("`target_paths`: `src/link` is outside the root",)


def test_relaxed_mode_forgives_three_things_and_says_so():
    message = {**MSG, "prioritty": 1, "phase": 3}
    del message["title"], message["notes"]
    judged = check_message(message, RELAXED)

    assert judged.refused == ()
    assert judged.forgiven == (
        "`title` is missing",
        "`notes` is missing",
        "`phase` is 3, but the active phase is 2",
        "unknown key `prioritty`",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"category": "a"},
        {"phase": 5},
        {"title": ["x"]},
        {"msg_id": "x"},
        {"target_paths": ["../x"]},
        {"run": "npm test"},
        {"approval_by": ["cursor"]},
        {"msg_type": "decision"},
    ],
)
def test_relaxed_mode_forgives_nothing_else(change):
    assert refused(RELAXED, **change) != ()


def test_a_request_waits_although_the_phase_changed():
    assert refused(command_type="approval_request", phase=1) == ()


@pytest.mark.parametrize("spelling", ["decision", "DECISION", "Decision", " decision "])
def test_decisions(spelling):
    assert is_decision({"msg_type": spelling})
    assert refused(msg_type=spelling) != ()


def test_evidence_needs_an_id_and_nothing_else():
    evidence = {"msg_id": MSG["msg_id"], "msg_type": "evidence", "anything": [1]}

    assert check_message(evidence, STRICT).refused == ()
    assert check_message({"msg_type": "evidence"}, STRICT).refused != ()


def test_what_is_unreadable_is_said_as_the_host_says_it():
    facts = LawFacts(unreadable="unsupported format: `msg.txt`")

    assert check_message(None, facts).refused == ("unsupported format: `msg.txt`",)


def test_a_reason_does_not_grow_with_the_message():
    problems = check_message({f"key{n}": n for n in range(10_000)}, STRICT).refused

    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].endswith("more")
    assert len("".join(problems)) < 5_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
LIKE_A_MESSAGE = st.fixed_dictionaries(
    {}, optional={key: st.just(value) | JSON for key, value in {**MSG, "run": ["x"]}.items()}
)


@given(JSON | LIKE_A_MESSAGE)
def test_every_value_is_judged(message):
    """No value breaks the check; what it lets pass has everything that rules rely on."""
    judged = check_message(message, STRICT)
    assert not (judged.refused and judged.forgiven)
    assert all(isinstance(problem, str) and problem for problem in judged.refused)
    if not judged.refused and message["msg_type"] == "command":
        assert is_message_id(message["msg_id"])
        assert message["category"] in ("A", "B", "C", "D")
        assert message["command_type"] in ("task", "exec", "approval_request")
        assert not is_decision(message)
