"""What an agent said last, from transcripts as real clients write them."""

import json
import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import DATA

from bylaw.hosts.clients.transcripts import MAX_TAIL, last_text

SAMPLES = sorted((DATA / "hooks" / "transcripts").glob("*.jsonl"))
each = pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
# What a person says next, in the form of each client.
PROMPTS = {
    "claude": {"type": "user", "message": {"role": "user", "content": "and now?"}},
    "codex": {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "and now?"}],
        },
    },
    "copilot": {"type": "user.message", "data": {"content": "and now?"}},
    "copilot-subagent": {"type": "user.message", "data": {"content": "and now?"}},
    "cursor": {"role": "user", "message": {"content": [{"type": "text", "text": "and now?"}]}},
    "droid": {
        "type": "message",
        "message": {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
    },
    "gemini": {"type": "user", "content": [{"text": "and now?"}]},
    "qwen": {"type": "user", "message": {"role": "user", "parts": [{"text": "and now?"}]}},
}


@each
def test_the_last_words_are_found(sample):
    assert last_text(str(sample), 0) == "All done."


@each
def test_words_with_a_promise_stay_as_they_are(sample, tmp_path):
    said = 'Done.\n<promise>tests</promise> "quoted" ü'
    text = sample.read_text(encoding="utf-8").replace("All done.", json.dumps(said)[1:-1])
    file = tmp_path / "transcript.jsonl"
    file.write_text(text, encoding="utf-8")

    assert last_text(str(file), 0) == said


@each
def test_words_before_a_person_spoke_do_not_count(sample, tmp_path):
    file = tmp_path / "transcript.jsonl"
    prompt = json.dumps(PROMPTS[sample.stem])
    file.write_text(f"{sample.read_text(encoding='utf-8').rstrip()}\n{prompt}\n", encoding="utf-8")

    assert last_text(str(file), 0) is None


@each
def test_a_line_that_is_not_whole_yet_is_passed_over(sample, tmp_path):
    lines = sample.read_text(encoding="utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if "All done." in line)
    file = tmp_path / "transcript.jsonl"
    file.write_text("\n".join([*lines[:last], lines[last][:-1]]), encoding="utf-8")

    assert last_text(str(file), 0) != "All done."


@each
def test_words_that_are_written_a_moment_later_are_waited_for(sample, tmp_path):
    lines = sample.read_text(encoding="utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if "All done." in line)
    file = tmp_path / "transcript.jsonl"
    file.write_text("\n".join(lines[:last]) + "\n", encoding="utf-8")
    rest = "\n".join(lines[last:]) + "\n"

    def write():
        with file.open("a", encoding="utf-8") as transcript:
            transcript.write(rest)

    timer = threading.Timer(0.15, write)
    timer.start()
    try:
        assert last_text(str(file), 10) == "All done."
    finally:
        timer.join()


def test_words_beside_a_call_of_copilot_are_not_the_last_ones(tmp_path):
    """They were recorded with an empty text; a model may say something there."""
    lines = (DATA / "hooks/transcripts/copilot.jsonl").read_text(encoding="utf-8").splitlines()
    asked = next(at for at, line in enumerate(lines) if '"toolRequests":[{' in line)
    lines[asked] = lines[asked].replace('"content":""', '"content":"I begin."')
    file = tmp_path / "transcript.jsonl"
    file.write_text("\n".join(lines[: asked + 1]) + "\n", encoding="utf-8")

    def write():
        with file.open("a", encoding="utf-8") as transcript:
            transcript.write("\n".join(lines[asked + 1 :]) + "\n")

    timer = threading.Timer(0.15, write)
    timer.start()
    try:
        assert last_text(str(file), 10) == "All done."
    finally:
        timer.join()


def test_old_words_are_not_the_last_ones_where_something_came_behind_them(tmp_path):
    file = tmp_path / "transcript.jsonl"
    said, behind = (
        json.dumps({"type": kind, "data": {"content": "Old."}}) + "\n"
        for kind in ("assistant.message", "hook.end")
    )
    file.write_text(said)
    known = file.stat().st_size
    assert last_text(str(file), 0, known) == "Old."

    file.write_text(said + behind)
    assert last_text(str(file), 0, known) is None
    assert last_text(str(file), 0) == "Old."
    file.write_text(said + behind + said + behind)
    assert last_text(str(file), 0, known) == "Old."


def test_only_the_end_of_a_long_file_is_read(tmp_path):
    file = tmp_path / "transcript.jsonl"
    filler = json.dumps({"type": "system", "text": "x" * 1000}) + "\n"
    said = json.dumps({"role": "assistant", "message": {"content": "Here."}}) + "\n"
    file.write_text(said + filler * (MAX_TAIL // 1000 + 10) + said, encoding="utf-8")
    assert last_text(str(file), 0) == "Here."

    file.write_text(said + filler * (MAX_TAIL // 1000 + 10), encoding="utf-8")
    assert last_text(str(file), 0) is None


def test_what_is_no_file_tells_nothing_and_keeps_nobody_waiting(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)

    for name in ("none", "folder", "pipe", "a\0b", "x" * 5000):
        assert last_text(str(tmp_path / name), 0) is None

    assert waits == []


@given(st.lists(st.one_of(st.binary(), st.sampled_from([one.read_bytes() for one in SAMPLES]))))
def test_any_file_gives_a_text_or_nothing(tmp_path_factory, pieces):
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_bytes(b"\n".join(pieces))

    assert isinstance(last_text(str(file), 0), str | None)
