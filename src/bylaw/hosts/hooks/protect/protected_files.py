"""What is protected in a root, at work: asked before a call, looked at now and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects import law
from bylaw.hosts.hooks.protect.calls import protected_by
from bylaw.hosts.hooks.protect.watch import changed_since_last_look, has_looked
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
        """The protected files that were changed since a session last looked."""
        if not self._protection.settings.enabled:
            return ()
        protection = self._protection
        found = changed_since_last_look(self._root, session, protection.watched(), self._note)
        return tuple(
            Protected(path=protection.shown(path), why=protection.why(path) or UNTOLD)
            for path in found
            if not is_confirmed(self._root, path)
        )
