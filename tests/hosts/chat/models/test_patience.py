"""How long is waited, and how often something is asked again."""

import time
from email.utils import formatdate

import pytest

from bylaw.hosts.chat.models.base import AttemptFailure, RetryPolicy, requested_wait

PATIENCE = RetryPolicy(first_wait_s=1, longest_wait_s=5, retries=4)


class TestWaits:
    def test_they_double_up_to_a_limit_and_end(self):
        failure = AttemptFailure("busy", again=True)

        waits = [PATIENCE.wait_s(asked, failure) for asked in range(1, 7)]

        assert waits == [1, 2, 4, 5, None, None]

    def test_what_does_not_help_is_not_asked_again(self):
        assert PATIENCE.wait_s(1, AttemptFailure("wrong")) is None

    def test_the_server_says_how_long(self):
        assert PATIENCE.wait_s(1, AttemptFailure("busy", again=True, wait_s=4.5)) == 4.5
        assert PATIENCE.wait_s(1, AttemptFailure("busy", again=True, wait_s=5.1)) is None
        assert PATIENCE.wait_s(5, AttemptFailure("busy", again=True, wait_s=1)) is None


class TestAskedWait:
    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({}, None),
            ({"retry-after": "7"}, 7),
            ({"retry-after": "0.5"}, 0.5),
            ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
            ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
            ({"retry-after": "0"}, None),
            ({"retry-after": "-3"}, None),
            ({"retry-after": "nan"}, None),
            ({"retry-after": "inf"}, None),
            ({"retry-after": "tomorrow"}, None),
            ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, None),
            ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        ],
    )
    def test_seconds(self, headers, seconds):
        assert requested_wait(headers) == seconds

    def test_a_date(self):
        wait = requested_wait({"retry-after": formatdate(time.time() + 100, usegmt=True)})

        assert 90 < wait <= 100
