"""The protected files of a root: checks before a call, and a comparison after it."""

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
    """The protected files of one root.

    `has_law` says that the root has RULE_DSL rules; then files with approvals are protected, too.
    `note` receives messages for the person.
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
        """Return the protected files that a call would change."""
        if not self._protection.settings.enabled:
            return ()
        return protected_by(call, folder, self._protection)

    def look_first(self, session: str) -> None:
        """Record the files as they are, if the session has no record of them yet."""
        if self._protection.settings.enabled and not has_looked(self._root, session):
            self.changed(session)

    def changed(self, session: str) -> tuple[Protected, ...]:
        """Return the protected files that were changed since the session last saw them."""
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
        """Record that the changes of the last comparison were reported."""
        last, self._last = self._last, None
        if last is not None:
            note_as_seen(self._root, session, last)
