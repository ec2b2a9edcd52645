"""How a command is isolated from the rest of the system, as records store it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.values import JSON


class IsolatedBy(StrEnum):
    """What isolates a command from the rest of the system."""

    BUBBLEWRAP = "bubblewrap"
    NOTHING = "none"


class Isolation(Struct, frozen=True):
    """The isolation of a command; `why` says why there was none."""

    by: IsolatedBy
    why: str = ""

    def as_json(self) -> dict[str, JSON]:
        """Return the isolation as a record stores it."""
        said: dict[str, JSON] = {"by": str(self.by)}
        return said | {"why": self.why} if self.why else said


NOT_STARTED = Isolation(IsolatedBy.NOTHING, "nothing was started")
