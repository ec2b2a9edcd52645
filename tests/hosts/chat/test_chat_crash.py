"""A chat may be killed at any moment: the file loads, goes on, and holds what the model was sent."""

import json
import re
import sys
from collections import Counter
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest
from killed_chats import CHAT, KINDS, PLACES, TURN
from msgspec.json import encode
from open_chats import blocks_of, rebuilt

from bylaw.hosts.chat.blocks import BlockKind, read_blocks
from bylaw.hosts.chat.request import orphan_responses, unanswered_calls
from bylaw.hosts.chat.resume import INTERRUPTED, NOT_STARTED
from bylaw.languages.chatmd.parser import parse
from bylaw.languages.chatmd.scanner import Element
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role
from bylaw.report.verify import verify
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.search import JournalReader

HERE = Path(__file__).parent
CHATS, TURNS = 24, 42
JOURNAL = ".bylaw/state/journal.db"


def killed(turns, kinds, *folders):
    """Chats whose processes were killed, half of them beside the other half."""
    halves = [folders[0::2], folders[1::2]]
    command = [sys.executable, HERE / "killed_chats.py", str(turns), ",".join(kinds)]
    running = [Popen([*command, *half], stdout=PIPE, stderr=PIPE) for half in halves]
    done = [process.communicate(timeout=900) for process in running]
    assert [errors.decode() for _, errors in done] == ["", ""]
    counts = [[Counter(json.loads(line)) for line in out.splitlines()] for out, _ in done]
    return [
        Crashed(*one)
        for half in zip(halves, counts, strict=True)
        for one in zip(*half, strict=True)
    ]


class Crashed:
    """A chat after all kills."""

    def __init__(self, folder, killed):
        self.folder = folder
        self.killed = killed
        self.text = (folder / "chat.chatmd").read_bytes().decode()
        self.blocks = blocks_of(self.text)
        self.all = everything(self.text)
        self.done = Counter((folder / "done").read_text().split())
        # The chat goes on while something is called.
        self.turns = sum(map(is_turn, self.all))
        self.sent = [json.loads(line) for line in (folder / "sent").read_text().splitlines()]
        with Journal(str(folder / JOURNAL)) as journal:
            self.session = journal.session("chat:chat.chatmd")

    def of(self, rule):
        """Where the blocks of a rule stand among all, by the turn before them."""
        return [
            turn
            for turn, block in self.by_turn()
            if block.via_rule == rule and not block.text.startswith("action of ")
        ]

    def by_turn(self):
        turn = 0
        for block in self.all:
            if block.by_model and block.kind is BlockKind.MESSAGE:
                turn = int(TURN.search(block.text)[1])
            yield turn, block


def everything(text):
    """All blocks of a file in its order, those of archives, too."""
    document, _ = parse(SourceFile("chat.chatmd", text))
    return read_blocks((one, document.source) for one in _flat(document.elements))


def _flat(elements):
    for one in elements:
        if one.name == "archive":
            yield from _flat(child for child in one.children if isinstance(child, Element))
        else:
            yield one


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    return killed(TURNS, KINDS, *seeds(tmp_path_factory, CHATS))


def seeds(tmp_path_factory, count):
    base = tmp_path_factory.mktemp("seeds")
    folders = [base / str(seed) for seed in range(count)]
    for folder in folders:
        folder.mkdir()
    return folders


def test_there_were_a_thousand_turns_and_kills_of_every_kind(crashed):
    assert sum(one.session.turns.completed for one in crashed) >= 1_000
    killed = sum((one.killed for one in crashed), Counter())
    assert set(killed) == set(KINDS) > set(PLACES)
    assert sum(killed.values()) > 100
    # A kill may meet every compaction of a chat: what was interrupted is not begun again.
    assert sum("<archive" in one.text for one in crashed) > CHATS * 3 // 4


def test_every_request_was_what_the_file_held(crashed):
    for one in crashed:
        assert not (one.folder / "wrong").exists(), (one.folder / "wrong").read_text()
        assert {number for number, *_ in one.sent} == set(range(1, one.turns + 1))


def test_every_request_since_the_last_compaction_can_be_rebuilt_from_the_file(crashed):
    checked = 0
    for one in crashed:
        data = one.text.encode()
        for _, length, digest, messages in one.sent:
            if sha256(data[:length]).hexdigest() == digest:
                assert json.loads(encode(rebuilt(data[:length].decode()))) == messages
                checked += 1
    assert checked > CHATS


def test_the_file_is_whole(crashed):
    for one in crashed:
        assert unanswered_calls(one.blocks) == []
        assert orphan_responses(one.all) == []
        calls = [block.call for block in one.all if block.kind is BlockKind.CALL]
        assert len(calls) == len(set(calls))
        assert one.text.startswith(CHAT.partition("<user>")[0])
        names = {path.name for path in one.folder.iterdir()}
        assert names == {".bylaw", "bylaw.toml", "chat.chatmd", "done", "sent"}


def test_nothing_is_written_twice_and_nothing_is_left_out(crashed):
    for one in crashed:
        turns = [int(TURN.search(block.text)[1]) for block in one.all if is_turn(block)]
        assert turns == list(range(1, one.turns + 1))
        said = Counter(block.text for block in one.all if is_prompt(block))
        assert set(said.values()) == {1}
        asked = Counter(block.text for block in one.all if block.kind is BlockKind.CALL)
        assert set(asked.values()) == {1}


def is_turn(block):
    return block.by_model and block.kind is BlockKind.MESSAGE


def is_prompt(block):
    return block.role is Role.USER and not block.synthetic


def test_no_call_is_carried_out_twice_and_what_is_answered_was(crashed):
    for one in crashed:
        assert set(one.done.values()) == {1}
        answers = {block.call: block for block in one.all if block.kind is BlockKind.RESPONSE}
        for block in one.all:
            if block.kind is BlockKind.CALL:
                check_call(block, answers[block.call], one.done)


def check_call(call, answer, done):
    wanted = json.loads(call.text)["id"]
    if INTERRUPTED in answer.text:
        assert answer.failed
    elif NOT_STARTED in answer.text:
        assert answer.failed
        assert wanted not in done
    elif answer.text.startswith((f"result of {wanted} ", f"error of {wanted}")):
        assert wanted in done
        assert answer.failed == (call.tool == "fails")
    else:
        assert answer.failed
        assert wanted not in done
    assert call.tool not in {"bad", "nosuch"} or wanted not in done


def test_limits_hold_over_all_kills(crashed):
    for one in crashed:
        answers = {block.call: block for block in one.all if block.kind is BlockKind.RESPONSE}
        begun = [
            block.tool
            for block in one.all
            if block.kind is BlockKind.CALL
            and (
                json.loads(block.text)["id"] in one.done or INTERRUPTED in answers[block.call].text
            )
        ]
        assert begun.count("limited") <= 5
        assert "after" not in begun[: begun.index("note")]


def test_rules_fire_as_they_would_without_kills(crashed):
    for one in crashed:
        assert one.session.turns.completed == one.turns
        assert one.session.slate.variables["chatmd:chat.chatmd"]["n"] == one.turns
        assert len(one.of("greet")) <= 1
        assert one.session.firings["chatmd:chat.chatmd#greet"].count == 1
        assert all(second - first > 4 for first, second in pairwise(one.of("cool")))
        for rule, due in (("remind", lambda turn: turn % 3 == 2), ("count", lambda _: True)):
            assert set(Counter(one.of(rule)).values()) == {1}
            assert all(map(due, one.of(rule)))


def test_the_journal_is_whole_and_decides_the_same_again(crashed):
    for one in crashed:
        path = str(one.folder / JOURNAL)
        report = verify(path, decisions=True, tell=lambda _: None)
        assert [finding.text for finding in report.findings] == []
        with JournalReader(path) as reader:
            assert reader.query("SELECT * FROM open_plans") == []
            assert one.session.calls.pending == ()


def test_kills_while_the_model_answers_change_nothing(tmp_path_factory):
    """Nothing is under way then, so the file is that of a chat that nobody killed."""
    calm = killed(25, ["none"], *seeds(tmp_path_factory, 2))
    others = killed(25, ["model"], *seeds(tmp_path_factory, 2))
    for one, other in zip(calm, others, strict=True):
        assert one.killed.total() == 0 < other.killed["model"]
        assert other.text == one.text
        assert other.done == one.done
        assert state_of(other.session) == state_of(one.session)


def state_of(session):
    """What rules read, without when it was."""
    calls = session.calls
    firings = {uid: (firing.count, firing.turn) for uid, firing in session.firings.items()}
    counts = (calls.by_name, calls.all, calls.successes, calls.failures)
    return session.turns, session.history, session.slate, firings, counts


def test_chats_side_by_side_in_one_root_share_a_journal(tmp_path):
    (tmp_path / "bylaw.toml").touch()
    turn = '{"text": "turn", "tool_calls": [{"name": "limited"}, {"name": "bad"}]}\n'
    (tmp_path / "turns.jsonl").write_text(turn * 15)
    (tmp_path / "results.jsonl").write_text('{"tool": "limited", "result": "ok"}\n' * 15)
    names = [f"{name}.chatmd" for name in "abcd"]
    running = []
    for name in names:
        (tmp_path / name).write_text(CHAT)
        options = ["--model", "script:turns.jsonl", "--tools", "script:results.jsonl"]
        command = [Path(sys.executable).with_name("bylaw"), "chat", name, *options]
        running.append(Popen(command, cwd=tmp_path, stdin=DEVNULL, stdout=PIPE, stderr=PIPE))
    done = [process.communicate(timeout=300) for process in running]

    assert [process.returncode for process in running] == [0] * 4, done
    texts = {(tmp_path / name).read_text() for name in names}
    assert len({re.sub(r"rule-\d+-\d+", "rule", text) for text in texts}) == 1
    blocks = blocks_of(texts.pop())
    assert sum(block.by_model and not block.tool for block in blocks) == 15
    assert sum(block.text == "ok" for block in blocks) == 5
    report = verify(str(tmp_path / JOURNAL), decisions=True, tell=lambda _: None)
    assert [finding.text for finding in report.findings] == []
    assert report.sessions == 4
