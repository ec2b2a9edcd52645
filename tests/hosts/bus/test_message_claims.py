"""Claims of messages, with real processes that race for them."""

import json
import os
from contextlib import ExitStack
from random import Random
from time import sleep

import pytest
from bus_processes import all_at_once, bus_user, go

from bylaw.hosts.bus.folders import BusFolders
from bylaw.hosts.bus.message_file import (
    Claim,
    claim,
    list_claims,
    move_back,
    move_to_error,
    read_claimed,
    remove_claim,
    stamp_of,
    take_over,
)
from bylaw.store.system import is_dead, own_process_name


@pytest.fixture
def bus(tmp_path):
    with BusFolders(str(tmp_path), "runtime/bus") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path, bus):
    return tmp_path / "runtime/bus"


def put(folder, name, text="msg_id: a\n"):
    path = folder / "input" / name
    path.write_text(text)
    return stamp_of(path.stat())


def in_folder(folder, name):
    return sorted(one.name for one in (folder / name).iterdir())


def test_a_claim_is_ours_and_says_so(bus, folder):
    got = claim(bus, "a.yaml", put(folder, "a.yaml"))

    assert got.name == "a.yaml"
    assert got.owner == own_process_name()
    assert not is_dead(got.owner)
    assert list_claims(bus) == [got]
    assert in_folder(folder, "input") == []
    assert claim(bus, "a.yaml", stamp_of(folder.stat())) is None
    assert read_claimed(bus, got).message == {"msg_id": "a"}
    remove_claim(bus, got)
    remove_claim(bus, got)
    assert list_claims(bus) == []


def test_what_was_written_to_meanwhile_is_not_claimed(bus, folder):
    stamp = put(folder, "a.yaml")
    put(folder, "a.yaml", "msg_id: another\n")

    assert claim(bus, "a.yaml", stamp) is None
    assert in_folder(folder, "input") == ["a.yaml"]
    assert in_folder(folder, "processing") == []


def test_it_is_given_back_beside_what_came_meanwhile(bus, folder):
    got = [claim(bus, "a.yaml", put(folder, "a.yaml", f"n: {n}\n")) for n in range(3)]
    put(folder, "a.yaml", "n: new\n")

    assert [move_back(bus, one) for one in got] == ["a-2.yaml", "a-3.yaml", "a-4.yaml"]
    assert move_back(bus, got[0]) is None
    texts = {one.name: one.read_text() for one in (folder / "input").iterdir()}
    assert texts == {
        "a.yaml": "n: new\n", "a-2.yaml": "n: 0\n", "a-3.yaml": "n: 1\n", "a-4.yaml": "n: 2\n",
    }  # fmt: skip


def test_of_two_who_take_over_one_does(bus, folder):
    got = claim(bus, "a.yaml", put(folder, "a.yaml"))
    mine = take_over(bus, got)

    assert mine.name == "a.yaml"
    assert take_over(bus, got) is None
    assert list_claims(bus) == [mine]


def test_what_no_evidence_can_hold_is_kept(bus, folder):
    got = claim(bus, "a.yaml", put(folder, "a.yaml"))
    path = move_to_error(bus, got)

    assert path == f"runtime/bus/error/{got.file}"
    assert (folder / "error" / got.file).read_text() == "msg_id: a\n"
    assert list_claims(bus) == []


@pytest.mark.parametrize(
    "name",
    [
        "a", ".yaml", "a b.yaml", "..yaml", "a\nb.yaml", "\x1b[31m.yaml", "-rf", "a.b.c.json", "ä" * 120 + ".yaml",
        "x" * 255, "y." + "z" * 253, "\udcff\udcfe.yaml", "e14dd543_1_2_3_0123456789abcdef",
        "a.e14dd543_pid:[1]_2_3_0123456789abcdef", "$(touch x).yaml", "a.yaml.json",
    ],
)  # fmt: skip
def test_any_name_comes_back(bus, folder, name):
    stamp = put(folder, name)
    got = claim(bus, name, stamp)

    (listed,) = list_claims(bus)
    assert listed.file == got.file
    assert listed.owner == own_process_name()
    if len(os.fsencode(name)) <= 150:
        assert listed.name == name
    assert move_back(bus, Claim(name, got.file)) == name
    assert in_folder(folder, "input") == [name]

    again = claim(bus, name, stamp)
    put(folder, name)
    other = move_back(bus, again)
    assert other != name
    assert sorted(in_folder(folder, "input")) == sorted([name, other])


def test_only_claims_are_listed(bus, folder):
    """A rule may write into `processing` too."""
    for name in ("m.rule.1.json", "a.yaml", ".new-x", "a.yaml.0123456789abcdef"):
        (folder / "processing" / name).touch()
    assert list_claims(bus) == []


def test_of_several_processes_exactly_one_gets_each(bus, folder):
    """LD-002"""
    names = [f"m{n:03}.yaml" for n in range(300)]
    for name in names:
        put(folder, name)

    said = all_at_once(6, "claim", bus.root)
    assert sorted(name for each in said for name in each) == names
    assert sorted(one.name for one in list_claims(bus)) == names
    assert all(is_dead(one.owner) for one in list_claims(bus))


def test_of_several_who_give_back_nobody_loses_anything(bus, folder):
    for n in range(50):
        claim(bus, "a.yaml", put(folder, "a.yaml", f"n: {n}\n"))
    for one in list_claims(bus):
        move_back(bus, one)
    texts = {one.read_text() for one in (folder / "input").iterdir()}
    assert texts == {f"n: {n}\n" for n in range(50)}


def test_killed_at_any_moment_no_message_is_lost(bus, folder):
    """LD-003: a message is in `input`, in `processing`, or in an evidence that is whole."""
    names = {f"m{n:03}.json" for n in range(400)}
    for name in names:
        put(folder, name, json.dumps({"msg_id": name}))
    chance = Random(5)
    for _ in range(8):
        with ExitStack() as stack:
            users = [stack.enter_context(bus_user("handle", bus.root)) for _ in range(2)]
            for user in users:
                go(user)
            sleep(chance.uniform(0.01, 0.15))
        for one in list_claims(bus):
            assert is_dead(one.owner)
            move_back(bus, one)

    told = [json.loads(one.read_text()) for one in (folder / "output").glob("[!.]*.json")]
    handled = {one["message"]["msg_id"] for one in told}
    assert handled
    assert handled | set(in_folder(folder, "input")) == names
