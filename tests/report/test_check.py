"""What `bylaw check` reports, as data and as text."""

import re

import pytest

from bylaw.report.check import MAX_WARNINGS, check
from bylaw.report.printers.rules import check_data, render_check


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(root, **texts):
    for name, text in texts.items():
        (root / f"{name}.lines").write_text(text)


def test_a_book_that_starts_nothing_needs_no_trust(root):
    put(root, a="deny tool shell because no\n# a remark\non turn.start say hi\n")
    report = check(["a.lines"])

    assert check_data(report) == {
        "books": [
            {
                "path": "a.lines",
                "dialect": "lines",
                "rules": 2,
                "files": 1,
                "trusted": True,
                "why": "given",
            }
        ],
        "diagnostics": [],
    }
    assert not report.has_errors


def test_a_book_that_starts_something_is_not_trusted(root):
    put(root, a="on agent.stop run make test\n")

    assert [book.trusted for book in check(["."]).books] == [False]


def test_built_in_rules_are_not_counted(root):
    put(root, a="deny tool shell because no\n", b="denny\n")
    report = check(["."])

    assert [(book.rules, book.files) for book in report.books] == [(1, 2)]
    assert report.has_errors


def test_the_reason_of_every_file_is_told_once(root):
    (root / "extra").mkdir()
    put(root, a="", b="")
    put(root / "extra", c="", d="")
    (root / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n[[book]]\npath = "extra"\n')

    assert [book.why for book in check([]).books] == ["named in bylaw.toml, in extra"]
    assert [book.why for book in check(["b.lines", "extra"]).books] == ["given, in extra"]


def test_where_a_screen_is_too_narrow_the_last_cells_stand_below(root):
    put(root, a="deny tool shell because no\n", b="")
    assert render_check(check(["."]), limit=45).splitlines()[:4] == [
        "book  language  rules  files  trust",
        "  found by",
        ".     lines     1      2      not needed",
        "  in .",
    ]


def test_text_for_people(root):
    put(root, a="deny tool shell because no\n", b="denny\n")

    assert render_check(check(["."]), limit=80) == (
        "book  language  rules  files  trust       found by\n"
        ".     lines     1      2      not needed  in .\n"
        "\n"
        "error[bad-line]: this is no rule\n"
        "  --> b.lines:1:1\n"
        "   |\n"
        " 1 | denny\n"
        "   | ^^^^^\n"
        "   |\n"
        "help: write `deny tool …`, `on KIND …`, `first` or `core`\n"
        "\n"
        "1 book, 1 rule, 1 error, 0 warnings\n"
    )


def test_nothing_found_says_where_was_looked(root):
    shown = render_check(check([]), limit=80)

    assert shown.startswith(f"no rule files in {root}\n\nlooked for:\n  .deepwork/policies/*.md ")
    assert re.search(r"\n  lines +one rule a line, 1.0\n", shown)
    assert shown.endswith("\n0 books, 0 rules, 0 errors, 0 warnings\n")
    (root / "bylaw.toml").write_text("discover = false\n")
    assert "looked for" not in render_check(check([]), limit=80)


def test_hostile_names_are_shown_safely(root):
    (root / "\x1b[2J\u202e.lines").write_text("denny\n")
    shown = render_check(check(["."]), limit=80)

    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_book_of_several_folders_is_not_named_like_its_first_file(root):
    for folder in ("rules", "extra"):
        (root / folder).mkdir()
        put(root / folder, a="")
    put(root / "rules", b="")
    (book,) = check(["rules", "extra"]).books

    assert (book.path, book.name) == ("extra/a.lines", "extra/a.lines and 2 more")
    assert [one.name for one in check(["rules"]).books] == ["rules"]


@pytest.mark.parametrize("folder", ["rules", ".bylaw", ".bylaw/rules"])
def test_a_chat_among_rules_that_no_book_names_is_said(root, folder):
    (root / folder).mkdir(parents=True)
    (root / f"{folder}/a.chatmd").write_text("<policy/>\n")
    (finding,) = check([]).diagnostics

    assert (finding.code, finding.source.path) == ("overlooked-chat", f"{folder}/a.chatmd")
    assert not check([]).has_errors
    assert not check([f"{folder}/a.chatmd"]).diagnostics


def test_a_chat_that_a_book_holds_or_imports_is_not_overlooked(root):
    (root / "rules").mkdir()
    for name in ("rules/a.chatmd", "rules/b.chatmd"):
        (root / name).write_text("<policy/>\n")
    (root / "main.chatmd").write_text('<import src="rules/a.chatmd"/>\n')
    (root / "bylaw.toml").write_text('[[book]]\npath = "rules/b.chatmd"\n')

    assert not check([]).diagnostics


def test_of_many_overlooked_chats_some_are_told(root):
    (root / "rules").mkdir()
    for number in range(MAX_WARNINGS + 5):
        (root / f"rules/{number}.chatmd").write_text("")

    assert len(check([]).diagnostics) == MAX_WARNINGS
