"""Rule files become books; a file that does not load spoils no other (invariant 3)."""

import os
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.errors import LoadError
from bylaw.model.event import ToolBefore
from bylaw.model.session import Session
from bylaw.model.vocabulary import Verdict
from bylaw.runtime.loader import load_paths, load_root
from bylaw.runtime.rule_files import MAX_ALL_BYTES
from bylaw.store.files import MAX_INPUT_BYTES

GOOD = "deny tool shell because no\n"
BAD = "denny\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(root, **texts):
    for name, text in texts.items():
        data = text if isinstance(text, bytes) else text.encode()
        (root / f"{name}.lines").write_bytes(data)


def uids(library):
    return [r.uid for one in library.books for g in one.book.groups for r in g.rules]


def verdict(library, tool):
    return decide(RuleSet(library.in_force()), Session(), ToolBefore(tool=tool, seq=1, at=1))


def codes(library):
    return [(one.code, one.source.path) for one in library.diagnostics]


def test_many_files_are_one_book_in_the_order_of_their_paths(root):
    put(root, b=GOOD, a="on turn.start say hi\n")
    (loaded,) = load_paths(["b.lines", "a.lines"]).books

    assert (loaded.book.path, loaded.book.files) == (".", ("a.lines", "b.lines"))
    assert loaded.book.groups[0].rules[0].origin.digest == (
        sha256(b"on turn.start say hi\n").hexdigest()
    )
    assert loaded.broken == ()


def test_the_order_of_arguments_changes_nothing(root):
    """TR-104"""
    put(root, a=GOOD, b="first\n", c=BAD)
    one, other = load_paths(["a.lines", "b.lines", "c.lines"]), load_paths(["c.lines", "."])

    assert one.books[0].book.digest == other.books[0].book.digest
    assert uids(one) == uids(other)


def test_the_path_of_a_book(root):
    for folder in ("x", "y"):
        (root / folder).mkdir()
        put(root / folder, a=GOOD, b=GOOD)

    assert [
        load_paths(paths).books[0].book.path for paths in (["x/a.lines"], ["x"], ["x", "y/b.lines"])
    ] == ["x/a.lines", "x", "x/a.lines"]


def test_a_broken_file_is_replaced_and_the_others_stay(root):
    put(root, a=GOOD, b=BAD)
    library = load_paths(["."])

    assert uids(library) == ["lines:builtin#does-not-load:b.lines", "lines:a.lines#line-1"]
    assert codes(library) == [("bad-line", "b.lines")]
    assert library.books[0].broken == ("b.lines",)
    decision = verdict(library, "other")
    assert decision.verdict is Verdict.DENY
    assert decision.reasons[0].file == "b.lines"
    assert "`b.lines` does not load: line 1: this is no rule" in decision.reasons[0].text


def test_no_rule_of_a_broken_file_is_kept(root):
    """TR-100"""
    put(root, a=GOOD + BAD)

    assert uids(load_paths(["a.lines"])) == ["lines:builtin#does-not-load:a.lines"]


@pytest.mark.parametrize("bad", [b"caf\xe9", b"x" * (5 * 1024 * 1024 + 1), b"core\xff\n"])
def test_what_cannot_be_read_is_replaced_too(bad, root):
    put(root, a=GOOD, b=bad)
    library = load_paths(["."])

    assert "lines:builtin#does-not-load:b.lines" in uids(library)
    assert verdict(library, "other").verdict is Verdict.DENY


def test_a_missing_file_is_replaced_if_its_language_is_known(root):
    library = load_paths(["gone.lines"])

    assert codes(library) == [("unreadable-file", "gone.lines")]
    assert uids(library) == ["lines:builtin#does-not-load:gone.lines"]


@pytest.mark.parametrize("core", ["core\n", b"core\n\xff\n"])
def test_a_broken_file_that_is_core_refuses_the_set(core, root):
    put(root, a=GOOD, b=core + (BAD if isinstance(core, str) else b""))
    library = load_paths(["."])

    with pytest.raises(LoadError) as caught:
        library.in_force()
    assert [one.source.path for one in caught.value.diagnostics] == ["b.lines"]
    assert uids(library)[-1] == "lines:a.lines#line-1"


def test_a_core_file_that_loads_refuses_nothing(root):
    put(root, a=GOOD + "core\n", b=BAD)

    assert len(load_paths(["."]).in_force()) == 1


@pytest.mark.parametrize(
    ("path", "code"), [("a.unknown", "unrecognised-file"), ("gone.unknown", "unreadable-file")]
)
def test_a_file_of_no_language_refuses_the_set(path, code, root):
    (root / "a.unknown").touch()
    library = load_paths([path])

    assert codes(library) == [(code, path)]
    with pytest.raises(LoadError):
        library.in_force()


def test_settings_that_do_not_load_refuse_the_set(root):
    (root / "bylaw.toml").write_text("discovr = true")
    library = load_root(str(root))

    assert codes(library) == [("unknown-setting", "bylaw.toml")]
    with pytest.raises(LoadError):
        library.in_force()


def test_a_link_that_leads_out_is_not_followed(root, tmp_path_factory):
    secret = tmp_path_factory.mktemp("home") / "secret.lines"
    secret.write_text("the secret")
    (root / "rules").mkdir()
    (root / "rules" / "a.lines").symlink_to(secret)
    put(root / "rules", b=GOOD)
    (root / "rules" / "c.lines").symlink_to("b.lines")
    (root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
    library = load_root(str(root))

    assert codes(library) == [("outside-root", "rules/a.lines")]
    assert library.books[0].broken == ("rules/a.lines",)
    assert len(uids(library)) == 3


def test_neither_is_a_link_of_a_folder(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    put(outside, a=GOOD)
    (root / "rules").symlink_to(outside)
    (root / "inside").mkdir()
    put(root / "inside", a=GOOD)
    (root / "linked").symlink_to("inside")
    books = "".join(f'[[book]]\npath = "{name}"\n' for name in ("rules", "linked"))
    (root / "bylaw.toml").write_text(books)
    library = load_root(str(root))

    assert codes(library) == [("outside-root", "rules/a.lines")]
    assert uids(library) == [
        *("lines:builtin#does-not-load:rules/a.lines", "lines:linked/a.lines#line-1")
    ]


def test_links_that_lead_nowhere(root):
    (root / "a.lines").symlink_to("gone.lines")
    (root / "b.lines").symlink_to("c.lines")
    (root / "c.lines").symlink_to("b.lines")
    library = load_paths(["."])

    assert codes(library) == [("unreadable-file", f"{name}.lines") for name in "abc"]


def test_a_pipe_that_was_found_does_not_hang(root):
    os.mkfifo(root / "a.lines")
    library = load_paths(["."])

    assert [one.headline for one in library.diagnostics] == [
        "cannot read `a.lines`: it is not a regular file"
    ]


def test_the_files_together_have_a_limit(root):
    fitting = MAX_ALL_BYTES // MAX_INPUT_BYTES
    put(root, **{f"f{number:02}": b"#" * MAX_INPUT_BYTES for number in range(fitting + 1)})

    assert codes(load_paths(["."])) == [("too-large", f"f{fitting:02}.lines")]


@pytest.fixture
def other(tmp_path_factory, monkeypatch):
    """A language whose files end as those of `lines` do, and are a book each."""
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bylaw.dialects]\nother = other_lines\n")
    (folder / "other_lines.py").write_text(
        "from lines import *\nname = 'other'\none_book_per_file = True\n"
        "def detect(source):\n    return source.text.startswith('#other')\n"
    )
    monkeypatch.syspath_prepend(str(folder))


def test_the_text_tells_languages_apart_that_share_an_ending(root, other):
    put(root, a="#lines\n", b="#other\n", c="#other\n")
    library = load_paths(["a.lines", "b.lines", "c.lines"])

    assert [(one.book.dialect, one.book.files) for one in library.books] == [
        ("lines", ("a.lines",)),
        ("other", ("b.lines",)),
        ("other", ("c.lines",)),
    ]
    assert library.diagnostics == ()


def test_a_text_that_no_language_knows_is_refused_only_if_it_was_named(root, other):
    put(root, a=GOOD)

    assert codes(load_paths(["a.lines"])) == [("unrecognised-file", "a.lines")]
    assert (load_paths(["."]).books, load_paths(["."]).diagnostics) == ((), ())


def test_the_progress_is_told(root):
    put(root, a=GOOD, b=GOOD)
    told = []
    load_paths(["."], told.append)

    assert told == ["reading file 1 of 2", "checking 2 files of lines"]


@settings(deadline=None, max_examples=50)
@given(kinds=st.lists(st.sampled_from([GOOD, BAD, "first\n", "", b"\xff"]), min_size=1, max_size=6))
def test_rules_of_good_files_never_depend_on_bad_ones(kinds, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    put(folder, **{f"f{number}": text for number, text in enumerate(kinds)})
    library = load_paths([str(folder)])
    good = [number for number, text in enumerate(kinds) if text == GOOD]
    bad = [number for number, text in enumerate(kinds) if text in {BAD, b"\xff"}]

    assert uids(library) == [
        *(f"lines:builtin#does-not-load:{folder}/f{number}.lines" for number in bad),
        *(f"lines:{folder}/f{number}.lines#line-1" for number in good),
    ]
    assert (verdict(library, "other").verdict is Verdict.DENY) == bool(bad)
