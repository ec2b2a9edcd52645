"""A root with a queue."""

import pytest
from queueing import Folder


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)
