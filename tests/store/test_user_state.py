"""The user's own folders: the same place for hooks and for everything else, and never a repository's."""

import pwd

import pytest

from bylaw.hosts.hooks.failure_state import release_end
from bylaw.hosts.hooks.gate_release import release
from bylaw.hosts.protected_paths import Protection
from bylaw.model.errors import BylawError
from bylaw.runtime.settings import ProtectSettings
from bylaw.store.paths import state_home
from bylaw.store.user_state import user_cache, user_state


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home in which we are, and which is governed as a whole."""
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return str(tmp_path)


@pytest.fixture
def own_home(home, monkeypatch):
    """The same, and the account's own."""
    entry = pwd.getpwuid(0)
    fields = [*entry]
    fields[5] = home
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(fields))
    return home


def test_in_the_home_of_an_account_its_folders_are_its_own(own_home):
    assert state_home() == user_state(own_home) == f"{own_home}/.local/state/bylaw"
    assert user_cache(own_home) == f"{own_home}/.cache/bylaw"


def test_a_repository_that_is_called_home_is_none(home):
    """Whoever may set `HOME` could bring trust along, and open gates."""
    assert state_home() == user_cache(home) == ""
    with pytest.raises(BylawError, match="is inside the repository"):
        user_state(home)


def test_gates_that_a_person_opens_at_home_are_open_to_hooks(own_home, monkeypatch):
    monkeypatch.setattr("bylaw.hosts.hooks.gate_release.require_person", lambda _: None)

    until = release(own_home, 5).until

    assert release_end() == until


def test_a_folder_that_is_gone_has_no_place(own_home, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert state_home() == ""


@pytest.mark.parametrize("below", [".local/state/bylaw/trust.json", ".cache/bylaw/x"])
def test_what_lies_there_is_protected_wherever_the_root_is(home, below):
    """Trust of other roots lies there, too."""
    protection = Protection(home, ProtectSettings())

    assert protection.found(f"{home}/{below}") is not None
