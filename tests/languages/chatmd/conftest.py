"""A session that is driven by hand comes from `tests/form`; whatever it decided is decided again."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "form"))

import chat_rules  # the path above leads to what it needs
from driving import assert_replays


@pytest.fixture(autouse=True)
def _replayed():
    chat_rules.driven.clear()
    yield
    for session in chat_rules.driven:
        assert_replays(session)
