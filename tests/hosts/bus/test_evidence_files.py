"""Evidence: its names, its texts, and that no half of one is ever seen."""

import json
import os
from contextlib import ExitStack
from random import Random
from stat import S_IMODE
from time import sleep

import pytest
from bus_processes import all_at_once, bus_user, go
from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.bus.evidence import (
    MAX_EVIDENCE_BYTES,
    MAX_SLUG,
    clear_unfinished,
    evidence_files,
    find_message,
    slug,
    write_evidence,
    write_message,
)
from bylaw.hosts.bus.folders import BusFolders, owner_tag
from bylaw.hosts.bus.message_file import digest_of
from bylaw.model.errors import BylawError
from other_user import as_somebody_else

MSG_ID = "20240116_120000_cursor_fix-lint"


@pytest.fixture
def bus(tmp_path):
    with BusFolders(str(tmp_path), "runtime/bus") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path, bus):
    return tmp_path / "runtime/bus"


def text_of(bus, path):
    with open(f"{bus.root}/{path}", encoding="utf-8") as file:  # noqa: PTH123 - a text
        return file.read()


def test_names(bus, folder):
    """LD-A38"""
    paths = [write_evidence(bus, "output", MSG_ID, "lint", {"n": n}) for n in range(3)]
    assert paths == [f"runtime/bus/output/{MSG_ID}.lint.{n}.json" for n in (1, 2, 3)]
    assert [json.loads(text_of(bus, path)) for path in paths] == [{"n": 0}, {"n": 1}, {"n": 2}]
    other = write_evidence(bus, "error", MSG_ID, "law:builtin#no-match", {})
    assert other == f"runtime/bus/error/{MSG_ID}.law-builtin-no-match.1.json"
    assert [bus.shown(*one) for one in evidence_files(bus, MSG_ID)] == [*paths, other]
    assert list(evidence_files(bus, MSG_ID[:-1])) == []
    assert sum(len(list(one.iterdir())) for one in folder.iterdir()) == 4


def test_it_is_as_open_as_the_user_allows(bus, folder):
    old = os.umask(0o027)
    try:
        write_evidence(bus, "output", "a", "b", {})
    finally:
        os.umask(old)
    assert S_IMODE((folder / "output/a.b.1.json").stat().st_mode) == 0o640


def test_nothing_is_overwritten_whatever_lies_there(bus, folder):
    (folder / "output/a.b.1.json").symlink_to("/etc/passwd")
    (folder / "output/a.b.2.json").mkdir()
    (folder / "output/a.b.3.json").symlink_to("nowhere")
    assert write_evidence(bus, "output", "a", "b", {}).endswith("a.b.4.json")


def test_many_of_one_name(bus, folder):
    for n in range(1, 1001):
        (folder / f"output/a.b.{n}.json").touch()
    assert write_evidence(bus, "output", "a", "b", {}).endswith("a.b.1001.json")


def test_people_can_read_it(bus):
    path = write_evidence(bus, "output", "a", "b", {"text": "zwei\nZeilen ä", "list": [1, {}]})
    assert text_of(bus, path) == (
        '{\n  "text": "zwei\\nZeilen ä",\n  "list": [\n    1,\n    {}\n  ]\n}\n'
    )


def test_no_control_character_is_in_it(bus):
    hostile = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0)))) + "\u202e\u2028\udcff\ufeff"
    path = write_evidence(bus, "error", "a", "b", {"text": hostile, hostile: 1})
    text = text_of(bus, path)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"text": hostile, hostile: 1}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (MSG_ID, MSG_ID),
        ("law:rules.yaml#lint", "law-rules-yaml-lint"),
        ("../../etc/passwd", "-etc-passwd"),
        (".hidden", "-hidden"),
        ("", "-"),
        ("\n\x1b[31m", "-31m"),
        ("ä\udcff", "-"),
    ],
)
def test_slugs(text, safe):
    assert slug(text) == safe


@given(st.text(max_size=300))
def test_every_slug_is_a_name(text):
    made = slug(text)
    assert 1 <= len(made) <= MAX_SLUG
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def test_long_texts_have_different_slugs():
    assert slug("x" * 300 + "a") != slug("x" * 300 + "b")
    assert slug("x" * MAX_SLUG) == "x" * MAX_SLUG


@pytest.mark.parametrize(
    "body",
    [
        {"stdout": "x" * 10_000_000, "exit_code": 1},
        {"stdout": "\x00" * 3_000_000, "exit_code": 1},
        {"commands": [{"stdout": "x" * 500_000}] * 20, "exit_code": 1},
        {"message": [[[[[[[[[[[[[0] * 100_000]]]]]]]]]]]], "exit_code": 1},
    ],
)
def test_it_is_bounded(bus, body):
    text = text_of(bus, write_evidence(bus, "output", "a", "b", body))
    assert len(text.encode()) <= MAX_EVIDENCE_BYTES
    assert json.loads(text)["exit_code"] == 1


def test_the_message_stays_whole_whatever_else_is_too_much(bus):
    """LD-035, LD-036: its file is removed."""
    message = {"msg_id": MSG_ID, "notes": "n" * 200_000}
    body = {"commands": [{"stdout": "x" * 500_000}] * 20, "message": message, "exit_code": 1}
    told = json.loads(text_of(bus, write_evidence(bus, "output", MSG_ID, "lint", body)))

    assert told["message"] == message
    assert len(told["commands"][0]["stdout"]) < 500_000
    assert list(told) == ["commands", "message", "exit_code"]
    path = f"runtime/bus/output/{MSG_ID}.lint.1.json"
    assert find_message(bus, MSG_ID, digest_of(message)) == (message, path)
    assert find_message(bus, MSG_ID, digest_of({})) is None


def test_what_nothing_makes_smaller(bus, folder):
    with pytest.raises(BylawError, match="larger than 4,194,304 bytes"):
        write_evidence(bus, "output", "a", "b", {"numbers": [12345] * 1_000_000})
    assert not list((folder / "output").iterdir())


def test_it_cannot_be_written(bus, folder, tmp_path):
    (folder / "output").chmod(0o555)
    with as_somebody_else(tmp_path), pytest.raises(BylawError) as failed:
        write_evidence(bus, "output", "a", "b", {})
    assert (
        str(failed.value) == "cannot write the evidence `runtime/bus/output/a.b`: permission denied"
    )


def test_of_several_processes_nobody_overwrites_another(bus, folder):
    said = all_at_once(6, "evidence", bus.root, 50)
    paths = [path for each in said for path in each]
    assert sorted(paths) == sorted(f"runtime/bus/output/one.same.{n}.json" for n in range(1, 301))
    told = {tuple(json.loads(text_of(bus, path)).values()) for path in paths}
    assert len(told) == 300
    assert len(list((folder / "output").iterdir())) == 300


def test_killed_while_it_writes(bus, folder):
    """Whatever has the name of an evidence is whole, and what was left is cleared away."""
    chance = Random(7)
    for _ in range(8):
        with ExitStack() as stack:
            for _ in range(2):
                go(stack.enter_context(bus_user("write", bus.root)))
            sleep(chance.uniform(0.01, 0.1))
    (folder / "output/.new-mine").touch()
    clear_unfinished(bus)

    found = sorted((folder / "output").iterdir())
    assert found.pop(0).name == ".new-mine"
    assert found
    assert all(json.loads(one.read_text())["end"] for one in found)
    assert all(one.name.startswith("one.same.") for one in found)


def test_what_a_living_process_writes_is_not_cleared(bus, folder):
    (folder / f"output/.new-{owner_tag()}.0123456789abcdef").touch()
    clear_unfinished(bus)
    assert len(list((folder / "output").iterdir())) == 1


def test_a_message_is_put_in_once(bus):
    message = {"msg_id": MSG_ID, "notes": "\x1b\n"}
    path = write_message(bus, message)
    assert path == f"runtime/bus/input/{MSG_ID}.json"
    assert json.loads(text_of(bus, path)) == message
    with pytest.raises(BylawError) as refused:
        write_message(bus, message)
    assert str(refused.value) == f"the message `{path}` already exists"
    assert bus.names() == [f"{MSG_ID}.json"]
