"""The error that says why a history was not compacted."""

from __future__ import annotations

from bylaw.model.errors import BylawError


class CompactionError(BylawError):
    """The history was not compacted and nothing was changed. The text says why."""
