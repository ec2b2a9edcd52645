"""Cases with events: what is compared, what a failure says, and what an update writes."""

import json

import pytest

from bylaw.model.codes.runtime import EMPTY_CASE
from bylaw.model.diagnostic import error, warning
from bylaw.model.source import SourceFile, Span
from bylaw.report.suites.compare import update_page
from bylaw.report.suites.reader import read_page
from bylaw.report.suites.runner import DecideOutput, Decider, run_case

DENIED = {"seq": 1, "verdict": "deny", "reasons": [{"rule": "r", "line": 3}], "state": {"turn": 1}}
ALLOWED = {"seq": 2, "verdict": "allow", "reasons": [], "state": {"turn": 2, "vars": {"a": 1}}}
BROKEN = {"error": {"code": "event-syntax", "message": "the line is not JSON", "line": 3}}

RULES = SourceFile("main.rules", "when x then y\n")
MISSPELT = error(EMPTY_CASE, "wrong", RULES, Span(5, 6))
ODD = warning(EMPTY_CASE, "odd", RULES, Span(0, 4))

HEAD = (
    '## A\n\n```rules main.rules\nwhen x then y\n```\n\n```events\n{"kind": "turn.start"}\n```\n\n'
)


def decider(lines, diagnostics=()):
    return Decider(lambda paths, events: DecideOutput(lines, diagnostics), {"rules", "law"})


def tried(body, folder, lines=(DENIED, ALLOWED), diagnostics=(), head=HEAD):
    page = read_page(SourceFile("spec/page.md", head + body))
    asked = decider(lines, diagnostics)
    outcomes = run_case(
        page.source, page.cases[0], folder, beside=folder, decider=asked, main=lambda: 0
    )
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    return failures, update_page(page.source, outcomes).removeprefix(head)


def expect(*lines):
    return "```expect\n" + "".join(line + "\n" for line in lines) + "```\n"


def diagnostics(*lines):
    return "```diagnostics\n" + "".join(line + "\n" for line in lines) + "```\n"


def test_rule_files_and_events_reach_the_function_in_the_order_of_the_page(tmp_path):
    asked = []

    def decide(paths, events):
        asked.append((paths, events, (tmp_path / "b.law").read_text()))
        return DecideOutput([ALLOWED], [])

    text = (
        "```rules z.rules\ny\n```\n```json facts.json\n{}\n```\n```events\n1\n```\n"
        "## A\n```law b.law\nx\n```\n```events\né\n```\n" + expect('{"verdict": "allow"}')
    )
    page = read_page(SourceFile("spec/page.md", text))
    both = Decider(decide, {"rules", "law"})
    run_case(page.source, page.cases[0], tmp_path, beside=tmp_path, decider=both, main=lambda: 0)

    assert asked == [(["z.rules", "b.law"], "1\né\n".encode(), "x\n")]


def test_a_subset_of_every_line_is_enough_and_stays_as_it_is_written(tmp_path):
    body = expect('{"verdict":"deny",  "reasons":[{"rule":"r"}]}', "", '{"reasons": []}')

    assert tried(body, tmp_path) == ([], body)


def test_what_differs_is_named_and_only_the_written_keys_are_rewritten(tmp_path):
    body = expect('{"verdict": "allow", "reasons": [{"line": 4}]}', '{"seq": 2, "old": 1}')
    failures, page = tried(body, tmp_path)

    assert failures[0].split("\n")[:2] == [
        'decision 1: `verdict` is "deny", expected "allow"',
        "decision 1: `reasons[0].line` is 3, expected 4",
    ]
    assert failures[1].split("\n") == [
        "decision 2: `old` is missing, expected 1",
        f"decision 2: in full {json.dumps(ALLOWED)}",
    ]
    assert page == expect('{"verdict": "deny", "reasons": [{"line": 3}]}', '{"seq": 2}')


def test_a_surplus_line_fails_and_is_written_with_its_verdict(tmp_path):
    failures, page = tried(expect('{"seq": 1}'), tmp_path, [DENIED, ALLOWED, BROKEN])

    assert [failure.partition(":")[0] for failure in failures] == [
        "decision 2 is not expected",
        "decision 3 is not expected",
    ]
    assert page == expect(
        '{"seq": 1}', '{"verdict": "allow"}', '{"error": {"code": "event-syntax"}}'
    )


def test_a_missing_line_fails_and_is_deleted(tmp_path):
    body = expect('{"seq": 1}', '{"seq": 2}', '{"seq": 3}')

    assert tried(body, tmp_path) == (
        ['decision 3 is missing, expected {"seq": 3}'],
        expect('{"seq": 1}', '{"seq": 2}'),
    )


def test_an_empty_object_holds_always_and_becomes_the_verdict(tmp_path):
    body = expect("{}", '{"verdict": "allow"}')

    assert tried(body, tmp_path) == ([], expect('{"verdict": "deny"}', '{"verdict": "allow"}'))


def test_an_empty_block_expects_nothing_and_is_filled(tmp_path):
    failures, page = tried(expect(), tmp_path, [DENIED])

    assert len(failures) == 1
    assert page == expect('{"verdict": "deny"}')


@pytest.mark.parametrize(
    ("written", "rewritten"),
    [
        ('{"turn": 2}', '{"turn": 2}'),
        ('{"vars": {"a": 2}}', '{"vars": {"a": 1}}'),
        ('{\n  "turn": 7\n}', '{\n  "turn": 2\n}'),
    ],
)
def test_the_last_state_is_compared_and_rewritten_in_its_layout(written, rewritten, tmp_path):
    failures, page = tried(f"```state\n{written}\n```\n", tmp_path, [DENIED, ALLOWED, BROKEN])

    assert bool(failures) is (written != rewritten)
    assert page == f"```state\n{rewritten}\n```\n"


def test_without_any_decision_there_is_no_state(tmp_path):
    failures, _ = tried('```state\n{"turn": 1}\n```\n', tmp_path, [BROKEN])

    assert failures == ["no state: no event was decided"]


def test_diagnostics_are_compared_in_the_order_of_their_places(tmp_path):
    body = diagnostics('warning empty-case "when"', 'error empty-case "x"')

    assert tried(body, tmp_path, [], [MISSPELT, ODD], HEAD.partition("```events")[0]) == ([], body)


def test_wrong_diagnostics_fail_and_are_rewritten(tmp_path):
    body = diagnostics('error empty-case "when"') + expect("{}", "{}")
    failures, page = tried(body, tmp_path, diagnostics=[MISSPELT, ODD])

    assert [failure.partition("\n")[0] for failure in failures] == [
        'diagnostic 1: it is `warning empty-case "when"`, expected `error empty-case "when"`',
        'diagnostic 2 is not expected: `error empty-case "x"`',
    ]
    assert page.startswith(diagnostics('warning empty-case "when"', 'error empty-case "x"'))


def test_an_empty_diagnostics_block_says_that_there_are_none(tmp_path):
    head = HEAD.partition("```events")[0]

    assert tried(diagnostics(), tmp_path, [], [], head) == ([], diagnostics())
    assert tried(diagnostics(), tmp_path, [], [ODD], head)[0] == [
        'diagnostic 1 is not expected: `warning empty-case "when"`'
    ]


def test_a_refused_rule_file_must_be_said(tmp_path):
    body = expect('{"verdict": "deny"}', "{}")
    failures, _ = tried(body, tmp_path, diagnostics=[MISSPELT])

    assert len(failures) == 1
    assert failures[0].startswith(
        "a rule file has errors, but no `diagnostics` block expects them\n"
    )
    assert "error[empty-case]: wrong" in failures[0]
    assert tried(body, tmp_path, diagnostics=[ODD])[0] == []


def test_a_case_without_a_rule_file_fails_with_the_word_that_was_meant(tmp_path):
    head = HEAD.replace("```rules", "```ruels")

    assert tried(expect("{}"), tmp_path, head=head)[0] == [
        "this case has no rule file: the first word of a file block names its language; did you mean `rules`?"
    ]


def test_pages_with_crlf_are_compared_and_rewritten_in_place(tmp_path):
    head = HEAD.replace("\n", "\r\n")
    body = expect('{"seq": 9}', '{"seq": 2}', '{"seq": 3}').replace("\n", "\r\n")
    failures, page = tried(body, tmp_path, head=head)

    assert len(failures) == 2
    assert page == expect('{"seq": 1}', '{"seq": 2}').replace("\n", "\r\n")


def test_an_updated_page_holds(tmp_path):
    body = expect('{"verdict": "ask", "trace": [], "reasons": [{"uid": "x"}]}') + diagnostics()
    lines = [DENIED | {"trace": [{"uid": "main.rules#r"}]}, ALLOWED]
    _, page = tried(body, tmp_path, lines, [MISSPELT])

    assert tried(page, tmp_path, lines, [MISSPELT]) == ([], page)
