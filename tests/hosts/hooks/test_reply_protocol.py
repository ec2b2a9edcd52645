"""What goes over the pipe between the two processes of a hook."""

import os

from bylaw.hosts.clients.base import Output
from bylaw.hosts.hooks.resident_client import (
    ANSWER,
    FAIL_OPEN,
    FAILED,
    ReplyWriter,
    split_message,
    unpack_answer,
)


def test_an_answer_comes_through_as_it_is():
    reading, writing = os.pipe()
    reply = ReplyWriter(writing)
    reply.allow_on_failure()
    reply.give(Output('{"a": "\u00e4"}\n', "why\n", 2))

    said = os.read(reading, 1000)
    os.close(reading)
    kind, body = split_message(said)
    assert (said[:1], kind) == (FAIL_OPEN, ANSWER)
    assert unpack_answer(body) == ('{"a": "\u00e4"}\n'.encode(), b"why\n", 2)
    assert split_message(said[:-1]) == (b"", b"")


def test_a_failure_comes_through_with_its_reason():
    reading, writing = os.pipe()
    ReplyWriter(writing).fail("it broke")

    assert split_message(os.read(reading, 1000)) == (FAILED, b"it broke")
    os.close(reading)


def test_what_fails_after_the_answer_is_written_nowhere(tmp_path):
    """The number of the pipe may be that of a journal by then."""
    reading, writing = os.pipe()
    reply = ReplyWriter(writing)
    reply.give(Output())
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    assert other == writing

    reply.fail("closing failed")

    os.close(other)
    os.close(reading)
    assert (tmp_path / "other").read_bytes() == b""
