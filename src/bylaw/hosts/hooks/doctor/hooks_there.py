"""Check whether the hooks in a client's configuration are complete and can be started.

No program that the configuration names is started: the file may have come with a repository.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from shutil import which
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.doctor.finding import fine, note, wrong
from bylaw.hosts.hooks.install.entries import has_all, read
from bylaw.hosts.hooks.install.forms import COMMAND_KEYS, PLUGIN_PYTHON
from bylaw.hosts.hooks.install.own_hooks import own_hook_steps, own_hooks
from bylaw.hosts.hooks.install.places import file_of
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.visible import visible
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.doctor.finding import Finding
    from bylaw.hosts.hooks.install.clients import Client
    from bylaw.hosts.hooks.install.json_text import Path
    from bylaw.hosts.hooks.install.places import Scope
    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON


_UNLESS_OWN = "; if the hook is your own, fix it yourself"


class HooksThere:
    """The hooks of a client in one scope that call Bylaw.

    `callers` are these hooks, with their paths in the file.
    """

    def __init__(self, client: Client, scope: Scope, root: str, python: str) -> None:
        self._client, self._scope = client, scope
        self._python = python
        self.shown = ""
        self.location = ""
        self.callers: list[tuple[Path, JSON]] = []
        self.findings = list(self._looked(root))

    @property
    def found(self) -> bool:
        """Whether the file has any."""
        return bool(self.callers)

    def _looked(self, root: str) -> Iterator[Finding]:
        about = self._client.host
        try:
            file = file_of(self._client, self._scope, root)
            self.shown, self.location = visible(file.shown), file.location
            data = file.content()
            if data is not None:
                yield from self._judged(file.source(data))
        except LoadError as refused:
            yield wrong(about, refused.headline, f"fix `{self.shown}`")
        except BylawError:
            return  # no file in this scope: the root is the home folder, or no home is known

    def _judged(self, source: SourceFile) -> Iterator[Finding]:
        client, about = self._client, self._client.host
        document = read(source, client.form)
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
