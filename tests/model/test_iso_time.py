from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from bylaw.model.display import iso_time

LAST = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000)


@given(st.integers(min_value=0, max_value=LAST))
@example(0)
@example(951_782_400_000)  # 2000-02-29
@example(4_107_456_000_000)  # 2100-02-28
def test_it_is_what_the_standard_library_says(milliseconds):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)

    expected = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert iso_time(milliseconds) == expected
