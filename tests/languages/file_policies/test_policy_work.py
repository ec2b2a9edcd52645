"""How much work policies make: what is done once, and what is not done at all."""

import re
from collections import Counter

import pytest
from policy_texts import API, PAIRING, README, policy_text
from policy_world import World, driven, stop

from bylaw.languages.file_policies import evaluation, steps, triggers
from bylaw.model.vocabulary import Verdict

MANY = 1_000


class Spy(Counter):
    """Counts the calls of a function by its first argument, and lets them through."""

    def __init__(self, monkeypatch, where, name):
        super().__init__()
        real = getattr(where, name)

        def called(first, *more, **named):
            self[first] += 1
            return real(first, *more, **named)

        monkeypatch.setattr(where, name, called)


def changed(names):
    return World(dict.fromkeys(names, "one"))


@pytest.mark.parametrize("number", [1, MANY])
def test_a_pattern_is_compiled_once(monkeypatch, number):
    """DW-129: however many files and stops there are."""
    folders = ("src/a", "api", "lib", "tests")
    world = changed(f"{folder}/x{n}.py" for folder in folders for n in range(number))
    lines = policy_text("trigger: ['lib/*.py', '**/x?.py']\nsafety: docs/**/*.md")
    session = driven(world, readme=README, pairing=PAIRING, api=API, lines=lines)
    compiled = Spy(monkeypatch, re, "compile")
    resolved = Spy(monkeypatch, triggers, "pattern")

    assert stop(session).verdict is Verdict.DENY
    at_first = Counter(resolved)
    for text in ("two", "three"):
        world.files = dict.fromkeys(world.files, text)
        assert stop(session).verdict is Verdict.DENY

    assert compiled
    assert set(compiled.values()) == {1}
    # At most for the index of all policies, for captures, and for what is expected.
    assert resolved
    assert max(at_first.values()) <= 3
    assert resolved == at_first


class TestNotAtAll:
    """DW-131: what no policy needs is not done."""

    def test_patterns_are_compiled_when_a_stop_comes(self, monkeypatch):
        made = Spy(monkeypatch, triggers, "pattern")
        session = driven(changed(["src/main.py"]), readme=README)
        assert not made

        stop(session)
        assert made

    def test_instructions_are_filled_in_for_what_fires_alone(self, monkeypatch):
        filled = Spy(monkeypatch, steps, "fill_instructions")
        session = driven(
            changed(["src/main.py", "README.md", "api/users.py"]),
            safe=policy_text("trigger: src/**\nsafety: README.md", body="Safe."),
            elsewhere=policy_text("trigger: docs/**", body="Elsewhere."),
            fires=policy_text("trigger: api/**", body="Fires."),
        )

        assert stop(session).verdict is Verdict.DENY
        assert [body.strip() for body in filled] == ["Fires."]

    def test_lists_of_files_are_made_for_what_is_triggered_alone(self, monkeypatch):
        hashed = Spy(monkeypatch, evaluation, "trigger_hash")
        world = changed([f"src/{n}.py" for n in range(MANY)])
        session = driven(world, readme=README, api=API, pairing=policy_text("trigger: docs/**"))

        assert stop(session).verdict is Verdict.DENY
        assert set(hashed) == {"readme"}
