"""The configuration files of clients: where they are, how they are replaced, what disables hooks.

A file is replaced completely or not at all. Links that lead out of its folder are not followed.
"""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.hosts.hooks.install.json_edit import JsonDialect, read_text
from bylaw.model.display import visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime import effects
from bylaw.store.files import (
    MAX_INPUT_BYTES,
    decode_source,
    os_error_text,
    read_regular_bytes,
    unreadable_error,
    write_atomic,
)
from bylaw.store.paths import as_bytes, as_text, folder_of, real_path
from bylaw.store.safe_paths import open_folder, open_safe_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.install.forms import Client
    from bylaw.model.source import SourceFile
    from bylaw.store.safe_paths import SafePath

_IN_THE_WAY = "a file is in the place of its folder"


class ConfigFile(Struct, frozen=True):
    """A file by its `path` from a `folder` that links must not leave.

    `shown` is its path in messages.
    """

    folder: str
    path: str
    shown: str

    @property
    def location(self) -> str:
        """The absolute path."""
        return f"{self.folder.rstrip('/')}/{self.path}"

    def content(self) -> bytes | None:
        """Return the bytes of the file, or None if it does not exist.

        Raises LoadError if it cannot be read.
        """
        try:
            with open_safe_path(self.folder, self.path, new=True) as place:
                if place.missing:
                    return None
                return read_regular_bytes(
                    place.name, MAX_INPUT_BYTES, folder=place.folder, links=False
                )
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as wrong:
            told = ValueError(_IN_THE_WAY) if isinstance(wrong, NotADirectoryError) else wrong
            raise LoadError([unreadable_error(self.shown, told)]) from None

    def source(self, data: bytes) -> SourceFile:
        """Decode the bytes of the file. Raises LoadError if they are not text."""
        return decode_source(self.shown, data)

    def missing_folders(self) -> list[str]:
        """Return the folders to create for the file, outermost first, as paths from `folder`."""
        with (
            suppress(OSError, ValueError),
            open_safe_path(self.folder, self.path, new=True) as place,
        ):
            there = folder_of(f"/{place.path}")[1:].split("/")
            first = len(there) - len(place.missing)
            return ["/".join(there[: index + 1]) for index in range(first, len(there))]
        return []

    def write(self, data: bytes, before: bytes | None) -> None:
        """Replace the file if it still is as `before`; None means no file.

        Raises BylawError and leaves the file unchanged if it is not, or cannot be written.
        """
        try:
            with open_safe_path(self.folder, self.path, new=True) as place:
                self._write(place, data, before)
        except (OSError, ValueError) as wrong:
            raise BylawError(
                f"cannot write `{visible(self.shown)}`: {_error_text(wrong)}"
            ) from None

    def _write(self, place: SafePath, data: bytes, before: bytes | None) -> None:
        with open_folder(place) as folder:
            old = None
            with suppress(FileNotFoundError):
                old = os.stat(as_bytes(place.name), dir_fd=folder, follow_symlinks=False)
            self._refuse_changed(folder, place.name, before)
            if old is not None and not _is_writable(place.name, folder):
                raise PermissionError  # replacing the file would bypass its permissions
            write_atomic(folder, place.name, data, mode=0o666, like=old)

    def remove(self, before: bytes, folders: list[str]) -> None:
        """Remove the file if it still is as `before`, then those of `folders` that are empty.

        Raises BylawError if the file has changed or cannot be removed.
        """
        try:
            with open_safe_path(self.folder, self.path) as place, open_folder(place) as folder:
                self._refuse_changed(folder, place.name, before)
                os.unlink(as_bytes(place.name), dir_fd=folder)
        except (OSError, ValueError) as wrong:
            raise BylawError(
                f"cannot remove `{visible(self.shown)}`: {_error_text(wrong)}"
            ) from None
        for one in reversed(folders):
            with suppress(OSError, ValueError), open_safe_path(self.folder, one) as place:
                os.rmdir(as_bytes(place.name), dir_fd=place.folder)

    def _refuse_changed(self, folder: int, name: str, before: bytes | None) -> None:
        now: bytes | None = None
        with suppress(FileNotFoundError):
            now = read_regular_bytes(name, MAX_INPUT_BYTES, folder=folder, links=False)
        if now != before:
            raise ValueError("it changed in the meantime; run the command again")


def _is_writable(name: str, folder: int) -> bool:
    return os.access(as_bytes(name), os.W_OK, dir_fd=folder, effective_ids=True)


def _error_text(wrong: OSError | ValueError) -> str:
    if isinstance(wrong, FileNotFoundError):
        return "its folder does not exist"
    if isinstance(wrong, NotADirectoryError):
        return _IN_THE_WAY
    return os_error_text(wrong)


class Scope(StrEnum):
    """Where hooks apply: in all projects of the user, or in one project."""

    USER = "user"
    PROJECT = "project"


def find_config_file(client: Client, scope: Scope, root: str) -> ConfigFile:
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
    home = _environment_text("HOME")
    if home.startswith("/") and real_path(home) == real_path(root):
        raise BylawError(f"`{visible(root)}` is your home, not a project; use `--user`")


def user_folder(client: Client) -> tuple[str, str]:
    """Return the user's folder, and the path from there to the files of the client.

    Raises BylawError if the variable that names the folder is not an absolute path.
    """
    for variable, below in client.places.variables:
        named = _environment_text(variable)
        if named:
            return _require_absolute(variable, named), below and f"{below}/"
    return _require_absolute("HOME", _environment_text("HOME")), f"{client.places.home}/"


def _environment_text(name: str) -> str:
    return as_text(os.environb.get(name.encode(), b""))


def _require_absolute(variable: str, folder: str) -> str:
    if not folder.startswith("/"):
        raise BylawError(f"`{variable}` is not an absolute path: `{visible(folder)}`")
    return folder.rstrip("/") or "/"


_ANY = JsonDialect(comments=True, last_commas=True, mark=True)
_TOML = ".toml"


class Switch(NamedTuple):
    """A setting: its keys, from the top, and its value when hooks are disabled."""

    keys: tuple[str, ...]
    off: bool

    @property
    def name(self) -> str:
        """The keys with dots between them."""
        return ".".join(self.keys)


class DisabledHooks(NamedTuple):
    """A setting that disables hooks, and its file."""

    switch: Switch
    file: str


SWITCHES = {
    effects.CLAUDE: Switch(("disableAllHooks",), off=True),
    effects.CODEX: Switch(("features", "hooks"), off=False),
    effects.GEMINI: Switch(("hooksConfig", "enabled"), off=False),
    effects.QWEN: Switch(("disableAllHooks",), off=True),
}


def find_disabled_hooks(client: Client, root: str) -> list[DisabledHooks]:
    """Return the settings that a person has to change before any hook runs."""
    switch = SWITCHES.get(client.host)
    if switch is None:
        return []
    files = _settings_files(client, root)
    return [
        DisabledHooks(switch, file.shown)
        for file in files
        if _setting_value(file, switch) is switch.off
    ]


def _settings_files(client: Client, root: str) -> Iterator[ConfigFile]:
    for name in client.places.project_settings:
        yield ConfigFile(root, name, name)
    with suppress(BylawError):
        folder, below = user_folder(client)
        for name in client.places.user_settings:
            yield ConfigFile(folder, f"{below}{name}", f"{folder}/{below}{name}")


def _setting_value(file: ConfigFile, switch: Switch) -> object:
    """Return the value of a setting, or None if the file has none or cannot be read."""
    found: object = None
    with suppress(BylawError, ValueError):
        data = file.content()
        text = file.source(data or b"").text
        if not text.strip():
            return None
        if file.path.endswith(_TOML):
            found = tomllib.loads(text)
        else:
            document = read_text(text, _ANY)
            found = document.plain(document.root)
    for key in switch.keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
