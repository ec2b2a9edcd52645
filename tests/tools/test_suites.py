"""Pages that are tests: what they hold, what is malformed, and that they really run."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.cli import main
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile
from bylaw.tools.suites.page import File
from bylaw.tools.suites.reader import read_page
from bylaw.tools.suites.runner import run_case, updated

PAGE = """# A page

Prose, and a block that every case gets.

```json facts.json
{"a": 1}
```

## First [CM-024, CM-A21]

```toml rules/a b.toml
x = 1
```

````run
$ bylaw --version
bylaw 0.1.0
[exit 0]

$ bylaw 'no verb'
[exit 2]
````

### Prose below a case

```
free text
```

## Second

```run
$ bylaw --version
bylaw 9.9.9
and more
[exit 1]
```
"""


def page_of(text):
    return read_page(SourceFile("spec/page.md", text))


def refused(text):
    with pytest.raises(LoadError) as caught:
        page_of(text)
    return [(found.code, found.underlined) for found in caught.value.diagnostics]


def test_cases_have_titles_requirements_files_and_steps():
    first, second = page_of(PAGE).cases

    assert (first.title, first.requirements) == ("First", ("CM-024", "CM-A21"))
    assert first.files == (File("facts.json", '{"a": 1}\n'), File("rules/a b.toml", "x = 1\n"))
    assert [step.words for step in first.steps] == [("bylaw", "--version"), ("bylaw", "no verb")]
    assert [(step.output, step.exit_code) for step in first.steps] == [
        ("bylaw 0.1.0\n", 0),
        ("", 2),
    ]
    assert (second.title, second.requirements) == ("Second", ())
    assert second.files == (File("facts.json", '{"a": 1}\n'),)
    assert second.steps[0].output == "bylaw 9.9.9\nand more\n"


def test_crlf_pages_read_the_same():
    steps = [case.steps for case in page_of(PAGE).cases]
    crlf = [case.steps for case in page_of(PAGE.replace("\n", "\r\n")).cases]

    assert [[(s.words, s.output) for s in case] for case in crlf] == [
        [(s.words, s.output) for s in case] for case in steps
    ]


RUN = "\n```run\n$ bylaw --version\n[exit 0]\n```\n"


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("```runn\n```\n", "unknown-block", "runn"),
        ("## A\n" + RUN + "```run\n$ bylaw\n", "unclosed-block", "run"),
        ("```json ../x\n```\n", "bad-block-path", "json ../x"),
        ("```json /etc/x\n```\n", "bad-block-path", "json /etc/x"),
        ("```run\nbylaw 0.1.0\n```\n", "output-without-command", "bylaw 0.1.0"),
        ("```run\n$ bylaw --version\n```\n", "missing-exit", "bylaw --version"),
        ("```run\n$ bylaw a\n$ bylaw b\n[exit 0]\n```\n", "missing-exit", "bylaw a"),
        ("```run\n$ rm -rf /\n[exit 0]\n```\n", "unrunnable-command", "rm -rf /"),
        ("```run\n$ bylaw 'x\n[exit 0]\n```\n", "unrunnable-command", "bylaw 'x"),
        (f"## A\n{RUN}\n## A [CM-001]\n{RUN}", "duplicate-case", "A [CM-001]"),
        ("## A\n\nProse.\n", "empty-case", "A"),
        (f"## A [CM-001, oops]\n{RUN}", "bad-requirement-list", " oops"),
    ],
)
def test_a_malformed_page_is_refused_at_the_place(text, code, underlined):
    assert refused(text) == [(code, underlined)]


def test_all_that_is_wrong_is_reported():
    assert [code for code, _ in refused("```a\n```\n```b\n```\n## C\n")] == [
        "unknown-block",
        "unknown-block",
        "empty-case",
    ]


def test_a_case_runs_in_its_own_folder_and_says_what_it_did(tmp_path):
    before = (Path.cwd(), sys.argv, sys.stdout, sys.stderr, sys.stdin)
    page = page_of(PAGE)
    first = run_case(page.cases[0], tmp_path, main)

    assert [outcome.as_expected for outcome in first] == [True, True]
    assert "`no verb` is not a verb" in first[1].errors
    assert (tmp_path / "rules" / "a b.toml").read_text() == "x = 1\n"
    assert (Path.cwd(), sys.argv, sys.stdout, sys.stderr, sys.stdin) == before


def test_an_unexpected_output_is_found_and_can_be_written_into_the_page(tmp_path):
    page = page_of(PAGE)
    outcomes = run_case(page.cases[1], tmp_path, main)
    text = updated(page.source, outcomes)

    assert [outcome.as_expected for outcome in outcomes] == [False]
    assert text == PAGE.replace("bylaw 9.9.9\nand more\n[exit 1]", "bylaw 0.1.0\n[exit 0]")


def test_an_update_of_several_commands_leaves_the_rest_of_the_page_alone(tmp_path):
    page = page_of(PAGE.replace("bylaw 0.1.0\n[exit 0]", "[exit 7]"))
    outcomes = run_case(page.cases[0], tmp_path, main)

    assert updated(page.source, outcomes) == PAGE


@given(
    st.lists(
        st.sampled_from(
            ["## A", "## A [X", "```run", "```", "$ bylaw", "[exit 0]", "x", "\r", "```j p"]
        )
    )
)
@settings(deadline=None)
def test_any_page_is_read_or_refused(lines):
    try:
        page_of("\n".join(lines))
    except LoadError as error:
        assert error.diagnostics  # noqa: PT017 - either way is right, but never an empty refusal
