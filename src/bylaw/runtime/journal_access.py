"""Open the journal of a root as its settings say, and find the anchor of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.root import find_root, read_configuration
from bylaw.store.files import absolute, os_error_text
from bylaw.store.journal.database import Anchor
from bylaw.store.journal.errors import unusable_journal
from bylaw.store.journal.journal import Journal, Redactor
from bylaw.store.journal.purge import erase_old
from bylaw.store.paths import folder_of, real_path, relative_name
from bylaw.store.state_folder import STATE_FOLDER, state_folder
from bylaw.store.user_state import user_state

if TYPE_CHECKING:
    from bylaw.runtime.root import Configuration


def open_journal(root: str, configuration: Configuration, path: str = "") -> Journal:
    """Open the journal of a root, and create it if needed; JournalError if it cannot be used.

    A program may pass a path of its own; the other settings still apply.
    """
    settings = configuration.settings.journal
    if path:
        path = absolute(path)
    else:
        path = absolute(settings.path, root)
        _check_folder(root, path)
    journal = Journal(
        path,
        durability=settings.durability,
        redactor=Redactor(settings.redact),
        anchor=anchor_of(root, path),
    )
    if settings.keep_days is not None:
        erase_old(journal, settings.keep_days)
    return journal


def anchor_of(root: str, path: str) -> Anchor | None:
    """Return the anchor of a journal; None if no state folder is safe."""
    try:
        return Anchor(user_state(root), path)
    except BylawError:
        return None


def _check_folder(root: str, path: str) -> None:
    """Check that no link leads out of the root, and make the state folder private."""
    if not relative_name(real_path(root), real_path(path)):
        raise unusable_journal(path, "a link leads out of the root")
    if not relative_name(absolute(STATE_FOLDER, root), path):
        return
    try:
        with state_folder(root):
            pass
    except LoadError as refused:
        raise unusable_journal(path, refused.headline) from None
    except OSError as wrong:
        raise unusable_journal(folder_of(path), os_error_text(wrong)) from None


def journal_path() -> str:
    """Return the path of the root's journal from its settings; LoadError if they do not load."""
    root = find_root()
    location = absolute(read_configuration(root).settings.journal.path, root)
    return relative_name(absolute("."), location) or location
