"""Commands that mean harm, with bubblewrap or without it: `BYLAW_TEST_ISOLATION=none` hides it."""

import os

import pytest
from commanding import Commanding

from bylaw.runtime.sandbox import client
from bylaw.runtime.sandbox.client import detect_isolation
from bylaw.runtime.sandbox.result import IsolationKind
from bylaw.runtime.sandbox.supervisor import descendants
from waiting import open_files

HIDDEN = "bwrap-that-is-hidden"


@pytest.fixture(scope="session", autouse=True)
def _isolation():
    if os.environ.get("BYLAW_TEST_ISOLATION") != "none":
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "BUBBLEWRAP", HIDDEN)
        yield


def pytest_terminal_summary(terminalreporter, config):
    hidden = os.environ.get("BYLAW_TEST_ISOLATION") == "none"
    found = "none: bubblewrap was hidden" if hidden else detect_isolation().as_json()
    terminalreporter.write_line(f"isolation of commands: {found}")


@pytest.fixture
def walled():
    """Whether bubblewrap keeps commands in."""
    return detect_isolation().by is IsolationKind.BUBBLEWRAP


@pytest.fixture
def commands(tmp_path):
    """Commands in a folder of their own; beside it lies what they must not touch."""
    return Commanding(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_is_left(commands):
    detect_isolation()  # the trial leaves nothing either, but is made once only
    before = present()
    yield
    # What an earlier test left may go meanwhile.
    assert present() - before == set()


def present():
    return {*descendants(os.getpid()), *open_files()}
