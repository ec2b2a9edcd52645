"""What keeps a command from the rest of the system, as a record says it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.values import JSON


class IsolatedBy(StrEnum):
    """What keeps a command from the rest of the system."""

    BUBBLEWRAP = "bubblewrap"
    NOTHING = "none"


class Isolation(Struct, frozen=True):
    """The isolation that was in force, and why there was none."""

    by: IsolatedBy
    why: str = ""

    def as_json(self) -> dict[str, JSON]:
        """As it stands in a record."""
        said: dict[str, JSON] = {"by": str(self.by)}
        return said | {"why": self.why} if self.why else said


NOT_STARTED = Isolation(IsolatedBy.NOTHING, "nothing was started")
