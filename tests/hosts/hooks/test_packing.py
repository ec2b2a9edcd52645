"""What goes over the pipe between the two processes of a hook."""

import os

from bylaw.hosts.hooks.base import Output
from bylaw.hosts.hooks.packing import ANSWER, FAILED, OPEN, Reply, message_in, unpack


def test_an_answer_comes_through_as_it_is():
    reading, writing = os.pipe()
    reply = Reply(writing)
    reply.may_open()
    reply.give(Output('{"a": "\u00e4"}\n', "why\n", 2))

    said = os.read(reading, 1000)
    os.close(reading)
    kind, body = message_in(said)
    assert (said[:1], kind) == (OPEN, ANSWER)
    assert unpack(body) == ('{"a": "\u00e4"}\n'.encode(), b"why\n", 2)
    assert message_in(said[:-1]) == (b"", b"")


def test_a_failure_comes_through_with_its_reason():
    reading, writing = os.pipe()
    Reply(writing).fail("it broke")

    assert message_in(os.read(reading, 1000)) == (FAILED, b"it broke")
    os.close(reading)


def test_what_fails_after_the_answer_is_written_nowhere(tmp_path):
    """The number of the pipe may be that of a journal by then."""
    reading, writing = os.pipe()
    reply = Reply(writing)
    reply.give(Output())
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    assert other == writing

    reply.fail("closing failed")

    os.close(other)
    os.close(reading)
    assert (tmp_path / "other").read_bytes() == b""
