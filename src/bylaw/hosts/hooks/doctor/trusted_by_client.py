"""Check what a client still waits for, from the files in which it keeps a person's trust.

Claude Code, Gemini CLI and Codex keep such files. For other clients, Bylaw cannot tell.
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.doctor.finding import note, wrong
from bylaw.hosts.hooks.doctor.trusted_by_codex import trust_of_codex
from bylaw.hosts.hooks.install.places import Scope, user_folder
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime import effects
from bylaw.runtime.client_places import PLACES
from bylaw.runtime.paths import folder_of, lies_in, real_path
from bylaw.runtime.reading import MAX_INPUT_BYTES, regular_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.hosts.hooks.doctor.finding import Finding
    from bylaw.hosts.hooks.doctor.hooks_there import HooksThere
    from bylaw.hosts.hooks.install.clients import Client


def still_needed(client: Client, scope: Scope, root: str, there: HooksThere) -> Iterator[Finding]:
    """Yield what a person has to do before the client runs installed hooks."""
    known = _TRUST.get(client.host)
    for step in client.in_project if scope is Scope.PROJECT else ():
        yield from _needed(client, "this folder", step, known and known(client, root))
    for step in client.steps:
        if client.host == effects.CODEX:
            yield from _hooks_of_codex(client, scope, there, step)
        else:
            yield from _needed(client, "hooks", step, done=None)


def _needed(client: Client, what: str, step: str, done: bool | None) -> Iterator[Finding]:
    if done is None:
        yield note(client.host, f"Bylaw cannot check whether it trusts {what}", step)
    elif not done:
        yield wrong(client.host, f"does not trust {what} yet, so it runs no hooks", step)


def _claude(client: Client, root: str) -> bool:
    # Trust in a folder includes all folders below it. The file is next to the settings folder.
    projects = _member(_json(_below(client, ".claude.json", beside=True)), "projects")
    return any(
        lies_in(root, path) and _value(one, "hasTrustDialogAccepted") is True
        for path, one in projects.items()
    )


def _gemini(client: Client, root: str) -> bool:
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    folders = _json(_below(client, "trustedFolders.json"))
    if folders.get(root) == "DO_NOT_TRUST":
        return False
    whole = [path for path, one in folders.items() if one == "TRUST_FOLDER"]
    around = [folder_of(path) for path, one in folders.items() if one == "TRUST_PARENT"]
    return any(lies_in(root, path) for path in (*whole, *around))


def _codex(client: Client, root: str) -> bool:
    project = _member(_member(_codex_settings(client), "projects"), root)
    return project.get("trust_level") == "trusted"


def _hooks_of_codex(
    client: Client, scope: Scope, there: HooksThere, step: str
) -> Iterator[Finding]:
    state = _member(_member(_codex_settings(client), "hooks"), "state")
    trust = trust_of_codex(_known_to_codex(scope, there.location), there.callers, state)
    silently = "so it silently does not run them"
    if trust.untrusted:
        which = _named(trust.untrusted)
        yield wrong(client.host, f"does not trust hooks yet, {silently}: {which}", step)
    if trust.changed:
        which = _named(trust.changed)
        text = f"hooks changed since you trusted them, {silently}: {which}"
        yield wrong(client.host, text, step)
    if trust.switched_off:
        text = f"hooks are disabled in its settings: {_named(trust.switched_off)}"
        yield wrong(client.host, text, "start `codex`, type `/hooks` and enable them")


def _known_to_codex(scope: Scope, location: str) -> str:
    """Return the path under which Codex keeps the trust in the hooks of a file.

    It is the real path. For a file below the default home folder, it is the path without
    resolved links.
    """
    moved = any(os.environ.get(name) for name, _ in PLACES[effects.CODEX].variables)
    if scope is Scope.USER and not moved:
        return location
    folder, _, name = location.rpartition("/")
    return f"{real_path(folder)}/{name}"


def _named(events: Sequence[str]) -> str:
    return ", ".join(f"`{visible(one)}`" for one in events)


_TRUST: dict[str, Callable[[Client, str], bool]] = {
    effects.CLAUDE: _claude,
    effects.GEMINI: _gemini,
    effects.CODEX: _codex,
}


def _codex_settings(client: Client) -> dict[str, object]:
    try:
        return tomllib.loads(_data(_below(client, "config.toml")).decode())
    except ValueError:
        return {}


def _json(path: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(_data(path), type=dict[str, object])
    except msgspec.MsgspecError:
        return {}


def _below(client: Client, name: str, *, beside: bool = False) -> str:
    try:
        folder, below = user_folder(client)
    except BylawError:
        return ""
    return f"{folder}/{'' if beside else below}{name}"


def _data(path: str) -> bytes:
    try:
        return regular_bytes(path, MAX_INPUT_BYTES) if path else b""
    except (OSError, ValueError):
        return b""


def _member(value: object, key: str) -> dict[str, object]:
    found = _value(value, key)
    return found if isinstance(found, dict) else {}


def _value(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None
