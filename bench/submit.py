"""`submit` with journal, snapshot and chain beside one bare SQLite commit of the same bytes.

Inside the timed part is one call of `Runtime.submit`: the session is looked up, the event decided
under three rules, folded, encoded, linked to the chain and committed, its share of a snapshot
included, and the head is noted in the user's state folder. Theirs is one transaction that puts the
bytes of the same rows into one table. Both sides write to files with the same settings.
"""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bucket import CHAT
from decide import rule, rule_set
from table import Row

from bylaw.model.event import Message, ToolAfter, ToolBefore
from bylaw.model.vocabulary import CallStatus, Role
from bylaw.runtime.submit import Runtime
from bylaw.store.journal.database import Anchor, Durability, open_database
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import rules_without_texts
from bylaw.store.journal.sessions import SNAPSHOT_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer

AT_MOST, AT_MOST_LONGER = 3, 1.2
# A round holds one snapshot, and is so short that a busy machine lets some of them alone.
CALLS, ROUNDS = SNAPSHOT_EVERY // 2, 300
FEW, MANY = 10, 10_000
SAMPLE = 300  # calls of a session before it is measured
# What a search in a repository gives, and what a model says.
RESULT = "\n".join(f"src/part{n}.py:{n * 17}:    return part_{n}(value)" for n in range(24))
SAID = "The value is handed on from part to part, and the last of them writes it. " * 5


def run() -> list[Row]:
    """All rows of the journal."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        return [_against_one_commit(Path(folder), stack), _longer_session(Path(folder), stack)]


def _runtime(path: Path, stack: ExitStack) -> Runtime:
    anchor = stack.enter_context(Anchor(str(path.parent), str(path)))
    journal = stack.enter_context(Journal(str(path), anchor=anchor))
    rules = rule_set(rule(number, guard) for number, guard in enumerate(CHAT.guards, 1))
    return Runtime(rules, rules_without_texts(rules.books), journal)


def _call(number: int, session: str = "default") -> tuple[Event, Event]:
    name, call = f"tool{number % 7}", f"call-{number:08}"
    args = {"pattern": f"part_{number % 50}", "path": "src", "limit": 40}
    return (
        ToolBefore(session=session, tool=name, call=call, args=args),
        ToolAfter(
            session=session, tool=name, call=call, args=args, status=CallStatus.OK, result=RESULT
        ),
    )


def _work(runtime: Runtime, calls: int, session: str = "default") -> None:
    """A session of that many calls, with a word of the person and of the model now and then."""
    for number in range(calls):
        if number % 10 == 0:
            asked = f"where does part {number} come from?"
            runtime.submit(Message(session=session, role=Role.USER, text=asked))
            runtime.submit(Message(session=session, role=Role.ASSISTANT, text=f"{number}: {SAID}"))
        for event in _call(number, session):
            runtime.submit(event)


def _against_one_commit(folder: Path, stack: ExitStack) -> Row:
    runtime = _runtime(folder / "ours.db", stack)
    _work(runtime, SAMPLE)
    rows = [_rows_of(runtime, event) for event in _call(SAMPLE)]
    commit = _commit(folder / "theirs.db", stack)
    ours, theirs = _race(
        lambda turn: (runtime.submit, _calls(turn)),
        lambda _: (commit, rows * CALLS),
    )
    before, after = (sum(map(len, row)) for row in rows)
    inside = (
        "an event of a call: decided under three rules, folded, chained, committed with its share "
        "of a snapshot, head noted; theirs: BEGIN IMMEDIATE, the same rows as blobs of one table "
        f"({before:,} and {after:,} bytes), COMMIT"
    )
    return Row("submit / one SQLite commit", inside, ours, theirs, AT_MOST, faster=False)


def _race(*sides: Callable[[int], tuple[Callable[[Any], object], list[Any]]]) -> list[float]:
    """Best seconds a call of each side; work and arguments of a round are made before it."""
    best = [float("inf")] * len(sides)
    gc.disable()
    try:
        for turn in range(ROUNDS):
            for number, side in enumerate(sides):
                function, arguments = side(turn)
                begun = perf_counter()
                for argument in arguments:
                    function(argument)
                seconds = (perf_counter() - begun) / len(arguments)
                best[number] = min(best[number], seconds)
            gc.collect()
    finally:
        gc.enable()
    return best


def _calls(turn: int, session: str = "default") -> list[Event]:
    first = MANY + turn * CALLS
    return [event for number in range(CALLS) for event in _call(first + number, session)]


def _rows_of(runtime: Runtime, event: Event) -> list[bytes]:
    """As many bytes as each row has that an event is written with, its share of a snapshot too."""
    seq = runtime.submit(event).event.seq
    ask = runtime.journal.query
    (record,) = ask("SELECT * FROM records WHERE seq = ?", (seq,))
    (payload,) = ask("SELECT * FROM payloads WHERE seq = ?", (seq,))
    ((core,),) = ask("SELECT length(core) FROM sessions")
    sizes = [sum(len(v) if isinstance(v, bytes | str) else 6 for v in row)
             for row in (record, payload)]  # fmt: skip
    return [os.urandom(sizes[0]), os.urandom(sizes[1] + core // SNAPSHOT_EVERY)]


def _commit(path: Path, stack: ExitStack) -> Callable[[list[bytes]], None]:
    connection = open_database(str(path), Durability.PROCESS)
    stack.callback(connection.close)
    connection.execute("CREATE TABLE bare (seq INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT")
    run, numbers = connection.cursor().execute, count(1)

    def commit(rows: list[bytes]) -> None:
        run("BEGIN IMMEDIATE")
        for data in rows:
            run("INSERT INTO bare VALUES (?, ?)", (next(numbers), data))
        run("COMMIT")

    return commit


def _longer_session(folder: Path, stack: ExitStack) -> Row:
    runtime = _runtime(folder / "sessions.db", stack)
    _work(runtime, MANY, "long")
    size = _size_of(runtime)

    def short(turn: int) -> tuple[Callable[[Event], Answer], list[Event]]:
        _work(runtime, FEW, f"short-{turn}")
        return runtime.submit, _calls(turn, f"short-{turn}")

    longest, shortest = _race(lambda turn: (runtime.submit, _calls(turn, "long")), short)
    inside = f"an event of a call, in a session of {MANY:,} calls and in one of {FEW}; {size}"
    name = f"submit after {MANY:,} calls, against {FEW}"
    return Row(name, inside, longest, shortest, AT_MOST_LONGER, faster=False)


def _size_of(runtime: Runtime) -> str:
    ((pages,),) = runtime.journal.query("PRAGMA page_count")
    ((size,),) = runtime.journal.query("PRAGMA page_size")
    ((records,),) = runtime.journal.query("SELECT count(*) FROM records")
    ((payload,),) = runtime.journal.query(
        "SELECT sum(length(event) + length(decision)) FROM payloads"
    )
    return (
        f"1,000 events of {payload // records:,} bytes on average take "
        f"{pages * size / records:,.0f} kB of the file"
    )
