"""`bylaw install` and `bylaw uninstall` as a person calls them, in a home and a project of its own."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from bylaw.cli import main
from bylaw.hosts.hooks.install.forms import CLIENTS

# Where the configuration of each client lies, as its makers say.
PROJECT = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".github/hooks/bylaw.json",
    "droid": ".factory/settings.json",
    "opencode": "opencode.json",
    "cursor": ".cursor/hooks.json",
}
USER = {
    **PROJECT,
    "copilot": ".copilot/hooks/bylaw.json",
    "opencode": ".config/opencode/opencode.json",
}


@dataclass
class Desk:
    """A person's home, project and state, and what a command printed last."""

    home: Path
    root: Path
    capsys: pytest.CaptureFixture
    monkeypatch: pytest.MonkeyPatch

    def bylaw(self, *words):
        """Call it in this process; the exit code."""
        self.monkeypatch.setattr(sys, "argv", ["bylaw", *words])
        code = main()
        self.out, self.err = self.capsys.readouterr()
        return code

    def yes(self, verb, *words):
        """Call it and agree; it must end well."""
        assert self.bylaw(verb, *words, "--yes") == 0, self.err
        return self.out

    def file(self, host, scope="project"):
        """The configuration of a client."""
        return self.root / PROJECT[host] if scope == "project" else self.home / USER[host]

    def write(self, host, data, scope="project"):
        """Somebody has configured the client."""
        file = self.file(host, scope)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return file


def named_folders():
    """Variables that would lead a client, and so us, elsewhere."""
    return {name for one in CLIENTS.values() for name, _ in one.places.variables}


def everything(folder):
    """What lies below a folder, folders included, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def commands(file):
    """The command lines in a configuration of hooks, by event."""
    found = {}
    for event, entries in json.loads(file.read_text())["hooks"].items():
        for entry in entries:
            for hook in entry.get("hooks", [entry]):
                found[event] = hook.get("command") or hook["bash"]
    return found


def make_desk(tmp_path, capsys, monkeypatch):
    """In which the project is the current folder."""
    home, root = tmp_path / "home", tmp_path / "the project"
    home.mkdir()
    (root / ".git").mkdir(parents=True)
    for name in named_folders():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(root)
    return Desk(home, root, capsys, monkeypatch)
