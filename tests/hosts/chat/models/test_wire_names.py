"""Names as providers take them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.chat.models.base import wire_name


def test_a_plain_name_stays():
    assert wire_name("read_file-2") == "read_file-2"


def test_names_that_look_alike_stay_apart():
    assert wire_name("a.b") != wire_name("a:b") != wire_name("a_b") == "a_b"


@given(st.text(), st.integers(12, 64))
def test_every_name_fits_and_is_always_the_same(name, limit):
    fitted = wire_name(name, limit)

    assert re.fullmatch("[A-Za-z0-9_-]+", fitted)
    assert len(fitted) <= limit
    assert fitted == wire_name(name, limit)
    assert wire_name(fitted, limit) == fitted
