"""Check one client: whether our hooks are complete, can be started, and are trusted by the client.

Nothing named in a configuration is started: the file may have come with a repository. Trust is
checked only for clients whose own code shows where they store it. Codex stores for each hook, by
position, the digest that a person trusted and whether the hook is enabled. It silently skips any
other hook. The digest is that of a hook as Bylaw writes it.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from shutil import which
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.hosts.clients.places import PLACES
from bylaw.hosts.hooks.install.config_file import Scope, find_config_file, user_folder
from bylaw.hosts.hooks.install.entries import HOOKS, has_all, own_hook_steps, own_hooks, read_config
from bylaw.hosts.hooks.install.forms import COMMAND_KEYS, PLUGIN_PYTHON
from bylaw.model.display import visible
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime import effects
from bylaw.store.files import MAX_INPUT_BYTES, read_regular_bytes
from bylaw.store.paths import as_bytes, folder_of, is_inside, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bylaw.hosts.hooks.install.forms import Client
    from bylaw.hosts.hooks.install.json_edit import JsonPath
    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON


class FindingLevel(StrEnum):
    """How serious a finding is."""

    FINE = "fine"
    NOTE = "note"
    WRONG = "wrong"


class DoctorFinding(Struct, frozen=True):
    """`about` is a host or a part of Bylaw; `step` is what a person can do, or empty."""

    about: str
    level: FindingLevel
    text: str
    step: str = ""


def fine(about: str, text: str) -> DoctorFinding:
    """Return a finding without a problem."""
    return DoctorFinding(about, FindingLevel.FINE, text)


def note(about: str, text: str, step: str = "") -> DoctorFinding:
    """Return a finding for information, or about something that Bylaw cannot check."""
    return DoctorFinding(about, FindingLevel.NOTE, text, step)


def wrong(about: str, text: str, step: str) -> DoctorFinding:
    """Return a finding that keeps rules from being enforced as they should be."""
    return DoctorFinding(about, FindingLevel.WRONG, text, step)


_UNLESS_OWN = "; if the hook is your own, fix it yourself"


class InstalledHooks:
    """The hooks of a client in one scope that call Bylaw.

    `callers` are these hooks, with their paths in the file.
    """

    def __init__(self, client: Client, scope: Scope, root: str, python: str) -> None:
        self._client, self._scope = client, scope
        self._python = python
        self.shown = ""
        self.location = ""
        self.callers: list[tuple[JsonPath, JSON]] = []
        self.findings = list(self._check(root))

    @property
    def found(self) -> bool:
        """Whether the file has any."""
        return bool(self.callers)

    def _check(self, root: str) -> Iterator[DoctorFinding]:
        about = self._client.host
        try:
            file = find_config_file(self._client, self._scope, root)
            self.shown, self.location = visible(file.shown), file.location
            data = file.content()
            if data is not None:
                yield from self._check_file(file.source(data))
        except LoadError as refused:
            yield wrong(about, refused.headline, f"fix `{self.shown}`")
        except BylawError:
            return  # no file in this scope: the root is the home folder, or no home is known

    def _check_file(self, source: SourceFile) -> Iterator[DoctorFinding]:
        client, about = self._client, self._client.host
        document = read_config(source, client.form)
        wanted = client.wanted_entries(self._python)
        found = ((path, document.at(path)) for path, _ in wanted.callers(document))
        self.callers = [(path, document.plain(node)) for path, node in found if node is not None]
        if not self.callers:
            return
        again = f"run `bylaw install {about} --{self._scope}` to fix this"
        named = {one for _, value in self.callers for one in _interpreters(value)}
        whole = {one for one in named if has_all(source, client.wanted_entries(one))}
        gone = sorted(one for one in named if not _is_program(one))
        if gone:
            program = visible(gone[0])
            text = f"hooks in {self.shown} start `{program}`, which is not an executable file"
            yield wrong(about, text, again if gone[0] in whole else f"{again}{_UNLESS_OWN}")
        elif not whole:
            text = f"hooks in {self.shown} are incomplete, or of another version of Bylaw"
            yield wrong(about, text, again)
        elif self._python not in whole:
            text = f"hooks in {self.shown} start `{visible(min(whole))}`, not this Bylaw"
            yield note(about, text)
        else:
            yield fine(about, f"hooks in {self.shown}")
        entries = [one for python in sorted(whole)[:1] for one in client.entries(about, python)]
        for step in own_hook_steps(own_hooks(source, client, entries), self.shown):
            yield note(about, f"events are decided twice because of {self.shown}", step)


def _interpreters(value: JSON) -> Iterator[str]:
    """Yield the programs that a hook entry starts."""
    if isinstance(value, list):
        for one in value:
            yield from _interpreters(one)
    for key, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, str) and key in COMMAND_KEYS:
            with suppress(ValueError):
                yield from shlex.split(one)[:1]
        elif isinstance(one, str) and key == PLUGIN_PYTHON:
            yield one
        else:
            yield from _interpreters(one)


def _is_program(path: str) -> bool:
    if "/" not in path:
        return which(path) is not None
    return os.access(as_bytes(path), os.X_OK)


_HUMP = re.compile(r"(?<!^)(?=[A-Z])")


class CodexTrust(Struct, frozen=True):
    """The events whose hooks Codex skips, by reason."""

    untrusted: tuple[str, ...]
    changed: tuple[str, ...]
    switched_off: tuple[str, ...]


def trust_of_codex(
    file: str, callers: Iterable[tuple[JsonPath, JSON]], state: Mapping[str, object]
) -> CodexTrust:
    """Compare the hooks in a file that call Bylaw with `state`, the `[hooks.state]` of Codex."""
    untrusted, changed, switched_off = [], [], []
    for event, place, hook in _hooks(callers):
        label = _HUMP.sub("_", event).lower()
        said = state.get(f"{file}:{label}:{place}")
        found = said if isinstance(said, dict) else {}
        trusted = found.get("trusted_hash")
        if trusted is None:
            untrusted.append(event)
        elif trusted != codex_hash(label, hook):
            changed.append(event)
        if found.get("enabled") is False:
            switched_off.append(event)
    return CodexTrust(tuple(untrusted), tuple(changed), tuple(switched_off))


def codex_hash(label: str, hook: Mapping[str, JSON]) -> str:
    """Return the digest by which Codex identifies a hook: of its fields, including defaults."""
    identity = {"event_name": label, HOOKS: [{"async": False, **hook}]}
    data = msgspec.json.encode(identity, order="sorted")
    return f"sha256:{sha256(data).hexdigest()}"


def _hooks(
    callers: Iterable[tuple[JsonPath, JSON]],
) -> Iterator[tuple[str, str, Mapping[str, JSON]]]:
    """Yield the event, the position and the value of each hook."""
    for (_, event, group, _, index), hook in callers:
        if isinstance(hook, dict):
            yield str(event), f"{group}:{index}", hook


def missing_steps(
    client: Client, scope: Scope, root: str, there: InstalledHooks
) -> Iterator[DoctorFinding]:
    """Yield what a person has to do before the client runs installed hooks."""
    known = _TRUST.get(client.host)
    for step in client.in_project if scope is Scope.PROJECT else ():
        yield from _missing_step(client, "this folder", step, known and known(client, root))
    for step in client.steps:
        if client.host == effects.CODEX:
            yield from _check_codex_hooks(client, scope, there, step)
        else:
            yield from _missing_step(client, "hooks", step, done=None)


def _missing_step(
    client: Client, what: str, step: str, done: bool | None
) -> Iterator[DoctorFinding]:
    if done is None:
        yield note(client.host, f"Bylaw cannot check whether it trusts {what}", step)
    elif not done:
        yield wrong(client.host, f"does not trust {what} yet, so it runs no hooks", step)


def _claude_trusts(client: Client, root: str) -> bool:
    # Trust in a folder includes all folders below it. The file is next to the settings folder.
    projects = _member(_read_json(_settings_path(client, ".claude.json", beside=True)), "projects")
    return any(
        is_inside(root, path) and _value(one, "hasTrustDialogAccepted") is True
        for path, one in projects.items()
    )


def _gemini_trusts(client: Client, root: str) -> bool:
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    folders = _read_json(_settings_path(client, "trustedFolders.json"))
    if folders.get(root) == "DO_NOT_TRUST":
        return False
    whole = [path for path, one in folders.items() if one == "TRUST_FOLDER"]
    around = [folder_of(path) for path, one in folders.items() if one == "TRUST_PARENT"]
    return any(is_inside(root, path) for path in (*whole, *around))


def _codex_trusts(client: Client, root: str) -> bool:
    project = _member(_member(_codex_settings(client), "projects"), root)
    return project.get("trust_level") == "trusted"


def _check_codex_hooks(
    client: Client, scope: Scope, there: InstalledHooks, step: str
) -> Iterator[DoctorFinding]:
    state = _member(_member(_codex_settings(client), "hooks"), "state")
    trust = trust_of_codex(_codex_path(scope, there.location), there.callers, state)
    silently = "so it silently does not run them"
    if trust.untrusted:
        which = _event_names(trust.untrusted)
        yield wrong(client.host, f"does not trust hooks yet, {silently}: {which}", step)
    if trust.changed:
        which = _event_names(trust.changed)
        text = f"hooks changed since you trusted them, {silently}: {which}"
        yield wrong(client.host, text, step)
    if trust.switched_off:
        text = f"hooks are disabled in its settings: {_event_names(trust.switched_off)}"
        yield wrong(client.host, text, "start `codex`, type `/hooks` and enable them")


def _codex_path(scope: Scope, location: str) -> str:
    """Return the path under which Codex keeps the trust in the hooks of a file.

    It is the real path. For a file below the default home folder, it is the path without
    resolved links.
    """
    moved = any(os.environ.get(name) for name, _ in PLACES[effects.CODEX].variables)
    if scope is Scope.USER and not moved:
        return location
    folder, _, name = location.rpartition("/")
    return f"{real_path(folder)}/{name}"


def _event_names(events: Sequence[str]) -> str:
    return ", ".join(f"`{visible(one)}`" for one in events)


_TRUST: dict[str, Callable[[Client, str], bool]] = {
    effects.CLAUDE: _claude_trusts,
    effects.GEMINI: _gemini_trusts,
    effects.CODEX: _codex_trusts,
}


def _codex_settings(client: Client) -> dict[str, object]:
    try:
        return tomllib.loads(_read_bytes(_settings_path(client, "config.toml")).decode())
    except ValueError:
        return {}


def _read_json(path: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(_read_bytes(path), type=dict[str, object])
    except msgspec.MsgspecError:
        return {}


def _settings_path(client: Client, name: str, *, beside: bool = False) -> str:
    try:
        folder, below = user_folder(client)
    except BylawError:
        return ""
    return f"{folder}/{'' if beside else below}{name}"


def _read_bytes(path: str) -> bytes:
    try:
        return read_regular_bytes(path, MAX_INPUT_BYTES) if path else b""
    except (OSError, ValueError):
        return b""


def _member(value: object, key: str) -> dict[str, object]:
    found = _value(value, key)
    return found if isinstance(found, dict) else {}


def _value(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None
