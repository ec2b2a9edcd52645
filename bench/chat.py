"""What a long chat costs: to append a block, to decide a turn, to be opened again.

A block is appended through the transcript: its note, its bytes, and the block read back. A turn is
`turn.start`, the message of the assistant and `turn.end`, submitted by the channel of an open chat.
"""

from __future__ import annotations

import gc
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from chatmd_parse import MEGABYTE, transcript
from table import Lap, Row, race

from bylaw.hosts.chat.setup import ChatOptions, open_chat
from bylaw.hosts.chat.transcript import response
from bylaw.model.event import Message, TurnEnd, TurnStart
from bylaw.model.vocabulary import Role
from bylaw.store.journal.sessions import SNAPSHOT_EVERY

if TYPE_CHECKING:
    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.driver import Driver
    from bylaw.model.vocabulary import Level

APPEND_AT_MOST, TURN_AT_MOST = 1.5, 1.2
MEGABYTES = 20
FEW, MANY = 10, 10_000
# A round holds one snapshot of the session.
TURNS = SNAPSHOT_EVERY // 3 + 1
ROUNDS = 40
OPENINGS = 3
RULES = """\
<rules>
  <on id="remind" event="turn_start" if="turn_index % 1000000 == 0">
    <insert role="user">remember</insert>
  </on>
  <on id="shorten" event="turn_end" if="context_tokens > 100000000">
    <compact keep="system,latest:8" strategy="summary"/>
  </on>
  <on id="help" event="message_appended" if='text_contains("Error", "last_tool")' once="true">
    <insert role="developer">look at the error</insert>
  </on>
</rules>
"""
SAID = "The value is handed on from part to part, and the last of them writes it. " * 5


class Nobody:
    """Hears nothing."""

    def text(self, piece: str) -> None:
        """Not heard."""

    def block(self, block: Block) -> None:
        """Not seen."""

    def note(self, text: str) -> None:
        """Not known."""

    def log(self, level: Level, rule: str, text: str) -> None:
        """Not kept."""


def run() -> list[Row]:
    """All rows of chats."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "none.jsonl").touch()
        return [_append(root), _turns(root), _open(root)]


def _written(root: Path, name: str, text: str) -> Path:
    """A chat in a root of its own: the others of a root are looked at when one is opened."""
    path = root / name / "chat.chatmd"
    path.parent.mkdir()
    (path.parent / "bylaw.toml").touch()
    path.write_text(RULES + text)
    return path


def _opened(path: Path, stack: ExitStack) -> Driver:
    wanted = ChatOptions(model=f"script:{path.parents[1]}/none.jsonl")
    return stack.enter_context(open_chat(str(path), wanted, Nobody()))


def _append(root: Path) -> Row:
    written = response("call", SAID)
    with ExitStack() as stack:
        small = _opened(_written(root, "small", transcript(1)), stack)
        large = _opened(_written(root, "large", transcript(MEGABYTES * MEGABYTE)), stack)
        laps = {
            "large": Lap(large.transcript.add, [written]),
            "small": Lap(small.transcript.add, [written]),
        }
        best = race(laps, rounds=60, round_seconds=0.02)
    inside = f"a block of {len(written.as_text)} bytes: its note, its bytes, read back"
    name = f"append to {MEGABYTES} MB, against a small file"
    return Row(name, inside, best["large"], best["small"], APPEND_AT_MOST, faster=False)


def _turns(root: Path) -> Row:
    """As in the benchmark of the journal: a short session is a new one each time."""
    best = {"long": float("inf"), "short": float("inf")}
    gc.disable()
    try:
        with ExitStack() as stack:
            longest = _opened(_written(root, "long", _messages(MANY)), stack)
            assert longest.channel.session().history.length >= MANY
            for number in range(ROUNDS):
                with ExitStack() as round_:
                    path = _written(root, f"short-{number}", _messages(FEW))
                    short = _opened(path, round_)
                    for side, driver in (("long", longest), ("short", short)):
                        best[side] = min(best[side], _seconds_a_turn(driver))
                gc.collect()
    finally:
        gc.enable()
    inside = "turn.start, the assistant's message and turn.end, under three rules, committed"
    name = f"a turn after {MANY:,} messages, against {FEW}"
    return Row(name, inside, best["long"], best["short"], TURN_AT_MOST, faster=False)


def _messages(count: int) -> str:
    pair = f"<user>and then?</user>\n<assistant>{SAID}</assistant>\n"
    return pair * (count // 2)


def _seconds_a_turn(driver: Driver) -> float:
    submit = driver.channel.submit
    events = (TurnStart(), Message(role=Role.ASSISTANT, text=SAID), TurnEnd(text=SAID))
    begun = time.perf_counter()
    for _ in range(TURNS):
        for event in events:
            submit(event)
    return (time.perf_counter() - begun) / TURNS


def _open(root: Path) -> Row:
    """A megabyte of each, the second time that a chat is opened."""
    large, small = (_seconds_to_open(root, megabytes) for megabytes in (MEGABYTES, 1))
    inside = (
        f"a megabyte of {MEGABYTES} and of 1, opened again: read, its rules loaded, its journal "
        f"opened; {MEGABYTES} MB take {large * MEGABYTES:.1f} s"
    )
    name = f"open {MEGABYTES} MB, a megabyte, against 1 MB"
    return Row(name, inside, large, small, faster=False)


def _seconds_to_open(root: Path, megabytes: int) -> float:
    path = _written(root, f"open-{megabytes}", transcript(megabytes * MEGABYTE))
    best = float("inf")
    for _ in range(OPENINGS + 1):  # the first one has more to tell
        with ExitStack() as stack:
            begun = time.perf_counter()
            _opened(path, stack)
            best = min(best, time.perf_counter() - begun)
    return best / megabytes
