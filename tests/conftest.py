"""The language of `tests/lines_language` is installed for the tests and for what they start."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.detection import is_hypothesis_test

from bylaw.hosts.clients import caller

DIALECT = str(Path(__file__).parent / "lines_language")

sys.path.insert(0, DIALECT)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [DIALECT, os.environ.get("PYTHONPATH")]))

# Whatever a shell starts in the background ignores interrupts, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A start must not know what an earlier one found; a test that wants a cache names its own.
os.environ["XDG_CACHE_HOME"] = "none"
# Nor what a person trusted; a test that wants trust names its own folder.
os.environ["XDG_STATE_HOME"] = "none"
# What only a person may do is tested also when an agent runs the tests.
for agent in caller.AGENTS:
    for variable in agent.variables:
        os.environ.pop(variable, None)


# Profiles of property tests. BYLAW_HYPOTHESIS selects one. No profile has a deadline, and no test
# sets one, because the machine may be busy.
settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("quick", deadline=None, print_blob=True, max_examples=10)
PROFILE = os.environ.get("BYLAW_HYPOTHESIS") or ("ci" if os.environ.get("CI") else "default")
settings.load_profile(PROFILE)

# Files that take longest by far, so they begin first and nobody waits for one at the end.
LONGEST = (
    "hosts/chat/test_chat_crash.py",
    "hosts/bus/test_injection.py",
    "languages/law/test_law_meaning_properties.py",
    "hosts/bus/test_orchestrators_killed.py",
    "hosts/hooks/test_hook_failures.py",
    "test_spec.py",
)


def pytest_collection_modifyitems(items):
    """The longest files first, the others as they are."""
    if PROFILE == "quick":
        for item in items:
            _limit_examples(item)
    longest = [str(Path(__file__).parent / one) for one in LONGEST]
    places = {path: place for place, path in enumerate(longest)}
    items.sort(key=lambda item: places.get(str(item.path), len(places)))


def _limit_examples(item):
    """Limit a property test to the examples of the profile, even if it asks for more."""
    test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    if is_hypothesis_test(test):
        own = test._hypothesis_internal_use_settings
        few = min(own.max_examples, settings().max_examples)
        test._hypothesis_internal_use_settings = settings(own, max_examples=few)


@pytest.fixture(autouse=True)
def _same_folder():
    """Paths of the tests that follow depend on it."""
    here = Path.cwd()
    yield
    left = os.path.realpath(".") if os.access(".", os.F_OK) else "nowhere"
    os.chdir(here)
    assert left == str(here), "the test went to another folder and did not come back"


@pytest.fixture
def a_person(tmp_path_factory, monkeypatch):
    """A person is at work, who has a folder for what is remembered."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setattr(caller, "ancestors", lambda: ())
    return folder
