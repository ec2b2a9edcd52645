"""Journals to look at: rules and events in a folder, recorded at fixed times."""

import bylaw
from recording import stop_clock

BEGIN = 1_790_000_000_000  # 2026-09-21T14:13:20Z
LINES = """\
deny tool shell if count_calls('shell') >= 1 because once is enough
on prompt say hello
on turn.start set seen = turn_index
"""
JOURNAL = "j.db"


def write_rules(folder, **texts):
    folder.joinpath("bylaw.toml").write_text('[[book]]\npath = "rules"\n')
    rules = folder / "rules"
    rules.mkdir(exist_ok=True)
    for name, text in texts.items():
        stem, _, suffix = name.rpartition("_")
        (rules / f"{stem}.{suffix}").write_text(text)


def record(monkeypatch, events, journal=JOURNAL, **more):
    """Submit events, a second apart each, and give the answers."""
    answers = []
    with bylaw.Engine(bylaw.load(), journal=journal, **more) as engine:
        for number, event in enumerate(events):
            stop_clock(monkeypatch, BEGIN + number * 1_000)
            answers.append(engine.submit(event))
    return answers
