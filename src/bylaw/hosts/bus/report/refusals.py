"""Read refused messages from the evidence in `error`.

No rule decided them, and the ledger does not know them: they were malformed, they were decisions,
or their id was already used.
"""

from __future__ import annotations

import os
import re
from heapq import nlargest
from typing import TYPE_CHECKING

from bylaw.dialects.law.built_in import BEFORE
from bylaw.hosts.bus.ledger.ledger import MessageState
from bylaw.hosts.bus.messages.evidence import read_evidence
from bylaw.hosts.bus.messages.folders import ERROR
from bylaw.model.verdict import Verdict
from bylaw.runtime.paths import as_bytes
from bylaw.tools.bus_report import Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.bus.messages.seen_folders import SeenFolders
    from bylaw.model.values import JSON

_MS = 1_000_000
_REFUSING = {
    rule.uid: rule.id
    for rule in BEFORE
    if rule.judgement is not None and rule.judgement.verdict is Verdict.DENY
}
_NAME = re.compile(rf".+\.(?:{'|'.join(_REFUSING.values())})\.[0-9]+\.json")


class Refusals:
    """Refused messages, cached until the folder changes."""

    def __init__(self) -> None:
        self._seen: tuple[tuple[int, int, int], int, list[Ended]] | None = None

    def newest(self, bus: SeenFolders, limit: int) -> tuple[int, list[Ended]]:
        """Return their number, and the newest `limit` of them."""
        if ERROR not in bus.there:
            return 0, []
        folder = os.fstat(bus.folder(ERROR))
        stamp = (folder.st_ino, folder.st_mtime_ns, limit)
        if self._seen is None or self._seen[0] != stamp:
            names = [name for name in bus.names(ERROR) if _NAME.fullmatch(name)]
            newest = nlargest(limit, _written(bus, names))
            found = [one for at, name in newest if (one := _ended(bus, name, at)) is not None]
            self._seen = (stamp, len(names), found)
        return self._seen[1], self._seen[2]


def _written(bus: SeenFolders, names: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the time at which each was written, and its name."""
    for name in names:
        try:
            found = os.stat(as_bytes(name), dir_fd=bus.folder(ERROR), follow_symlinks=False)
        except OSError:
            continue
        yield found.st_mtime_ns // _MS, name


def _ended(bus: SeenFolders, name: str, at: int) -> Ended | None:
    """Read one refusal; None if the file does not hold what its name says."""
    body = read_evidence(bus, ERROR, name)
    if body is None or body.get("uid") not in _REFUSING:
        return None
    named = _text(body, "msg_id") or _text(body, "file")
    return Ended(name=named, state=MessageState.REFUSED.value, at=at, why=_text(body, "text"))


def _text(body: dict[str, JSON], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
