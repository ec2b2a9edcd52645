"""Why a history was not compacted."""

from __future__ import annotations

from bylaw.model.errors import BylawError


class CompactionError(BylawError):
    """Nothing was changed; the text says why, for the message that tells it."""
