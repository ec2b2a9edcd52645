"""Find settings of a client that disable all its hooks.

Only known settings in readable files are found. Clients report problems in their files themselves.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.install.config_file import ConfigFile
from bylaw.hosts.hooks.install.json_text import Form, read_text
from bylaw.hosts.hooks.install.places import user_folder
from bylaw.model.errors import BylawError
from bylaw.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.install.clients import Client

_ANY = Form(comments=True, last_commas=True, mark=True)
_TOML = ".toml"


class Switch(NamedTuple):
    """A setting: its keys, from the top, and its value when hooks are disabled."""

    keys: tuple[str, ...]
    off: bool

    @property
    def name(self) -> str:
        """The keys with dots between them."""
        return ".".join(self.keys)


class SwitchedOff(NamedTuple):
    """A setting that disables hooks, and its file."""

    switch: Switch
    file: str


SWITCHES = {
    effects.CLAUDE: Switch(("disableAllHooks",), off=True),
    effects.CODEX: Switch(("features", "hooks"), off=False),
    effects.GEMINI: Switch(("hooksConfig", "enabled"), off=False),
    effects.QWEN: Switch(("disableAllHooks",), off=True),
}


def switched_off(client: Client, root: str) -> list[SwitchedOff]:
    """Return the settings that a person has to change before any hook runs."""
    switch = SWITCHES.get(client.host)
    if switch is None:
        return []
    files = _files(client, root)
    return [SwitchedOff(switch, file.shown) for file in files if _value(file, switch) is switch.off]


def _files(client: Client, root: str) -> Iterator[ConfigFile]:
    for name in client.places.project_settings:
        yield ConfigFile(root, name, name)
    with suppress(BylawError):
        folder, below = user_folder(client)
        for name in client.places.user_settings:
            yield ConfigFile(folder, f"{below}{name}", f"{folder}/{below}{name}")


def _value(file: ConfigFile, switch: Switch) -> object:
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
