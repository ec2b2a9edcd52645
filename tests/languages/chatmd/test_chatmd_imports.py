"""Imports at the top of a chat, from real files below its folder."""

import pytest

from bylaw.languages.chatmd.header import MAX_IMPORT_DEPTH, MAX_IMPORTS, expand_imports
from bylaw.languages.chatmd.parser import parse
from bylaw.model.source import SourceFile
from bylaw.runtime.rule_files import SiblingFileReader


@pytest.fixture
def expand(tmp_path):
    """Elements and findings of the file `prompts/main.chatmd`, given all files of its folder."""

    def expand(main, **files):
        folder = tmp_path / "prompts"
        for path, text in {"main.chatmd": main, **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        document, findings = parse(SourceFile("prompts/main.chatmd", main))
        assert not findings
        placed, found = expand_imports(
            document, SiblingFileReader().of(str(folder / "main.chatmd"))
        )
        return [(source.path, source.slice(one.span)) for one, source in placed], found

    return expand


def told(found):
    """Headlines, by file and underlined tag."""
    return [(one.source.path, one.underlined, one.headline) for one in found]


def test_the_elements_of_a_file_stand_where_it_is_imported(expand):
    placed, found = expand(
        '<user>1</user>\n<import src="tools.chatmd"/>\n<user>2</user>',
        **{"tools.chatmd": '<!-- x -->\n<tool name="read_file"/>\n<system>s</system>\n'},
    )
    assert not found
    assert placed == [
        ("prompts/main.chatmd", "<user>1</user>"),
        ("prompts/tools.chatmd", '<tool name="read_file"/>'),
        ("prompts/tools.chatmd", "<system>s</system>"),
        ("prompts/main.chatmd", "<user>2</user>"),
    ]


def test_a_path_counts_from_the_file_that_names_it(expand):
    placed, found = expand(
        '<import src="./a/b.chatmd" namespace="n"/>',
        **{
            "a/b.chatmd": '<import src="c.chatmd"/><import src="../d.chatmd" local />',
            "a/c.chatmd": "<user>c</user>",
            "d.chatmd": "<user>d</user>",
        },
    )
    assert not found
    assert placed == [
        ("prompts/a/c.chatmd", "<user>c</user>"),
        ("prompts/d.chatmd", "<user>d</user>"),
    ]


def test_a_file_may_be_imported_twice(expand):
    placed, found = expand('<import src="a"/><import src="./x/../a"/>', a="text\n<user>a</user>")
    assert placed == [("prompts/a", "<user>a</user>")] * 2
    assert [one.code for one in found] == ["chatmd-text-outside"]


def test_an_import_inside_a_message_is_left_alone(expand):
    main = '<user><import src="a"/></user><archive><import src="a"/></archive>'
    placed, found = expand(main, a="<user>a</user>")
    assert not found
    assert len(placed) == 2


@pytest.mark.parametrize(
    ("main", "why"),
    [
        ('<import src="none"/>', "`none` does not exist"),
        ("<import/>", "`<import>` has no `src`"),
        ("<import src=''/>", "`<import>` has no `src`"),
        ('<import src="../../secret"/>', "leads out of the folder"),
        ('<import src="a/../../x"/>', "leads out of the folder"),
        ('<import src="/etc/hostname"/>', "is absolute"),
        ('<import src="."/>', "cannot be read: it is a folder"),
        ('<import src="a\\b"/>', "contains a backslash"),
    ],
)
def test_a_file_that_cannot_be_imported_is_an_error_at_the_tag(expand, main, why):
    placed, found = expand(f"{main}<user>x</user>")
    assert len(placed) == 1
    ((path, tag, headline),) = told(found)
    assert (path, tag) == ("prompts/main.chatmd", main)
    assert why in headline


def test_a_circle_is_found_and_shown(expand):
    placed, found = expand(
        '<import src="a.chatmd"/>',
        **{
            "a.chatmd": "<user>a</user><import src='b.chatmd'/>",
            "b.chatmd": "<import src='./a.chatmd'/>",
        },
    )
    assert placed == [("prompts/a.chatmd", "<user>a</user>")]
    assert told(found) == [
        (
            "prompts/b.chatmd",
            "<import src='./a.chatmd'/>",
            "`a.chatmd` imports itself: `a.chatmd` → `b.chatmd` → `a.chatmd`",
        )
    ]
    assert "imports itself" in expand('<import src="main.chatmd"/>')[1][0].headline


def test_depth_and_number_are_bounded(expand):
    chain = {f"f{n}": f'<import src="f{n + 1}"/>' for n in range(MAX_IMPORT_DEPTH + 1)}
    (deep,) = expand('<import src="f0"/>', **chain)[1]
    assert deep.headline == f"imports are more than {MAX_IMPORT_DEPTH} levels deep"
    doubling = {f"g{n}": f'<import src="g{n + 1}"/>' * 2 for n in range(MAX_IMPORT_DEPTH - 1)}
    last = {f"g{MAX_IMPORT_DEPTH - 1}": "<user>x</user>"}
    _, found = expand('<import src="g0"/>', **doubling, **last)
    assert {one.headline for one in found} == {f"the chat has more than {MAX_IMPORTS} imports"}


def test_what_is_wrong_with_an_imported_file_is_said_once_and_there(expand):
    _, found = expand('<import src="a"/><import src="a"/>', a="<user>x")
    assert told(found) == [("prompts/a", "<user>", "`<user>` has no end tag")]


def test_attributes_without_a_meaning_are_warned_of(expand):
    _, found = expand('<import src="a" local namespace="n" scr="b"/>', a="")
    assert [(one.code, one.underlined, one.help) for one in found] == [
        ("chatmd-import-attribute", 'scr="b"', "did you mean `src`?")
    ]
