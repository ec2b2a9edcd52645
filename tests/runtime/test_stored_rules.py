"""Rules that were in force are built again from the journal alone."""

import pytest

import bylaw
from bylaw.runtime.rules_in_force import stored_rules
from bylaw.store.journal.journal import Journal

RULE = """\
[rule]
id = "{id}"
trigger = "on_tool_call"
condition = "True"

[[actions]]
type = "log_decision"
message = "seen"
"""
SCRIPTED = """\
[rule]
id = "scripted"
trigger = "on_tool_call"
condition_script = "watch.lua"

[[actions]]
type = "log_decision"
message = "seen"
"""
EVENT = {"kind": "tool.before", "tool": "shell"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bylaw.toml").touch()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.toml").write_text(RULE.format(id="a"))
    return tmp_path


def recorded(*, change=None):
    """The digest under which an event was recorded, and the books that decided it."""
    with bylaw.Engine(bylaw.load(), journal="j.db") as engine:
        engine.submit(EVENT)
        if change:
            change()
            engine.reload()
            engine.submit(EVENT)
        books = engine._library.in_force()
    with Journal("j.db") as journal:
        ((digest,),) = journal.query("SELECT rules FROM records ORDER BY seq DESC LIMIT 1")
    return digest, books


def again(digest):
    with Journal("j.db") as journal:
        return stored_rules(journal, digest)


def same(one, other):
    """Equal rules; compiled parts are equal when their texts are, which the digests cover."""
    assert [(b.dialect, b.path, b.files, b.digest) for b in one] == [
        (b.dialect, b.path, b.files, b.digest) for b in other
    ]
    assert [[_plain(r) for g in b.groups for r in g.rules] for b in one] == [
        [_plain(r) for g in b.groups for r in g.rules] for b in other
    ]


def _plain(rule):
    text = getattr(rule.judgement and rule.judgement.reason, "text", "")
    return rule.uid, rule.origin, rule.on, rule.limits, rule.rank, rule.priority, text


def test_books_are_the_same_when_the_files_are_gone(root):
    digest, books = recorded()
    (root / "rules" / "a.toml").unlink()

    same(again(digest), books)


def test_scripts_beside_come_from_the_journal(root):
    script = root / "rules" / "watch.lua"
    script.write_text("return true")
    (root / "rules" / "s.toml").write_text(SCRIPTED)
    digest, books = recorded()
    script.unlink()

    same(again(digest), books)


def test_a_file_that_did_not_load_is_replaced_by_the_same_rule(root):
    (root / "rules" / "bad.toml").write_text("[rule]\nid = 3\n")
    (root / "rules" / "gone.toml").symlink_to("nowhere.toml")
    digest, books = recorded()

    same(again(digest), books)
    assert any(rule.id.startswith("does-not-load") for rule in books[0].groups[0].rules)


def test_rules_that_a_reload_kept(root):
    digest, books = recorded(change=lambda: (root / "rules" / "a.toml").write_text("broken"))

    same(again(digest), books)


def test_books_of_several_languages(root):
    (root / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n')
    (root / "a.lines").write_text("on turn.start say hello\n")
    digest, books = recorded()

    assert len(books) == 2
    same(again(digest), books)


def test_books_without_texts_cannot_be_built(root):
    with bylaw.Engine(bylaw.load().in_force(), journal="j.db") as engine:
        engine.submit(EVENT)
    with Journal("j.db") as journal:
        ((digest,),) = journal.query("SELECT rules FROM records")
        assert stored_rules(journal, digest) is None
        assert stored_rules(journal, b"unknown") is None


def test_a_lost_or_changed_text_gives_no_rules(root):
    digest, _ = recorded()
    with Journal("j.db") as journal:
        journal.query("UPDATE sources SET text = text || '# more'")
        assert stored_rules(journal, digest) is None
        journal.query("DELETE FROM sources")
        assert stored_rules(journal, digest) is None
