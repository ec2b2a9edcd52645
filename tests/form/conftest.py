"""Whatever a form test drives is replayed when it ends: the same bytes, the same session."""

import pytest
from driving import Driven, assert_replays


@pytest.fixture(autouse=True)
def _replayed(monkeypatch):
    driven = []
    begin = Driven.__init__

    def remembered(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        driven.append(self)

    monkeypatch.setattr(Driven, "__init__", remembered)
    yield
    for session in driven:
        assert_replays(session)
