"""Open the journal of a root as its settings say, and find the anchor of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.journal.anchor import Anchor
from bylaw.runtime.journal.errors import unusable_journal
from bylaw.runtime.journal.keeping import erase_old
from bylaw.runtime.journal.redaction import Redactor
from bylaw.runtime.journal.store import Journal
from bylaw.runtime.own_folder import user_state
from bylaw.runtime.paths import folder_of, name_from, real_path
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.root import absolute
from bylaw.runtime.state_folder import STATE, state_folder

if TYPE_CHECKING:
    from bylaw.runtime.configuration import Configuration


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
    if not name_from(real_path(root), real_path(path)):
        raise unusable_journal(path, "a link leads out of the root")
    if not name_from(absolute(STATE, root), path):
        return
    try:
        with state_folder(root):
            pass
    except LoadError as refused:
        raise unusable_journal(path, refused.headline) from None
    except OSError as wrong:
        raise unusable_journal(folder_of(path), in_plain_words(wrong)) from None
