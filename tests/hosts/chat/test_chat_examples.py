"""The chats to copy: each says why, is shown, and does what it says, also what has no room there."""

import json
import re
from pathlib import Path

import pytest

from bylaw.cli import main
from bylaw.runtime.loader import load_paths

EXAMPLES = Path(__file__).parents[3] / "examples" / "chatmd"
CHATS = sorted(EXAMPLES.glob("*.chatmd"))


@pytest.mark.parametrize("path", CHATS, ids=lambda path: path.stem)
def test_an_example_says_why_and_is_shown(path):
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert re.match(r"<!-- (For|The agent of) ", path.read_text(encoding="utf-8"))
    assert f"({path.name})" in page
    assert load_paths([str(path)]).diagnostics == ()


def test_the_long_chat_is_compacted(tmp_path, run_chat):
    chat = tmp_path / "long-research.chatmd"
    before = (EXAMPLES / chat.name).read_text()
    page = "The accounts of the house for the year 1780, page by page, with many numbers.\n" * 50
    users = "".join(f"<user>\nPage {number}.\n{page}</user>\n" for number in range(1, 44))
    chat.write_text(before + users)
    turns = [{"text": f"Answer {number}."} for number in range(1, 7)]
    (tmp_path / "turns.jsonl").write_text("\n".join(map(json.dumps, turns)))

    shown = run_chat(chat, f"script:{tmp_path / 'turns.jsonl'}")

    assert shown.count("[developer (nearly-full)]") == 1
    assert shown.count("[developer (auto-compact)] [compact] ") == 1
    text = chat.read_text()
    assert text.startswith(before.partition("<user>")[0])
    assert text.count("<archive ") >= 1
    assert text.count("Page 1.\n") == 1  # nothing is lost
    assert text.endswith("<assistant>Answer 6.</assistant>\n")


@pytest.fixture
def run_chat(capsys, monkeypatch):
    """`bylaw chat` with a model: what a terminal would show."""

    def run(path, model):
        monkeypatch.setattr("sys.argv", ["bylaw", "chat", str(path), "--model", model, "--once"])
        assert main() == 0
        return capsys.readouterr().out

    return run
