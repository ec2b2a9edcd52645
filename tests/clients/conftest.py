"""Every test here is run with every client; the clients are those that `make test-clients` installed."""

import os
from pathlib import Path

import pytest
from stand import Stand

from bylaw.hosts.hooks.resident_client import SOCKET

PROGRAMS = Path(__file__).resolve().parents[2] / ".venv/clients/bin"
HOSTS = ("claude", "codex", "gemini", "qwen", "opencode")


@pytest.fixture(scope="session", autouse=True)
def _programs():
    os.environ["PATH"] = f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="session")
def state(tmp_path_factory):
    """The user's state folder. When the socket in it goes, the resident does."""
    folder = tmp_path_factory.mktemp("state")
    yield folder
    (folder / "bylaw" / SOCKET).unlink(missing_ok=True)


@pytest.fixture(params=HOSTS)
def stand(request, tmp_path, state):
    """A client in a repository without rules, with our hooks."""
    stand = Stand(request.param, tmp_path, state)
    stand.install()
    return stand
