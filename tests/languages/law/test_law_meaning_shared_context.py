"""LD-016, LD-017, LD-071, LD-072, LD-A01, LD-A13: phase, approvals and tokens."""

import pytest

from bylaw.languages.law.shared_context import MAX_CHARS, read_approvals, read_phase, read_token
from bylaw.model.vocabulary import ApprovalState

ID = "20240116_120000_cursor_fix-lint"
GRANTED, REVOKED, EXPIRED, UNCLEAR = ApprovalState


@pytest.mark.parametrize(
    "line",
    [
        "**Active Phase**: `2`",
        "**Active Phase:** 2",
        "Active Phase: 2",
        "- **Active Phase**: `2`",
        "*   **Active Phase**: **2**",
        "  + Active Phase : 2  ",
        "1. Active Phase: 2\r",
    ],
)
def test_ways_to_say_the_phase(line):
    assert read_phase(f"\ufeff# Context\n\n{line}\n\nmore text, Active Phase: 3\n").phase == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no line says `Active Phase: N`"),
        ("The Active Phase: 2", "no line says `Active Phase: N`"),
        ("Active Phase: 2\nActive Phase: 2", "more than one line says `Active Phase`: 1, 2"),
        ("Active Phase: 2\nactive phase: 3", "more than one line says `Active Phase`: 1, 2"),
        ("Active Phase: 5", "line 1 says `Active Phase: 5`, not `Active Phase: N` with 0 to 4"),
        ("Active Phase: 02", "line 1 says `Active Phase: 02`"),
        ("Active Phase: -1", "line 1 says `Active Phase: -1`"),
        ("Active Phase: ٢", "line 1 says `Active Phase: ٢`"),
        ("*   **Active Phase**: **STEP 4 (Bootstrap)**", "line 1 says `Active Phase: STEP 4"),
        ("x" * (MAX_CHARS + 1), "the file has more than 4,000,000 characters"),
    ],
)
def test_a_phase_that_is_not_said_once_is_unknown(text, why):
    found = read_phase(text)

    assert found.phase is None
    assert found.why.startswith(why)


def approvals(*lines, section="## Active Approvals"):
    text = "\n".join(["# Context", section, *lines])
    return [(one.authority, one.category, one.state) for one in read_approvals(text)]


LISTED = f"- [x] {ID} | Human | Cat-B | 2024-01-16T12:05:00Z"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (LISTED, GRANTED),
        (LISTED + "\r", GRANTED),
        (LISTED.replace("Human ", "  HUMAN   "), GRANTED),
        (LISTED.replace("00Z", "00.123+00:00"), GRANTED),
        (LISTED + " | 1f2e", GRANTED),
        (LISTED.replace("[x]", "[~]") + " (Revoked: conflict)", REVOKED),
        (LISTED + " (Revoked: conflict)", REVOKED),
        (LISTED.replace("[x]", "[!]"), EXPIRED),
    ],
)
def test_a_listed_approval(line, state):
    assert approvals(line) == [("human", "B", state)]


@pytest.mark.parametrize(
    "line",
    [
        LISTED.replace("[x]", "[ ]"),
        LISTED.replace("[x] ", ""),
        LISTED.removeprefix("- "),
        LISTED.replace(" | 2024-01-16T12:05:00Z", ""),
        LISTED.replace("05:00Z", "05:00"),
        LISTED.replace("05:00Z", "05:00+02:00"),
        LISTED.replace("01-16T", "02-30T"),
        LISTED.replace(" | Cat-B", ""),
        LISTED.replace("Cat-B", "B"),
        LISTED.replace("Cat-B", "Cat-E"),
        LISTED.replace("Human", "Cursor"),
        LISTED.replace(ID, "fix-lint"),
        LISTED.replace(ID, f"{ID} {ID}2"),
        LISTED.replace("Human", "Human, Antigravity"),
        "> " + LISTED,
    ],
)
def test_what_is_not_exactly_an_approval_is_none(line):
    assert approvals(line) == []


def test_only_the_section_counts():
    assert approvals(LISTED, section="## Approvals") == []
    assert approvals(LISTED, section="### Active Approvals") == []
    assert approvals(LISTED, section="## Active Approvals ##") != []
    assert approvals("### This week", LISTED) != []
    assert approvals("## Past", LISTED) == []
    assert approvals("# Past", LISTED) == []


MARKER = f"DECISION: APPROVED {ID} BY human"


@pytest.mark.parametrize("line", [MARKER, f"- {MARKER}", f"* **{MARKER}**", f"  {MARKER} "])
def test_a_marker_counts_anywhere(line):
    assert approvals(line, section="") == [("human", "", GRANTED)]
    assert approvals(line) == [("human", "", GRANTED)]


@pytest.mark.parametrize(
    "line",
    [
        MARKER + "2",
        MARKER + ".",
        MARKER.replace(ID, ID[:-1] + "!"),
        MARKER.replace(" BY human", ""),
        MARKER.replace("human", "cursor"),
        MARKER.replace("DECISION", "decision"),
        MARKER.replace("APPROVED", "Approved"),
        f"{MARKER} {MARKER}",
        f"I think {MARKER}",
    ],
)
def test_what_is_not_exactly_a_marker_is_none(line):
    assert approvals(line) == []


def test_an_id_is_whole():
    (found,) = read_approvals(MARKER.replace(ID, ID + "2"))

    assert found.msg_id == ID + "2"
    assert (found.line, found.text) == (1, MARKER.replace(ID, ID + "2"))


@pytest.mark.parametrize("before", [True, False])
def test_a_rejection_cancels_wherever_it_stands(before):
    no = MARKER.replace("APPROVED", "REJECTED").replace("human", "Human")
    lines = [no, MARKER, LISTED] if before else [MARKER, LISTED, no]
    other = MARKER.replace("human", "antigravity")

    assert [state for *_, state in approvals(*lines)] == [REVOKED] * 3
    assert approvals(*lines, other)[-1] == ("antigravity", "", GRANTED)


def test_of_listed_lines_the_last_word_counts():
    revoked = LISTED.replace("[x]", "[~]")

    assert [state for *_, state in approvals(LISTED, revoked)] == [REVOKED, REVOKED]
    assert [state for *_, state in approvals(revoked, LISTED)] == [REVOKED, GRANTED]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<!--\n", "\n-->"),
        ("<!-- ", " -->"),
        ("```\n", "\n```"),
        ("~~~ text\n", "\n~~~"),
        ("```\n", ""),
    ],
)
def test_what_is_commented_out_or_shown_as_an_example_does_not_count(before, after):
    hidden = f"{before}{MARKER}{after}\n"
    assert read_approvals(hidden) == ()
    assert len(read_approvals(f"{hidden if after else ''}{MARKER}\n")) == 1
    phase = f"{before}Active Phase: 2{after}\n"
    assert read_phase(phase).phase is None
    if after:
        assert read_phase(f"{phase}Active Phase: 3 <!-- was 2 -->\n").phase == 3


def test_a_text_that_is_too_long_approves_nothing():
    assert read_approvals(MARKER + "\n" * MAX_CHARS) == ()


@pytest.mark.parametrize(
    ("text", "state", "digest"),
    [
        ("Approved", GRANTED, ""),
        ("Approved\n", GRANTED, ""),
        ("  Approved \r\nby phone", GRANTED, ""),
        ("Approved\nDigest: " + "AB12" * 16, GRANTED, "ab12" * 16),
        ("Approved\ndigest: nonsense", UNCLEAR, ""),
        ("Approved\ndigest: " + "a" * 64 + "\ndigest: " + "b" * 64, UNCLEAR, ""),
        ("Rejected\n", REVOKED, ""),
        ("Revoked", REVOKED, ""),
        ("rejected", REVOKED, ""),
        ("Rejected: not now", REVOKED, ""),
        ("Rejected\ndigest: nonsense", REVOKED, ""),
        ("Rejectedly", UNCLEAR, ""),
        ("not Rejected", UNCLEAR, ""),
        ("", UNCLEAR, ""),
        ("\nApproved", UNCLEAR, ""),
        ("Denied", UNCLEAR, ""),
        ("approved", UNCLEAR, ""),
        ("Approved by me", UNCLEAR, ""),
        ("Approved" + " " * MAX_CHARS, UNCLEAR, ""),
    ],
)
def test_tokens(text, state, digest):
    token = read_token(text)

    assert (token.state, token.digest) == (state, digest)
