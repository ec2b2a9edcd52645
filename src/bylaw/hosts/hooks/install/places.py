"""Find the configuration file of a client, for one project or for the user."""

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
    """Where hooks apply: in all projects of the user, or in one project."""

    USER = "user"
    PROJECT = "project"


def file_of(client: Client, scope: Scope, root: str) -> ConfigFile:
    """Return the configuration file of a client. Raises BylawError if its folder is unknown."""
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
    """Refuse the home folder: its project files would be those of the user."""
    home = _variable("HOME")
    if home.startswith("/") and real_path(home) == real_path(root):
        raise BylawError(f"`{visible(root)}` is your home, not a project; use `--user`")


def user_folder(client: Client) -> tuple[str, str]:
    """Return the user's folder, and the path from there to the files of the client.

    Raises BylawError if the variable that names the folder is not an absolute path.
    """
    for variable, below in client.places.variables:
        named = _variable(variable)
        if named:
            return _absolute(variable, named), below and f"{below}/"
    return _absolute("HOME", _variable("HOME")), f"{client.places.home}/"


def _variable(name: str) -> str:
    return as_text(os.environb.get(name.encode(), b""))


def _absolute(variable: str, folder: str) -> str:
    if not folder.startswith("/"):
        raise BylawError(f"`{variable}` is not an absolute path: `{visible(folder)}`")
    return folder.rstrip("/") or "/"
