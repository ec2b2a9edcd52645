"""Pages that are tests: what they hold, what is malformed, and that they really run."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.cli import main
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile
from bylaw.report.suites.compare import update_page
from bylaw.report.suites.reader import read_page
from bylaw.report.suites.runner import DecideOutput, Decider, run_case
from page_git import run_git

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


def run(page, number, folder):
    no_rules = Decider(lambda paths, events: DecideOutput([], []), ())
    return run_case(
        page.source, page.cases[number], folder, beside=folder, decider=no_rules, main=main
    )


def files_of(case):
    return [(file.word, file.path, file.text) for file in case.files]


def values_of(blocks):
    return [line.value for block in blocks for line in block.lines]


def test_cases_have_titles_requirements_files_and_steps():
    first, second = page_of(PAGE).cases

    assert (first.title, first.requirements) == ("First", ("CM-024", "CM-A21"))
    assert files_of(first) == [
        ("json", "facts.json", '{"a": 1}\n'),
        ("toml", "rules/a b.toml", "x = 1\n"),
    ]
    assert [step.words for step in first.steps] == [("bylaw", "--version"), ("bylaw", "no verb")]
    assert [(step.output, step.exit_code) for step in first.steps] == [
        ("bylaw 0.1.0\n", 0),
        ("", 2),
    ]
    assert (second.title, second.requirements) == ("Second", ())
    assert files_of(second) == [("json", "facts.json", '{"a": 1}\n')]
    assert second.steps[0].output == "bylaw 9.9.9\nand more\n"


def test_crlf_pages_read_the_same():
    steps = [case.steps for case in page_of(PAGE).cases]
    crlf = [case.steps for case in page_of(PAGE.replace("\n", "\r\n")).cases]

    assert [[(s.words, s.output) for s in case] for case in crlf] == [
        [(s.words, s.output) for s in case] for case in steps
    ]


def test_of_two_files_at_one_path_the_later_counts():
    page = page_of("```j a\n1\n```\n## A\n```k ./a\n2\n```\n" + RUN)

    assert files_of(page.cases[0]) == [("k", "a", "2\n")]


def test_events_and_expectations_of_several_blocks_are_one_list():
    page = page_of(
        "```events\n1\n```\n```expect\n{}\n```\n## A\n```events\n2\n3\n```\n"
        '```expect\n\n{"seq": 2}\n \n{"seq": 3}\n```\n```state\n{\n  "turn": 1\n}\n```\n'
        '```diagnostics\nwarning  odd   "a\\nb"\n```\n'
    )
    (case,) = page.cases

    assert case.events == ("1\n", "2\n3\n")
    assert values_of(case.decisions) == [{}, {"seq": 2}, {"seq": 3}]
    assert [state.value for state in case.states] == [{"turn": 1}]
    assert values_of(case.diagnostics) == ['warning odd "a\\nb"']


def test_a_heading_of_prose_is_no_case():
    text = "# Page\n\n## Words only\n\n## One\n\n```run\n$ bylaw --version\n[exit 0]\n```\n"

    assert [case.title for case in read_page(SourceFile("p.md", text), prose=True).cases] == ["One"]
    assert refused(text) == [("empty-case", "Words only")]


def test_a_file_as_standard_input(tmp_path):
    text = (
        "## One\n\n```text in.txt\nhello\n```\n\n```run\n$ bylaw decide < in.txt\n[exit 0]\n```\n"
    )
    page = page_of(text)
    given = []

    def process(words):
        given.append((words, Path(words[-1]).read_text()))
        return "", "", 0

    no_rules = Decider(lambda paths, events: DecideOutput([], []), ())
    rest = {"beside": tmp_path, "decider": no_rules, "main": main}
    [done] = run_case(page.source, page.cases[0], tmp_path, process=process, **rest)
    assert (done.failure, given) == ("", [(("bylaw", "decide", "<", "in.txt"), "hello\n")])
    [done] = run_case(page.source, page.cases[0], tmp_path, **rest)
    assert done.failure == "cannot start a process here"


def test_an_empty_block_is_something_else_than_none():
    first, second = page_of("## A\n```diagnostics\n```\n## B\n" + RUN).cases

    assert [block.lines for block in first.diagnostics] == [()]
    assert second.diagnostics == ()


def test_a_case_may_bring_only_the_rules_for_what_all_cases_expect():
    shared = '```events\n{"kind": "turn.start"}\n```\n```expect\n{"verdict": "deny"}\n```\n'
    page = page_of(shared + "## A\n```one a\n```\n## B\n```two b\n```\n")

    assert [values_of(case.decisions) for case in page.cases] == [[{"verdict": "deny"}]] * 2


RUN = "\n```run\n$ bylaw --version\n[exit 0]\n```\n"


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("```runn\n```\n", "unknown-block", "runn"),
        ("## A\n" + RUN + "```run\n$ bylaw\n", "unclosed-block", "run"),
        ("```json ../x\n```\n", "bad-block-path", "json ../x"),
        ("```json /etc/x\n```\n", "bad-block-path", "json /etc/x"),
        ("```json .\n```\n", "bad-block-path", "json ."),
        ("```j a\n```\n" * 20 + "```j b\n```\n" + "## A\n" * 9, "too-many-shared", "j b"),
        ("```run\n" + "$ bylaw\n[exit 0]\n" * 21 + "```\n" + "## A\n", "too-many-shared", "run"),
        ("## A\n```events\n{}\n```\n", "unpaired-events", "A"),
        ("## A\n```events\n{}\n```\n" + RUN, "unpaired-events", "A"),
        ("## A\n```expect\n{}\n```\n", "unpaired-events", "A"),
        ("## A\n```state\n{}\n```\n", "unpaired-events", "A"),
        ("```expect\n{} x\n```\n", "bad-expectation", "x"),
        ('```expect\n{"a": 1\n```\n', "bad-expectation", "1"),
        ('```expect\n{"a": 1, "a": 1}\n```\n', "bad-expectation", '"a"'),
        ('```expect\n{"a": NaN}\n```\n', "bad-expectation", "NaN"),
        ("```expect\n{}\n[1]\n```\n", "bad-expectation", "[1]"),
        ("```state\n 3\n```\n", "bad-expectation", "3"),
        ("```state\n\n```\n", "bad-expectation", "state"),
        ("```state\n{}\n{}\n```\n", "bad-expectation", "{"),
        ('```diagnostics\nfatal x "y"\n```\n', "bad-diagnostic-line", 'fatal x "y"'),
        ("```diagnostics\nerror x y\n```\n", "bad-diagnostic-line", "error x y"),
        ('```diagnostics\nerror x "y" "z"\n```\n', "bad-diagnostic-line", 'error x "y" "z"'),
        ("```run\nbylaw 0.1.0\n```\n", "output-without-command", "bylaw 0.1.0"),
        ("```run\n$ bylaw --version\n```\n", "missing-exit", "bylaw --version"),
        ("```run\n$ bylaw a\n$ bylaw b\n[exit 0]\n```\n", "missing-exit", "bylaw a"),
        ("```run\n$ rm -rf /\n[exit 0]\n```\n", "unrunnable-command", "rm -rf /"),
        ("```run\n$ bylaw 'x\n[exit 0]\n```\n", "unrunnable-command", "bylaw 'x"),
        (f"## A\n{RUN}\n## A [CM-001]\n{RUN}", "duplicate-case", "A [CM-001]"),
        ("## A\n\nProse.\n", "empty-case", "A"),
        ("## A\n```after x\n```\n", "empty-case", "A"),
        ("```after ../x\n```\n", "bad-block-path", "after ../x"),
        ("```after\n```\n", "unknown-block", "after"),
        ("```remove ../x\n```\n", "bad-block-path", "remove ../x"),
        ("```tree /\n```\n", "bad-block-path", "tree /"),
        ("```holds x\n```\n", "bad-expectation", "holds x"),
        ("```holds x\n[1]\n```\n", "bad-expectation", "[1]"),
        ("## A\n```tree x\n```\n", "empty-case", "A"),
        (f"## A [CM-001, oops]\n{RUN}", "bad-requirement-list", " oops"),
    ],
)
def test_a_malformed_page_is_refused_at_the_place(text, code, underlined):
    assert refused(text) == [(code, underlined)]


@pytest.mark.parametrize("inside", ["[" * 200 + "]" * 200, "[" * 1_000_000, "9" * 10_000])
def test_hostile_expectations_are_refused(inside):
    assert [code for code, _ in refused(f'```expect\n{{"a": {inside}}}\n```\n')] == [
        "bad-expectation"
    ]


def test_all_that_is_wrong_is_reported():
    assert [code for code, _ in refused("```a\n```\n```b\n```\n## C\n")] == [
        "unknown-block",
        "unknown-block",
        "empty-case",
    ]


def test_a_case_runs_in_its_own_folder_and_leaves_everything_as_it_was(tmp_path):
    before = (Path.cwd(), sys.argv, sys.stdout, sys.stderr, sys.stdin)
    outcomes = run(page_of(PAGE), 0, tmp_path)

    assert [outcome.failure for outcome in outcomes] == ["", ""]
    assert (tmp_path / "rules" / "a b.toml").read_text() == "x = 1\n"
    assert (Path.cwd(), sys.argv, sys.stdout, sys.stderr, sys.stdin) == before


def test_an_unexpected_output_is_shown_and_can_be_written_into_the_page(tmp_path):
    page = page_of(PAGE)
    (outcome,) = run(page, 1, tmp_path)

    assert outcome.failure.split("\n") == [
        *("$ bylaw --version", "--- expected", "+++ real", "@@ -1,3 +1,2 @@", "-bylaw 9.9.9"),
        *("-and more", "-[exit 1]", "+bylaw 0.1.0", "+[exit 0]", ""),
    ]
    assert update_page(page.source, [outcome]) == PAGE.replace(
        "bylaw 9.9.9\nand more\n[exit 1]", "bylaw 0.1.0\n[exit 0]"
    )


def test_a_failed_command_shows_its_standard_error(tmp_path):
    page = page_of("## A\n```run\n$ bylaw nonsense\n[exit 0]\n```\n")

    assert "unknown command `nonsense`" in run(page, 0, tmp_path)[0].failure


def test_an_update_of_several_commands_leaves_the_rest_of_the_page_alone(tmp_path):
    page = page_of(PAGE.replace("bylaw 0.1.0\n[exit 0]", "[exit 7]"))

    assert update_page(page.source, run(page, 0, tmp_path)) == PAGE


@pytest.mark.parametrize("path", ["a/b", "x" * 5000])
def test_a_file_that_cannot_be_written_fails_the_case(path, tmp_path):
    page = page_of(f"## A\n```j a\n```\n```j {path}\n```\n" + RUN)

    (outcome,) = run(page, 0, tmp_path)
    assert outcome.failure.startswith(f"`{path}` cannot be written: ")
    assert page.source.slice(outcome.place) == f"j {path}"


BETWEEN = """## A

```json bylaw.toml
discover = false
```

```run
$ bylaw check
no books
[exit 0]
```

```after bylaw.toml
discover = false
```

```edit bylaw.toml
discover = true
```

```after bylaw.toml
discover = no
```
"""


def test_files_are_edited_and_looked_at_where_it_is_written(tmp_path):
    page = page_of(BETWEEN)
    before, *edited_and_after = run(page, 0, tmp_path)[1:]

    assert before.failure == ""
    (outcome,) = edited_and_after
    assert outcome.failure.split("\n") == [
        *("--- bylaw.toml, expected", "+++ bylaw.toml, real", "@@ -1,2 +1,2 @@"),
        *("-discover = no", "+discover = true", " "),
    ]
    assert page.source.slice(outcome.place) == "after bylaw.toml"
    assert update_page(page.source, [outcome]) == BETWEEN.replace("= no\n", "= true\n")


@pytest.mark.parametrize("real", [b"no end", b"a\n````\nb\n"])
def test_what_no_block_can_hold_is_not_written_into_the_page(tmp_path, real):
    page = page_of("## A\n" + RUN + "````after x\nno\n````\n")
    (tmp_path / "x").write_bytes(real)
    outcome = run(page, 0, tmp_path)[-1]

    assert outcome.failure
    assert outcome.edit is None


@pytest.mark.parametrize(
    ("real", "told"),
    [(None, "cannot be read: No such file or directory"), (b"\xff\n", "is not UTF-8 text")],
)
def test_a_file_that_is_not_there_fails_the_case(tmp_path, real, told):
    page = page_of("## A\n" + RUN + "```after x\n```\n")
    if real is not None:
        (tmp_path / "x").write_bytes(real)
    outcome = run(page, 0, tmp_path)[-1]

    assert (outcome.failure, outcome.edit) == (f"`x` {told}", None)


TREE = """## A

```json here/b/c.json
{"a": 1, "b": [{"c": 2, "d": 3}], "when": "now"}
```

```json here/.a
```

```run
$ bylaw --version
bylaw 0.1.0
[exit 0]
```

```tree here
.a
b/c.json
```

```holds here/b/c.json
{"b": [{"c": 2}]}
```

```remove here/.a
```

```tree here
b/c.json
```

```remove here/b/c.json
```

```tree here
b/
```

```tree nowhere
```
"""


def test_folders_and_parts_of_files_are_looked_at_where_it_is_written(tmp_path):
    assert not [one.failure for one in run(page_of(TREE), 0, tmp_path) if one.failure]


def test_what_lies_there_otherwise_fails_the_case_and_can_be_written(tmp_path):
    wrong = TREE.replace("\n.a\nb/c.json\n", "\nx\n").replace('"c": 2}]}\n```', '"c": 4}]}\n```')
    page = page_of(wrong)
    tree, holds = (one for one in run(page, 0, tmp_path) if one.failure)

    assert tree.failure.split("\n")[3:] == ["-x", "+.a", "+b/c.json"]
    assert holds.failure == "`here/b/c.json`: `b[0].c` is 2, expected 4"
    assert update_page(page.source, [tree, holds]) == TREE


def test_an_object_of_several_lines_is_written_with_a_line_a_key(tmp_path):
    page = page_of(TREE.replace('{"b": [{"c": 2}]}', '{\n"a": 2,\n"b": [{"c": 2}]}'))
    (holds,) = (one for one in run(page, 0, tmp_path) if one.failure)

    told = '{\n  "a": 1,\n  "b": [{"c": 2}]\n}'
    assert update_page(page.source, [holds]) == TREE.replace('{"b": [{"c": 2}]}', told)


def test_a_link_is_part_of_a_tree_and_is_not_followed(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "out").symlink_to("/")
    page = page_of("## A\n" + RUN + "```tree x\nout\n```\n")

    assert run(page, 0, tmp_path)[-1].failure == ""


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("```holds x\n{}\n```\n", "`x` cannot be read: No such file or directory"),
        ("```edit x\n{\n```\n```holds x\n{}\n```\n", "`x`: it is not JSON: "),
        ("```remove x\n```\n", "`x` cannot be removed: No such file or directory"),
    ],
)
def test_what_is_not_there_fails_the_case(tmp_path, block, told):
    outcome = run(page_of("## A\n" + RUN + block), 0, tmp_path)[-1]

    assert outcome.failure.startswith(told)
    assert outcome.edit is None


@given(
    st.lists(
        st.sampled_from(
            [
                *("## A", "## A [X", "```run", "```", "$ bylaw", "[exit 0]", "x", "\r", "```j p"),
                *(
                    "```after p",
                    "```edit p",
                    "```holds p",
                    "```remove p",
                    "```tree p",
                    "```events",
                    "```expect",
                    "```state",
                    "```diagnostics",
                    "{}",
                    'error x "y"',
                ),
            ]
        )
    )
)
@settings(deadline=None)
def test_any_page_is_read_or_refused(lines):
    try:
        page_of("\n".join(lines))
    except LoadError as error:
        assert error.diagnostics  # noqa: PT017 - either way is right, but never an empty refusal


JOURNAL_PAGE = """# A page

## Case

```journal folder/j.db
{"kind": "session.start"}
```

```run
$ bylaw --version
bylaw 0.1.0
[exit 0]
```
"""


def test_a_journal_is_made_where_the_case_runs(tmp_path):
    made = []
    page = page_of(JOURNAL_PAGE)
    outcomes = run_case(
        page.source,
        page.cases[0],
        tmp_path,
        beside=tmp_path,
        decider=Decider(lambda *_: DecideOutput([], ()), ()),
        main=main,
        record=lambda path, text: made.append((path, text, Path.cwd())),
    )
    assert [outcome.failure for outcome in outcomes] == [""]
    assert made == [("folder/j.db", '{"kind": "session.start"}\n', tmp_path)]


GIT_PAGE = """\
## A case

```text a.txt
a
```

```run
$ git init -q
[exit 0]
$ git status --porcelain
?? a.txt
[exit 0]
```
"""


def test_commands_of_git_are_run_in_the_folder_of_the_case(tmp_path):
    page = page_of(GIT_PAGE)
    no_rules = Decider(lambda *_: DecideOutput([], ()), ())
    outcomes = run_case(
        page.source,
        page.cases[0],
        tmp_path,
        beside=tmp_path,
        decider=no_rules,
        main=main,
        process=run_git,
    )
    assert [outcome.failure for outcome in outcomes] == ["", ""]


def test_a_git_that_nobody_can_run(tmp_path):
    (outcome,) = run(page_of(GIT_PAGE), 0, tmp_path)
    assert outcome.failure == "cannot start a process here"


def test_a_journal_that_nobody_can_make(tmp_path):
    page = page_of(JOURNAL_PAGE)
    (outcome,) = run_case(
        page.source,
        page.cases[0],
        tmp_path,
        beside=tmp_path,
        decider=Decider(lambda *_: DecideOutput([], ()), ()),
        main=main,
    )
    assert outcome.failure == "cannot create a journal here"
