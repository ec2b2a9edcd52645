"""A path argument becomes a text, or a diagnostic."""

import io
import os
import sys
import threading

import pytest

from bylaw.cli.terminal import read_source
from bylaw.model.errors import LoadError
from bylaw.store.files import MAX_INPUT_BYTES


def refusal(path):
    with pytest.raises(LoadError) as caught:
        read_source(path)
    (found,) = caught.value.diagnostics
    return found


def test_a_file_keeps_its_name_and_every_character(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes("\ufeffé\r\n\0".encode())
    source = read_source(str(path))

    assert (source.path, source.text) == (str(path), "\ufeffé\r\n\0")


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("ü".encode())))
    source = read_source("-")

    assert (source.path, source.text) == ("<stdin>", "ü")


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)

    assert refusal("-").headline == "cannot read standard input: it is closed"


def test_a_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"x" * 200_000))
    writer.start()

    assert read_source(str(pipe)).text == "x" * 200_000
    writer.join()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing.json", "file not found"),
        ("", "file not found"),
        ("/dev/null/x", "file not found"),
        (".", "it is a folder"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_what_cannot_be_read_says_why(path, why):
    found = refusal(path)

    assert (found.code, found.headline) == ("unreadable-file", f"cannot read `{path}`: {why}")


def test_a_name_that_is_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.txt"
    with open(path, "wb") as file:  # noqa: PTH123 - a name of bytes
        file.write(b"here")

    assert read_source(path.decode("utf-8", "surrogateescape")).text == "here"


def test_bytes_that_are_not_utf8_are_shown_at_their_place(tmp_path):
    path = tmp_path / "latin"
    path.write_bytes(b"a\ncaf\xe9 au lait")
    found = refusal(str(path))

    assert (found.code, found.headline) == ("not-utf8", "this is not UTF-8 text: byte 0xe9")
    assert (found.underlined, found.source.position(found.span.start).line) == ("\ufffd", 2)


def test_utf16_is_recognised(tmp_path):
    path = tmp_path / "wide"
    path.write_bytes("ab".encode("utf-16"))

    assert refusal(str(path)).help == "it looks like UTF-16: save the file as UTF-8"


def test_the_limit_holds_and_an_endless_file_ends(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"x" * MAX_INPUT_BYTES)

    assert len(read_source(str(path)).text) == MAX_INPUT_BYTES
    assert refusal("/dev/zero").code == "too-large"
