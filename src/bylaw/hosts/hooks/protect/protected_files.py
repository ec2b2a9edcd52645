"""What is protected in a root, at work: asked before a call, looked at now and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects import law
from bylaw.hosts.hooks.protect.calls import protected_by
from bylaw.hosts.hooks.protect.watch import Look, has_looked, look, note_as_seen
from bylaw.model.facts import Protected
from bylaw.runtime.protection import Protection
from bylaw.runtime.shared_files import SHARED_CONTEXT, TOKENS, is_confirmed

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.hooks.base import Call
    from bylaw.runtime.loading import Library
    from bylaw.runtime.settings.tables import ProtectSettings

UNTOLD = "it is protected"


class ProtectedFiles:
    """The protected files of one root; `has_law` tells that people approve messages in some.

    `note` is told what a person should know.
    """

    def __init__(
        self, root: str, library: Library, settings: ProtectSettings, note: Callable[[str], None]
    ) -> None:
        self.has_law = any(book.dialect.name == law.name for book in library.books)
        self._root = root
        self._note = note
        self._last: Look | None = None
        self._protection = Protection(
            root,
            settings,
            files=tuple(found.location for book in library.books for found in book.files),
            places=library.search.places,
            approvals=(SHARED_CONTEXT, TOKENS) if self.has_law else (),
        )

    def before(self, call: Call, folder: str) -> tuple[Protected, ...]:
        """The protected files that a call would change."""
        if not self._protection.settings.enabled:
            return ()
        return protected_by(call, folder, self._protection)

    def look_first(self, session: str) -> None:
        """Take the files as they are, if the session has not looked yet."""
        if self._protection.settings.enabled and not has_looked(self._root, session):
            self.changed(session)

    def changed(self, session: str) -> tuple[Protected, ...]:
        """The protected files that were changed since a session last noted them as seen."""
        if not self._protection.settings.enabled:
            return ()
        protection = self._protection
        self._last = look(self._root, session, protection.watched(), self._note)
        return tuple(
            Protected(path=protection.shown(path), why=protection.why(path) or UNTOLD)
            for path in self._last.changed
            if not is_confirmed(self._root, path)
        )

    def note_as_seen(self, session: str) -> None:
        """What the last look found was told."""
        last, self._last = self._last, None
        if last is not None:
            note_as_seen(self._root, session, last)
