"""What `bylaw chat` tells beside the conversation, on standard error."""

import pytest

from bylaw.cli import main

BROKEN = """\
[rule]
id = "broken"
trigger = "on_turn_start"

[condition]
expression = "context.nothing"

[action]
type = "notify_self"
message = "x"
"""


@pytest.fixture
def chat(tmp_path, monkeypatch, capsys):
    """`bylaw chat main.chatmd` with a script: its exit code and what it told."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.chatmd").write_text("<user>hi</user>\n")
    (tmp_path / "turns.jsonl").write_text('{"text": "Hello."}\n{"text": "Good bye."}\n')

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["bylaw", "chat", "main.chatmd", *arguments])
        exit_code = main()
        told = capsys.readouterr()
        return exit_code, told.out, told.err

    return run


def test_a_rule_file_that_does_not_load_is_told_once(tmp_path, chat):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "broken.toml").write_text(BROKEN)
    exit_code, out, errors = chat("--model", "script:turns.jsonl")

    assert (exit_code, out) == (0, "Hello.\nGood bye.\n")
    assert errors.count("`rules/broken.toml` does not load: line 6") == 1


def test_a_default_model_that_nobody_trusts_is_named(tmp_path, chat):
    (tmp_path / "bylaw.toml").write_text('[model]\ndefault = "script:turns.jsonl"\n')

    exit_code, _, errors = chat()
    assert exit_code == 1
    assert "`[model] default` is not trusted; run `bylaw trust`" in errors
    assert chat("--trust")[:2] == (0, "Hello.\nGood bye.\n")


def test_what_only_warns_is_shown_with_its_place(tmp_path, chat):
    (tmp_path / "main.chatmd").write_text("<ruleset/>\n<user>hi</user>\n")
    exit_code, _, errors = chat("--model", "script:turns.jsonl")

    assert exit_code == 0
    assert "main.chatmd:1:1" in errors


def test_a_script_that_is_wrong_is_told_with_its_line(tmp_path, chat):
    (tmp_path / "turns.jsonl").write_text('{"text": "Hello."}\n{"txt": "Good bye."}\n')
    exit_code, _, errors = chat("--model", "script:turns.jsonl")

    assert exit_code == 1
    assert "turns.jsonl:2: a turn has no field `txt`: did you mean `text`?" in errors
    assert (tmp_path / "main.chatmd").read_text() == "<user>hi</user>\n"
