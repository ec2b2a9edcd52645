"""A message from `input` to its evidence, beside the same syncs, renames and commits by hand.

Inside the timed part, ours: a message is looked at, claimed, begun in the ledger, judged under ten
rules, recorded, its evidence written and recorded, ended in the ledger, its file removed. Theirs
does to files of the same bytes what the system sees of that: it reads the file, commits three times
to a database that is synced and three times to one that is not, renames, writes and syncs the
evidence, renames it and syncs its folder, and removes the file. Nothing is judged there.
"""

from __future__ import annotations

import gc
import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from table import Row

from bylaw.hosts.bus.orchestrator import BusListener, open_bus
from bylaw.store.state_folder import connect, make_private, use_wal

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from bylaw.hosts.bus.handle_message import MessageOutcome

AT_MOST, AT_MOST_RULES = 4, 1.3
FEW, MANY = 10, 100
MESSAGES, ROUNDS = 1_000, 3
SETTLED_S = 0.15  # a file is not looked at before nobody has written to it for a while
_RULE = """\
  - rule_id: R-{number}
    priority: {number}
    trigger: {{kind: bus_input, match: {{paths: ["{paths}"], command_types: [exec]}}}}
    guards: {{phase_in: [2], category_in: [A], approval: {{mode: none, authorities: []}}}}
    actions:
      - {{type: write_bus, channel: output, template: "done {{{{msg_id}}}}"}}
"""


def run() -> list[Row]:
    """All rows of the bus."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        few = _Ours(Path(folder) / "few", FEW, stack)
        many = _Ours(Path(folder) / "many", MANY, stack)
        by_hand = _ByHand(Path(folder) / "hand", few, stack)
        ours, more, theirs = _race(few.lap, many.lap, by_hand.lap)
    inside = (
        f"{MESSAGES:,} messages, {FEW} rules that only write evidence; theirs: for each "
        "3 synced and 3 other commits, 2 syncs, 2 renames, the same bytes"
    )
    return [
        Row("a message / the same by hand", inside, ours, theirs, AT_MOST, faster=False),
        Row(
            f"a message under {MANY} rules, against {FEW}",
            "one rule in the end fits; the others are about other paths",
            more,
            ours,
            AT_MOST_RULES,
            faster=False,
        ),
    ]


def _race(*laps: Callable[[int], float]) -> list[float]:
    best = [float("inf")] * len(laps)
    gc.disable()
    try:
        for turn in range(ROUNDS):
            for number, lap in enumerate(laps):
                best[number] = min(best[number], lap(turn))
            gc.collect()
    finally:
        gc.enable()
    return best


def _message(turn: int, number: int) -> dict[str, object]:
    return {
        "msg_id": f"20240116_120000_cursor_m-{turn}-{number}",
        "msg_type": "command",
        "command_type": "exec",
        "phase": 2,
        "category": "A",
        "title": "Fix what lint says of the parser",
        "target_paths": ["src/parser.ts", "src/lexer.ts"],
        "origin_ref": "src/parser.ts",
        "created_by": "cursor",
        "notes": "Found while the grammar was extended; nothing else is touched.",
    }


def _put(folder: Path, turn: int) -> None:
    for number in range(MESSAGES):
        message = _message(turn, number)
        (folder / f"{message['msg_id']}.json").write_text(json.dumps(message))
    time.sleep(SETTLED_S)


class _Ours:
    """A repository with an open bus."""

    def __init__(self, root: Path, rules: int, stack: ExitStack) -> None:
        (root / "runtime/rules").mkdir(parents=True)
        (root / "bylaw.toml").write_text("")
        (root / "SHARED_CONTEXT.md").write_text("Active Phase: 2\n")
        paths = [f"src/part{number}/**" for number in range(rules - 1)] + ["src/**"]
        written = [_RULE.format(number=n, paths=one) for n, one in enumerate(paths)]
        (root / "runtime/rules/laws.yaml").write_text(
            'dsl_version: "0.1"\nrules:\n' + "".join(written)
        )
        self.root = root
        self.handled: list[MessageOutcome] = []
        telling = BusListener(self.handled.append, print)
        self._opened = stack.enter_context(open_bus(str(root), telling, trust=False))

    def lap(self, turn: int) -> float:
        """Seconds a message; all must be done."""
        _put(self.root / "runtime/bus/input", turn)
        self.handled.clear()
        begun = time.perf_counter()
        self._opened.orchestrator.run_once()
        seconds = (time.perf_counter() - begun) / MESSAGES
        done = [one for one in self.handled if one.status == "done" and len(one.evidence) == 1]
        if len(done) != MESSAGES:
            raise SystemExit(f"{len(done)} of {MESSAGES} messages are done")
        return seconds


class _ByHand:
    """What the system sees of it, and nothing else."""

    def __init__(self, root: Path, ours: _Ours, stack: ExitStack) -> None:
        self._folders = {name: root / name for name in ("input", "processing", "output")}
        for folder in self._folders.values():
            folder.mkdir(parents=True)
        ours.lap(-1)  # warms it, and gives an evidence to copy
        self._evidence = (ours.root / ours.handled[0].evidence[0]).read_bytes()
        self._synced = self._database(root / "synced.db", "FULL", stack)
        self._other = self._database(root / "other.db", "NORMAL", stack)
        self._output = os.open(self._folders["output"], os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, self._output)

    def _database(self, path: Path, synchronous: str, stack: ExitStack) -> sqlite3.Connection:
        make_private(str(path))
        connection = connect(str(path))
        stack.callback(connection.close)
        use_wal(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("CREATE TABLE bare (name TEXT, data BLOB) STRICT")
        return connection

    def lap(self, turn: int) -> float:
        """Seconds a message."""
        _put(self._folders["input"], turn)
        begun = time.perf_counter()
        for path in sorted(self._folders["input"].iterdir()):
            self._one(path)
        return (time.perf_counter() - begun) / MESSAGES

    def _one(self, given: Path) -> None:
        name = given.name
        data = given.read_bytes()
        claimed = given.rename(self._folders["processing"] / name)
        _commit(self._synced, name, data[:100])
        _commit(self._synced, name, data[:300])
        _commit(self._other, name, data * 3)
        self._write_evidence(name)
        _commit(self._other, name, data)
        _commit(self._other, name, b"")
        _commit(self._synced, name, data[:100])
        claimed.unlink()

    def _write_evidence(self, name: str) -> None:
        final = self._folders["output"] / name
        temporary = final.with_name(f".{name}")
        with temporary.open("xb") as stream:
            stream.write(self._evidence)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.rename(final)
        os.fsync(self._output)


def _commit(database: sqlite3.Connection, name: str, data: bytes) -> None:
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO bare VALUES (?, ?)", (name, data))
    database.execute("COMMIT")
