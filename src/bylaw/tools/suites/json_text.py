"""Write JSON for pages and messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model.visible import visible_in_json

if TYPE_CHECKING:
    from bylaw.model.values import JSON


def write_json(value: JSON, *, indent: int | None = None) -> str:
    """Return readable JSON with invisible characters escaped."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return "\n".join(visible_in_json(line) for line in lines)
