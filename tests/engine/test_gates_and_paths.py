"""What a message itself asks of an approval gate; paths that are matched as what they name."""

import pytest
from forms import book, group, rule
from msgspec.structs import replace

from bylaw.engine.gates import is_open
from bylaw.engine.index import RuleSet
from bylaw.engine.view import View
from bylaw.model.event import Bus, File
from bylaw.model.facts import Approval, LawFacts
from bylaw.model.rule import ApprovalGate, ApprovalMode, Filter
from bylaw.model.session import Session
from bylaw.model.vocabulary import ApprovalState, Authority, Change, Kind
from bylaw.paths import normalise_foreign

GIVEN = Approval(id="m1", authority="Human", state=ApprovalState.GRANTED)


def opens(mode, requires, approvals):
    event = Bus(
        message={"msg_id": "m1", "requires_approval": requires},
        facts=LawFacts(approvals=approvals),
    )
    return is_open(ApprovalGate(mode, (Authority.HUMAN,)), View.of(Session(), event))


@pytest.mark.parametrize(
    ("mode", "requires", "without", "approved"),
    [
        (ApprovalMode.NONE, None, True, True),
        (ApprovalMode.NONE, False, True, True),
        (ApprovalMode.NONE, "true", True, True),
        (ApprovalMode.NONE, 1, True, True),
        (ApprovalMode.NONE, True, False, True),
        (ApprovalMode.RETROACTIVE, True, False, True),
        (ApprovalMode.SINGLE, False, False, True),
        (ApprovalMode.DUAL, True, False, False),
    ],
)
def test_a_message_may_ask_for_more_and_never_for_less(mode, requires, without, approved):
    """LD-A12"""
    assert opens(mode, requires, ()) is without
    assert opens(mode, requires, (GIVEN,)) is approved


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("src/a.ts", "src/a.ts"),
        ("./src//a.ts", "src/a.ts"),
        ("src\\a.ts", "src/a.ts"),
        ("src/x/../a.ts", "src/a.ts"),
        ("..", None),
        ("../x", None),
        ("a\\..\\..\\x", None),
        ("/etc/passwd", None),
        ("\\\\host\\x", None),
        ("C:\\x", None),
        ("a:b", "a:b"),
        ("a\nb", None),
        ("a\x85b", None),
        ("", None),
        (".", None),
    ],
)
def test_paths_of_any_system(path, normal):
    """LD-011, LD-012"""
    assert normalise_foreign(path) == normal


RULES = RuleSet(
    [
        book(
            group(
                "law",
                rule("src", Kind.FILE, Kind.BUS, dialect="law", filter=Filter(paths=("src/**",))),
            )
        )
    ]
)


def matched(event):
    (found,) = RULES.candidates(event)
    return [one.id for one in found.rules] == ["src"]


@pytest.mark.parametrize("path", ["src/a.ts", ".\\src\\a.ts", "lib/../src//a.ts"])
def test_events_are_matched_by_what_they_name(path):
    event = File(change=Change.MODIFIED, path=path)

    assert matched(event)
    assert matched(replace(event, path="lib/a", old_path=path))
    assert matched(Bus(message={"target_paths": [path, "src/b"]}))


@pytest.mark.parametrize(
    "path", ["src/../../src/a.ts", "/src/a.ts", "src/\0", "lib/a", 5, None, []]
)
def test_what_names_nothing_matches_nothing(path):
    assert not matched(Bus(message={"target_paths": ["src/b", path]}))
    if isinstance(path, str):
        assert not matched(File(change=Change.MODIFIED, path=path))
