"""Files of `input`: when they are ready, what is in them, and what is not taken for a message."""

import os
import socket
import subprocess
import sys
import time
from contextlib import chdir
from hashlib import sha256

import pytest
from bus_processes import bus_user, go

from bylaw.hosts.bus.folders import BusFolders
from bylaw.hosts.bus.message_file import (
    MAX_MESSAGE_BYTES,
    PATIENCE_S,
    QUIET_S,
    IgnoredFile,
    NotYet,
    ReadyFile,
    claim,
    digest_of,
    is_being_written,
    read_claimed,
    read_message_file,
)

MESSAGE = """\
msg_id: 20240116_120000_cursor_fix-lint
phase: 3
target_paths: [a.py, "b c.py"]
created: 2024-01-16
args: {ratio: 0.5, none: ~, yes: yes, text: "ä\\n"}
"""
AS_JSON = """\
{"phase": 3, "msg_id": "20240116_120000_cursor_fix-lint", "created": "2024-01-16",
 "args": {"text": "\\u00e4\\n", "yes": "yes", "none": null, "ratio": 5e-1},
 "target_paths": ["a.py", "b c.py"]}
"""


@pytest.fixture
def bus(tmp_path):
    with BusFolders(str(tmp_path), "runtime/bus") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path, bus):
    return tmp_path / "runtime/bus/input"


def anything(_message):
    return True


def nothing(_message):
    return False


def when_ready(bus, name, complete=anything, seconds=300):
    """What a file holds once it is ready, and how often it was not."""
    until = time.monotonic() + seconds
    waited = []
    while isinstance(looked := read_message_file(bus, name, complete), NotYet):
        assert time.monotonic() < until, looked
        assert 0 < looked.wait_s <= PATIENCE_S * 2
        waited.append(looked.why)
        time.sleep(min(looked.wait_s, 0.02))
    assert isinstance(looked, ReadyFile), looked
    return looked.file, waited


def read(bus, folder, name, data):
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    (file, _) = when_ready(bus, name)
    return file


def test_yaml_and_json_are_one_message(bus, folder):
    """LD-022"""
    ours = [
        read(bus, folder, "a.yaml", MESSAGE),
        read(bus, folder, "a.YML", "\ufeff" + MESSAGE),
        read(bus, folder, "a.json", AS_JSON),
        read(bus, folder, "b.json", "\ufeff" + AS_JSON),
    ]
    assert [one.unreadable for one in ours] == [""] * 4
    assert all(one.message == ours[0].message for one in ours)
    assert {one.digest for one in ours} == {digest_of(ours[0].message)}
    assert ours[0].message["created"] == "2024-01-16"
    assert ours[0].raw == MESSAGE.encode()
    assert ours[0].name == "a.yaml"


def test_another_message_has_another_digest():
    assert digest_of({"a": 1}) != digest_of({"a": "1"}) != digest_of({"a": 1.5})
    assert digest_of({"a": 1, "b": [1, 2]}) == digest_of({"b": [1, 2], "a": 1})
    assert digest_of([1, 2]) != digest_of([2, 1])
    assert digest_of({"a": 10**40}) != digest_of({"a": 10**40 + 1})


@pytest.mark.parametrize(
    "name", [".a.yaml", "a.yaml~", "a.yaml.tmp", "a.part", ".a.yaml.swp", "a.SWP", ".", "gone.yaml", "folder.yaml"]
)  # fmt: skip
def test_what_is_never_a_message(bus, folder, name):
    (folder / "folder.yaml").mkdir()
    if name not in {".", "gone.yaml", "folder.yaml"}:
        (folder / name).write_text(MESSAGE)
    assert read_message_file(bus, name, anything) == IgnoredFile()


def test_it_must_be_quiet(bus, folder):
    (folder / "a.yaml").write_text(MESSAGE)
    assert read_message_file(bus, "a.yaml", anything).why == "it has just been written"
    time.sleep(QUIET_S + 0.02)
    assert isinstance(read_message_file(bus, "a.yaml", anything), ReadyFile)


@pytest.mark.parametrize("to", [0, 2**31, -5])
def test_nobody_gains_by_setting_its_time(bus, folder, to):
    (folder / "a.yaml").write_text(MESSAGE)
    os.utime(folder / "a.yaml", (to, to))
    assert isinstance(read_message_file(bus, "a.yaml", anything), NotYet)
    when_ready(bus, "a.yaml")


@pytest.mark.parametrize(
    ("text", "complete"), [("msg_id: a\nkey", anything), (MESSAGE, nothing), ("", anything)]
)
def test_what_cannot_be_taken_may_be_half_of_it(bus, folder, text, complete):
    (folder / "a.yaml").write_text(text)
    begun = time.monotonic()
    _, waited = when_ready(bus, "a.yaml", complete)
    assert time.monotonic() - begun > PATIENCE_S - 0.05
    assert set(waited) == {"it has just been written", "it may be incomplete"}


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_a_slow_writer_is_waited_for(bus, name):
    with bus_user("slow", bus.root, name) as writer:
        go(writer)
        assert writer.stdout.readline() == "0\n"
        file, waited = when_ready(bus, name)
    assert "another process has it open for writing" in waited
    if name == "a.yaml":
        assert file.message == {f"key{n}": "value" for n in range(4)}
    else:
        assert "not JSON" in file.unreadable


def test_pieces_that_are_appended(bus, folder):
    """Between two of them nobody has it open: what is not complete is waited for."""
    with bus_user("append", bus.root, "a.yaml") as writer:
        go(writer)
        while not (folder / "a.yaml").exists():
            time.sleep(0.01)
        file, _ = when_ready(bus, "a.yaml", lambda message: "key3" in message)
    assert file.message == {f"key{n}": "value" for n in range(4)}


def test_a_writer_that_never_closes(bus, folder):
    with bus_user("hold", bus.root, "a.yaml") as writer:
        go(writer)
        assert writer.stdout.readline() == "written\n"
        time.sleep(PATIENCE_S + 0.2)
        looked = read_message_file(bus, "a.yaml", anything)
        assert isinstance(looked, NotYet)
        assert looked.why == "another process has it open for writing"
        assert is_being_written(bus.input, "a.yaml")
    assert not is_being_written(bus.input, "a.yaml")
    assert isinstance(read_message_file(bus, "a.yaml", anything), ReadyFile)


def test_a_reader_is_no_writer(bus, folder):
    (folder / "a.yaml").write_text(MESSAGE)
    with (folder / "a.yaml").open():
        assert not is_being_written(bus.input, "a.yaml")


def test_a_writer_that_comes_while_we_look_does_no_harm(bus, folder):
    """The system tells the holder of a lease by a signal, which would end us by default."""
    (folder / "a.yaml").write_text(MESSAGE)
    code = "import sys\nfor _ in range(20000): open(sys.argv[1], 'a').close()"
    writer = subprocess.Popen([sys.executable, "-c", code, folder / "a.yaml"])
    looked = [is_being_written(bus.input, "a.yaml") for _ in range(20_000)]
    assert writer.wait(300) == 0
    assert set(looked) >= {False}


def test_a_changed_file_is_read_after_the_claim(bus, folder):
    (folder / "a.yaml").write_text("a: 1\n")
    time.sleep(QUIET_S + 0.02)
    looked = read_message_file(bus, "a.yaml", anything)
    got = claim(bus, "a.yaml", looked.stamp)
    assert read_claimed(bus, got) == looked.file


DEEP = "\n".join(" " * n + "a:" for n in range(70))
HOSTILE = {
    "a.txt": (MESSAGE, "unsupported format: a message is a `.yaml`, `.yml` or `.json` file"),
    "noending": (MESSAGE, "unsupported format: a message is a `.yaml`, `.yml` or `.json` file"),
    "tag.yaml": ("a: !!python/object/apply:os.system [x]", "line 1: tag `!!python/object/apply:os.system` is not allowed"),
    "alias.yaml": ("a: &x 1\nb: *x", "line 1: anchor `&x` is not allowed"),
    "deep.yaml": (DEEP, "line 65: lists and mappings are nested more than 64 levels deep"),
    "flow.yaml": ("[" * 100_000, "line 1: lists and mappings are nested more than 64 levels deep"),
    "deep.json": ("[" * 100_000, "line 1: lists and objects are nested more than 100 deep"),
    "twice.json": ('{"a": 1,\n"a": 2}', "line 2: duplicate key `a`"),
    "twice.yaml": ("a: 1\na: 2", "line 2: duplicate key `a`"),
    "keys.yaml": ("a: {b: [{1: x}]}", "line 1: the key `1` is not a text; quote it"),
    "nan.yaml": ("a: [.nan]", "a message cannot contain `.inf` or `.nan`"),
    "nan.json": ('{"a": NaN}', "line 1: it is not JSON: `NaN` is not a JSON value"),
    "half.json": ('{"a": "\\ud800"}', "line 1: it is not JSON: lone surrogate (half of a character)"),
    "big.json": ('{"a": 1e999}', "line 1: it is not JSON: this number is too large"),
    "big.yaml": (f"a: {'9' * 400}", "line 1: this number is too large"),
    "latin.yaml": (b"a: \xe4\n", "it is not UTF-8 text: byte 0xe4"),
    "utf16.json": ("{}".encode("utf-16"), "it is not UTF-8 text: byte 0xff"),
    "control.yaml": ("a: \x1b[31m", "line 1: the character U+001B is not allowed in YAML"),
    "empty.yaml": ("", "line 1: missing YAML document"),
    "empty.json": ("", "line 1: it is not JSON: it ends too early"),
    "two.yaml": ("a: 1\n---\nb: 2", "line 2: unexpected second YAML document"),
    "a\nb.yaml": (MESSAGE, "its name contains an invisible character"),
    "\x1b[2Jb.json": ("{}", "its name contains an invisible character"),
    "\u202elmay.yaml": (MESSAGE, "its name contains an invisible character"),
    "\udcff.yaml": (MESSAGE, "its name contains an invisible character"),
    "x" * 200 + ".yaml": (MESSAGE, "its name is longer than 150 bytes"),
}  # fmt: skip


def test_hostile_files(bus, folder):
    """All of them wait for two seconds, so at once."""
    for name, (data, _) in HOSTILE.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    found = {name: when_ready(bus, name)[0] for name in HOSTILE}

    assert {name: file.unreadable for name, file in found.items()} == {
        name: why for name, (_, why) in HOSTILE.items()
    }
    for name, file in found.items():
        raw = (folder / name).read_bytes()
        assert (file.message, file.raw, file.whole) == (None, raw, True)
        assert file.digest == sha256(raw).hexdigest()
        assert file.name.isprintable()
        assert file.name.encode()


def test_what_is_no_regular_file(bus, folder, tmp_path):
    os.mkfifo(folder / "pipe.yaml")
    (folder / "link.yaml").symlink_to("/etc/passwd")
    (folder / "loose.yaml").symlink_to("nowhere")
    (tmp_path / "inside.yaml").write_text(MESSAGE)
    (folder / "own.yaml").symlink_to(tmp_path / "inside.yaml")
    (folder / "device.yaml").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as plug:
        with chdir(folder):  # the whole path would be too long for a socket
            plug.bind("socket.yaml")
        names = ("pipe", "link", "loose", "own", "device", "socket")
        found = {name: when_ready(bus, f"{name}.yaml")[0] for name in names}

    whys = {name: file.unreadable for name, file in found.items()}
    special = dict.fromkeys(("pipe", "socket"), "it is not a regular file")
    links = dict.fromkeys(("link", "loose", "own", "device"), "it is a link")
    assert whys == special | links
    assert {(file.raw, file.whole) for file in found.values()} == {(b"", False)}


def test_such_things_are_claimed_as_they_are(bus, folder):
    os.mkfifo(folder / "pipe.yaml")
    (folder / "link.yaml").symlink_to("/etc/passwd")
    time.sleep(PATIENCE_S)
    for name in ("pipe.yaml", "link.yaml"):
        got = claim(bus, name, read_message_file(bus, name, anything).stamp)
        assert read_claimed(bus, got).unreadable
    assert not list(folder.iterdir())


def test_how_large_a_message_may_be(bus, folder):
    text = "a: " + "x" * (MAX_MESSAGE_BYTES - 3)
    (folder / "large.yaml").write_text(text)
    (folder / "larger.yaml").write_text(text + "x")
    (folder / "huge.yaml").write_text("x" * 10_000_000)
    large, larger, huge = (
        when_ready(bus, f"{name}.yaml")[0] for name in ("large", "larger", "huge")
    )
    assert large.message == {"a": "x" * (MAX_MESSAGE_BYTES - 3)}
    assert larger.unreadable == huge.unreadable == "it is larger than 262,144 bytes"
    assert len(huge.raw) == MAX_MESSAGE_BYTES + 1
    assert not huge.whole
