"""Repositories in which orchestrators run."""

import shutil
import tempfile
from pathlib import Path

import pytest
from orchestrating import Repository

MEMORY = Path("/dev/shm")


@pytest.fixture
def in_memory(tmp_path):
    """In memory if there is such a place: what these tests are about, no disk decides."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(dir=MEMORY))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def repository(in_memory):
    root = in_memory / "root"
    root.mkdir()
    return Repository(root)
