"""Journals for pages: events are submitted to the rules of the folder, at fixed times.

The first event comes at 2026-07-28 10:00:00, which is also the local time, the next ones a second
later each. A line may also be `{"erase": [2, 3]}`, to erase payloads of records.
"""

import json
import sys
import time

import bylaw
from bylaw.store.journal.journal import Journal

BEGIN = 1_785_232_800_000
STEP = 1_000
ERASE = "erase"


def recorder(monkeypatch):
    """What makes a journal at a path of events, one a line."""

    def record(path, text):
        use_utc(monkeypatch)
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        with bylaw.Engine(bylaw.load(), journal=path, tools={"search": _search}) as engine:
            for number, event in enumerate(one for one in lines if ERASE not in one):
                stop_clock(monkeypatch, BEGIN + number * STEP)
                engine.submit(event)
        with Journal(path) as journal:
            for seq in (seq for one in lines for seq in one.get(ERASE, ())):
                journal.query("DELETE FROM payloads WHERE seq = ?", (seq,))

    return record


def stop_clock(monkeypatch, at):
    """For every part of Bylaw that asks for the time it is `at`, in milliseconds."""
    for name, module in list(sys.modules.items()):
        if name.startswith("bylaw.") and hasattr(module, "time_ns"):
            monkeypatch.setattr(module, "time_ns", lambda: at * 1_000_000)


def use_utc(monkeypatch):
    """The local time is that of records."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def _search(**_words):
    return "found"
