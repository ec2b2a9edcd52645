"""TOML rules at a second start: the same books, findings and decisions, from notes."""

from hashlib import sha256

import msgspec
import pytest

import bylaw
from bylaw.languages import find_language
from bylaw.languages.toml_rules import lowering
from bylaw.languages.toml_rules.reader import read_rules
from bylaw.languages.toml_rules.syntax import to_note
from bylaw.model.source import SourceFile
from bylaw.runtime.check_cache import CheckCache
from bylaw.runtime.loader import load_paths

GREET = """\
[rule]
id = "greet"
trigger = "on_turn_start"
priority = 7

[condition]
expression = "context.turn.number >= 0"

[action]
type = "notify_self"
message = "turn {{ context.turn.number }}"
"""
DOUBTFUL = GREET.replace("greet", "doubtful").replace("context.turn.number >= 0", "1 + 1")
BROKEN = GREET.replace("greet", "broken").replace("turn.number >", "turn.nummer >")
TURN = {"kind": "turn.start"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "root" / "rules").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


def put(root, **texts):
    for name, text in texts.items():
        (root / "rules" / f"{name}.toml").write_text(text)


def read_texts(monkeypatch):
    """The files that the language has to read itself, from now on."""
    asked = []

    def reading(sources):
        asked.extend(source.path for source in sources)
        return read_rules(sources)

    monkeypatch.setattr(lowering, "read_rules", reading)
    return asked


def test_a_known_text_is_not_read_again(root, monkeypatch):
    put(root, greet=GREET, other=GREET.replace("greet", "other"))
    asked = read_texts(monkeypatch)
    load_paths(["rules"])
    put(root, other=GREET.replace("greet", "other") + "\n# changed\n")
    load_paths(["rules"])
    load_paths(["rules"])

    assert asked == ["rules/greet.toml", "rules/other.toml", "rules/other.toml"]


def test_the_second_start_gives_the_same(root):
    put(root, greet=GREET, doubtful=DOUBTFUL, broken=BROKEN, misnamed=GREET.replace("greet", "x"))
    first, second = load_paths(["rules"]), load_paths(["rules"])
    decisions = [bylaw.Engine(library).decide(TURN) for library in (first, second)]

    assert [one.code for one in first.diagnostics] == [one.code for one in second.diagnostics]
    assert len(first.diagnostics) == 3
    assert first.diagnostics == second.diagnostics
    assert first.books[0].book.digest == second.books[0].book.digest
    assert decisions[0] == decisions[1]
    assert "turn 1" in str(decisions[1].plans)


def test_a_copy_under_another_name_is_told(root):
    """A note knows the text and not the path."""
    put(root, greet=GREET)
    load_paths(["rules"])
    (root / "rules" / "greet.toml").rename(root / "rules" / "Hello.toml")

    assert [one.code for one in load_paths(["rules"]).diagnostics] == ["rule-file-name"]


def poison(root, text, note):
    cache = CheckCache(find_language("toml"), str(root))
    cache.note({sha256(text.encode()).hexdigest(): note})
    cache.keep()


def fields():
    ((written, _),) = read_rules([SourceFile("greet.toml", GREET)])
    return msgspec.msgpack.decode(to_note(written))


@pytest.mark.parametrize(
    "note",
    [
        b"garbage",
        msgspec.msgpack.encode({}),
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode({**fields(), "trigger": "whenever"}),
        msgspec.msgpack.encode({**fields(), "priority": "high"}),
        msgspec.msgpack.encode({**fields(), "more": 1}),
        msgspec.msgpack.encode({**fields(), "action": {"type": "run", "argv": ["id"]}}),
    ],
)
def test_a_note_that_is_no_rule_is_not_believed(note, root):
    put(root, greet=GREET)
    poison(root, GREET, note)
    library = load_paths(["rules"])

    assert library.diagnostics == ()
    assert "turn 1" in str(bylaw.Engine(library).decide(TURN).plans)


@pytest.mark.parametrize(
    "change",
    [
        {"expression": "__import__('os').system('touch hacked') == 0"},
        {"expression": "open('hacked', 'w') is None"},
        {"expression": "this is ( no expression"},
        {"action": {"type": "notify_self", "message": "{{ ''.__class__.__mro__ }}"}},
        {"action": {"type": "notify_self", "message": "{% no template"}},
    ],
)
def test_a_poisoned_note_can_do_no_more_than_a_rule_file(change, root):
    put(root, greet=GREET)
    poison(root, GREET, msgspec.msgpack.encode({**fields(), **change}))
    library = load_paths(["rules"])
    decision = bylaw.Engine(library).decide(TURN)

    assert all(not plan.steps for plan in decision.plans)
    assert [one.name for one in root.iterdir()] == ["rules"]


def test_a_note_that_breaks_its_language_is_not_used(root):
    """The text names no script, so a refused one has no place in it."""
    put(root, greet=GREET)
    before = load_paths(["rules"]).books[0].book.digest
    change = {"script": "../../etc/passwd.lua", "expression": ""}
    poison(root, GREET, msgspec.msgpack.encode({**fields(), **change}))
    library = load_paths(["rules"])

    assert library.diagnostics == ()
    assert library.books[0].book.digest == before
    assert "turn 1" in str(bylaw.Engine(library).decide(TURN).plans)
