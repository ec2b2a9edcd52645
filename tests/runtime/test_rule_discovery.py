"""Which files are rule files, and why: settings, convention, arguments."""

import os

import pytest

from bylaw.model.source import SourceFile
from bylaw.runtime.root import Configuration, read_settings
from bylaw.runtime.rule_files import CONVENTION, RuleFileReason, discover, search_given

LINES = "deny tool shell because no\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(LINES)


def found(search):
    return [(one.path, one.dialect, one.why) for one in search.found]


def settings(text):
    return read_settings(SourceFile("bylaw.toml", text), ())


def problems(search):
    return [(one.code, one.underlined) for one in search.refusals]


def test_the_convention_finds_every_language_in_order_of_paths(root):
    """TR-103, TR-104"""
    places = [place.pattern.replace("*", "a") for place in CONVENTION]
    put(root, *reversed(places), "rules/deep/a.toml", "rules/a.toml.bak", "rules/a.TOML")
    put(root, "rules/.a.toml", "prompts/a.txt", "other/a.toml", "runtime/rules/a.yml")
    search = discover(str(root), Configuration())

    assert [one.path for one in search.found] == sorted(places)
    assert {(one.by, one.dialect) for one in search.found} == {
        (place.pattern, place.dialect) for place in CONVENTION
    }
    assert search.refusals == ()


def test_a_dot_hides_no_policy_and_nobody_takes_the_lock_of_an_editor_for_one(root):
    """DW-110"""
    policies = [".deepwork/policies/.#a.md", ".deepwork/policies/.a.md", ".deepwork/policies/a.md"]
    put(root, *policies, ".deepwork/policies/.a.txt", "rules/.a.toml")
    (root / ".deepwork/policies/.#b.md").symlink_to("me@host.1:2")
    by_folder = settings('[[book]]\npath = ".deepwork/policies"\ndialect = "policies"\n')

    assert [one.path for one in discover(str(root), Configuration()).found] == policies
    assert [one.path for one in discover(str(root), by_folder).found] == policies
    assert [one.path for one in search_given(str(root), [".deepwork/policies"]).found] == policies
    assert [one.path for one in search_given(str(root), ["."]).found] == policies


def test_the_convention_can_be_switched_off(root):
    put(root, "rules/a.toml")

    assert discover(str(root), settings("discover = false")).found == ()
    assert discover(str(root), settings("discover = false")).places == ()


def test_a_named_book_is_added_and_its_reason_counts(root):
    put(root, "rules/a.toml", "extra/x.lines")
    text = '[[book]]\npath = "extra/x.lines"\n[[book]]\npath = "rules/a.toml"\ndialect = "lines"\n'
    search = discover(str(root), settings(text))

    assert found(search) == [
        ("extra/x.lines", "", RuleFileReason.NAMED),
        ("rules/a.toml", "lines", RuleFileReason.NAMED),
    ]
    assert {one.by for one in search.found} == {"bylaw.toml"}


def test_a_named_folder_stands_for_its_files(root):
    put(root, "extra/x.lines", "extra/notes.txt", "extra/y.other")
    named = discover(str(root), settings('[[book]]\npath = "extra"\n'))
    spoken = discover(str(root), settings('[[book]]\npath = "extra"\ndialect = "lines"\n'))

    assert found(named) == [("extra/x.lines", "", RuleFileReason.FOLDER)]
    assert found(spoken) == [("extra/x.lines", "lines", RuleFileReason.FOLDER)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[[book]]\npath = "../x.lines"', [("outside-root", '"../x.lines"')]),
        ('[[book]]\npath = "/etc/passwd"', [("outside-root", '"/etc/passwd"')]),
        ('[[book]]\npath = "empty"', [("no-rule-files", '"empty"')]),
        ('[[book]]\npath = "x"\ndialect = "linez"', [("unknown-dialect", '"linez"')]),
    ],
)
def test_what_the_settings_name_in_vain_is_underlined(text, expected, root):
    (root / "empty").mkdir()

    assert problems(discover(str(root), settings(text))) == expected


def test_the_root_itself_may_be_named(root):
    put(root, "rules/a.toml")
    (root / "bylaw.toml").touch()
    search = discover(str(root), settings('discover = false\n[[book]]\npath = "."\n'))

    assert [one.path for one in search.found] == ["rules/a.toml"]


def test_given_files_and_folders(root):
    put(root, "b/x.lines", "a.lines", "b/notes.txt", "b/bylaw.toml.lines")
    search = search_given(str(root), ["b", "a.lines", "./a.lines", "b/../a.lines"])

    assert found(search) == [
        ("a.lines", "", RuleFileReason.GIVEN),
        ("b/bylaw.toml.lines", "", RuleFileReason.FOLDER),
        ("b/x.lines", "", RuleFileReason.FOLDER),
    ]


def test_a_given_root_stands_for_what_the_convention_finds_in_it(root):
    put(root, "Cargo.lines", "prompts/a.chatmd")
    assert [one.path for one in search_given(str(root), ["."]).found] == [
        "Cargo.lines",
        "prompts/a.chatmd",
    ]
    (root / ".git").mkdir()

    assert [one.path for one in search_given(str(root), ["."]).found] == ["prompts/a.chatmd"]


def test_outside_of_the_root_paths_are_as_given(root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    put(other, "x.lines")
    inside = root / "inside"
    inside.mkdir()

    assert [one.path for one in search_given(str(inside), [f"{other}/x.lines"]).found] == [
        f"{other}/x.lines"
    ]
    assert [one.path for one in search_given(str(inside), [str(other)]).found] == [
        f"{other}/x.lines"
    ]


def test_an_empty_folder_and_no_path_at_all_are_refused(root):
    (root / "empty").mkdir()

    assert [one.code for one in search_given(str(root), ["empty", ""]).refusals] == [
        "no-rule-files",
        "unreadable-file",
    ]


def test_a_folder_in_place_of_a_file_is_no_rule_file(root):
    (root / "rules" / "a.toml").mkdir(parents=True)

    assert discover(str(root), Configuration()).found == ()


def test_a_name_that_is_not_utf8(root):
    folder = os.fsencode(root) + b"/rules"
    (root / "rules").mkdir()
    for name in (b"/\xff.toml", rb"/\u{dcff}.toml"):
        os.close(os.open(folder + name, os.O_CREAT))

    found = discover(str(root), Configuration()).found
    assert [one.path for one in found] == [r"rules/\u{5c}u{dcff}.toml", r"rules/\u{dcff}.toml"]
    assert found[1].location == f"{root}/rules/\udcff.toml"


def test_a_folder_whose_files_were_given_before_is_not_empty(root):
    put(root, "house/a.lines")
    search = search_given(str(root), ["house/a.lines", "house", "./house"])

    assert found(search) == [("house/a.lines", "", RuleFileReason.GIVEN)]
    assert search.refusals == ()
