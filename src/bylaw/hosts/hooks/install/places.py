"""A client, and for whom → the file of its configuration that is meant."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.install.config_file import ConfigFile
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.paths import as_bytes, as_text, real_path

if TYPE_CHECKING:
    from bylaw.hosts.hooks.install.clients import Client


class Scope(StrEnum):
    """For whom: whatever this user does, or one project."""

    USER = "user"
    PROJECT = "project"


def file_of(client: Client, scope: Scope, root: str) -> ConfigFile:
    """The configuration of a client; BylawError if nobody can tell where it lies."""
    if scope is Scope.PROJECT:
        _refuse_home(root)
        files = [ConfigFile(root, name, name) for name in client.places.project]
    else:
        folder, below = user_folder(client)
        names = [f"{below}{name}" for name in client.places.user]
        files = [ConfigFile(folder, name, f"{folder}/{name}") for name in names]
    there = (one for one in files if os.path.lexists(as_bytes(one.location)))
    return next(there, files[-1])


def _refuse_home(root: str) -> None:
    """There the files of a project would be those of the user."""
    home = _variable("HOME")
    if home.startswith("/") and real_path(home) == real_path(root):
        raise BylawError(f"`{visible(root)}` is your home and no project; call with `--user`")


def user_folder(client: Client) -> tuple[str, str]:
    """A folder that is there, and what lies between it and the files; BylawError as above."""
    for variable, below in client.places.variables:
        named = _variable(variable)
        if named:
            return _absolute(variable, named), below and f"{below}/"
    return _absolute("HOME", _variable("HOME")), f"{client.places.home}/"


def _variable(name: str) -> str:
    return as_text(os.environb.get(name.encode(), b""))


def _absolute(variable: str, folder: str) -> str:
    if not folder.startswith("/"):
        raise BylawError(f"`{variable}` names no folder: `{visible(folder)}`")
    return folder.rstrip("/") or "/"
