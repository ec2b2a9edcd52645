"""What is remembered of an installation, and what that is not to blame for."""

import pytest

from bylaw.hosts.hooks.install.config_file import ConfigFile
from bylaw.hosts.hooks.install.install import Memory
from bylaw.model.errors import BylawError


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """That of one file; the state of the user lies elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    root = tmp_path / "root"
    root.mkdir()
    return Memory(ConfigFile(str(root), "a.json", "a.json"), str(root))


def test_what_fails_in_there_is_told_as_it_is(memory):
    with pytest.raises(OSError, match="the disk is gone"), memory.lock():
        raise OSError("the disk is gone")


def test_a_folder_that_cannot_be_used_is_told(memory, tmp_path):
    (tmp_path / "state/bylaw").write_text("a file")
    with pytest.raises(BylawError, match="cannot record the installation"), memory.lock():
        pass
