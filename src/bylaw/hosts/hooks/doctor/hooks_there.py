"""A client's configuration → whether our hooks are in it, whole, and can be started.

Nothing that is named there is started: the file may have come with a repository.
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


_UNLESS_OWN = ", unless it is a hook of your own: then you do"


class HooksThere:
    """Hooks of a client in one scope that call us.

    `callers` are those, with their paths in the file, and `found` says whether there are any.
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
        """Whether any is there."""
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
            yield wrong(about, refused.headline, f"mend `{self.shown}`")
        except BylawError:
            return  # there is no such scope: a home is no project, and who has none, no user

    def _judged(self, source: SourceFile) -> Iterator[Finding]:
        client, about = self._client, self._client.host
        document = read(source, client.form)
        wanted = client.wanted_entries(self._python)
        found = ((path, document.at(path)) for path, _ in wanted.callers(document))
        self.callers = [(path, document.plain(node)) for path, node in found if node is not None]
        if not self.callers:
            return
        again = f"`bylaw install {about} --{self._scope}` mends that"
        named = {one for _, value in self.callers for one in _interpreters(value)}
        whole = {one for one in named if has_all(source, client.wanted_entries(one))}
        gone = sorted(one for one in named if not _is_program(one))
        if gone:
            text = f"hooks in {self.shown} name `{visible(gone[0])}`, which is not there"
            yield wrong(about, text, again if gone[0] in whole else f"{again}{_UNLESS_OWN}")
        elif not whole:
            text = f"hooks in {self.shown} are not complete, or of another version of Bylaw"
            yield wrong(about, text, again)
        elif self._python not in whole:
            text = f"hooks in {self.shown} are run by `{visible(min(whole))}`, not by this Bylaw"
            yield note(about, text)
        else:
            yield fine(about, f"hooks in {self.shown}")
        entries = [one for python in sorted(whole)[:1] for one in client.entries(about, python)]
        for step in own_hook_steps(own_hooks(source, client, entries), self.shown):
            yield note(about, f"events are judged twice because of {self.shown}", step)


def _interpreters(value: JSON) -> Iterator[str]:
    """What entries of ours start."""
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
