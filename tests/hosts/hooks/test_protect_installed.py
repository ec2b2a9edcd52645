"""Wherever hooks are installed, an agent must not take them out."""

import pytest

from bylaw.hosts.hooks.install.config_file import Scope, find_config_file
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.hosts.protected_paths import Protection
from bylaw.runtime.settings import ProtectSettings
from bylaw.store.paths import is_inside

# Where clients look for hooks, too, though we install none there: in a project, in a home.
READ_TOO = (
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/extensions/a/hooks/hooks.json",
    ".qwen/extensions/a/hooks/hooks.json",
    ".copilot/settings.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".factory/settings.local.json",
)
VARIABLES = [
    (host, name) for host, client in CLIENTS.items() for name, _ in client.places.variables
]


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A root, and a home of its own beside it."""
    for _, name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "root").mkdir()
    return str(tmp_path / "root")


def is_protected(root, host, scope):
    """Against calls, and looked at after them."""
    location = find_config_file(CLIENTS[host], scope, root).location
    protection = Protection(root, ProtectSettings())
    watched = any(is_inside(location, one) for one in protection.watched_paths())
    return watched and protection.found(location) is not None


@pytest.mark.parametrize("host", CLIENTS)
@pytest.mark.parametrize("scope", Scope)
def test_where_hooks_are_installed_is_protected(root, host, scope):
    assert is_protected(root, host, scope)


@pytest.mark.parametrize("name", READ_TOO)
@pytest.mark.parametrize("top", ["root", "home"])
def test_where_clients_look_for_hooks_too_is_protected(root, top, name, tmp_path):
    assert Protection(root, ProtectSettings()).found(f"{tmp_path}/{top}/{name}") is not None


@pytest.mark.parametrize(("host", "variable"), VARIABLES)
def test_also_where_a_variable_says_that_they_lie(root, host, variable, tmp_path, monkeypatch):
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))

    assert is_protected(root, host, Scope.USER)
