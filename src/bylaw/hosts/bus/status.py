"""Read the status of a bus repeatedly, for `bylaw bus status`. Creates and changes nothing.

Messages that were malformed, decisions, or copies of a used id are not in the ledger; they are read
from the evidence in `error`.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, nullcontext
from heapq import nlargest
from typing import TYPE_CHECKING

from bylaw.hosts.bus.active_rules import read_law_settings
from bylaw.hosts.bus.evidence import read_evidence
from bylaw.hosts.bus.folders import ERROR, ReadOnlyFolders
from bylaw.hosts.bus.handle_message import is_complete
from bylaw.hosts.bus.ledger import Ledger, MessageState
from bylaw.hosts.bus.message_file import NotYet, ReadyFile, read_message_file
from bylaw.hosts.bus.snapshot import BusSnapshot, FinishedMessage
from bylaw.languages.law.built_in import LEADING_RULES
from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import Verdict
from bylaw.runtime.shared_context import SharedFiles
from bylaw.store.paths import as_bytes, is_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.hosts.bus.message_file import IgnoredFile
    from bylaw.hosts.bus.snapshot import BusReport
    from bylaw.model.values import JSON

_MS = 1_000_000
_REFUSAL_RULES = {
    rule.uid: rule.id
    for rule in LEADING_RULES
    if rule.judgement is not None and rule.judgement.verdict is Verdict.DENY
}
_NAME = re.compile(rf".+\.(?:{'|'.join(_REFUSAL_RULES.values())})\.[0-9]+\.json")


class Refusals:
    """Refused messages, cached until the folder changes."""

    def __init__(self) -> None:
        self._seen: tuple[tuple[int, int, int], int, list[FinishedMessage]] | None = None

    def newest(self, bus: ReadOnlyFolders, limit: int) -> tuple[int, list[FinishedMessage]]:
        """Return their number, and the newest `limit` of them."""
        if ERROR not in bus.existing:
            return 0, []
        folder = os.fstat(bus.folder(ERROR))
        stamp = (folder.st_ino, folder.st_mtime_ns, limit)
        if self._seen is None or self._seen[0] != stamp:
            names = [name for name in bus.names(ERROR) if _NAME.fullmatch(name)]
            newest = nlargest(limit, _with_times(bus, names))
            found = [
                one for at, name in newest if (one := _read_refusal(bus, name, at)) is not None
            ]
            self._seen = (stamp, len(names), found)
        return self._seen[1], self._seen[2]


def _with_times(bus: ReadOnlyFolders, names: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the time at which each was written, and its name."""
    for name in names:
        try:
            found = os.stat(as_bytes(name), dir_fd=bus.folder(ERROR), follow_symlinks=False)
        except OSError:
            continue
        yield found.st_mtime_ns // _MS, name


def _read_refusal(bus: ReadOnlyFolders, name: str, at: int) -> FinishedMessage | None:
    """Read one refusal; None if the file does not hold what its name says."""
    body = read_evidence(bus, ERROR, name)
    if body is None or body.get("uid") not in _REFUSAL_RULES:
        return None
    named = _text(body, "msg_id") or _text(body, "file")
    return FinishedMessage(
        name=named, state=MessageState.REFUSED.value, at=at, why=_text(body, "text")
    )


def _text(body: dict[str, JSON], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""


class BusStatus:
    """Read the bus of one root again and again. `limit` is the length of each list."""

    def __init__(self, root: str, limit: int) -> None:
        if not is_folder(root):
            raise BylawError(f"folder `{visible(root)}` does not exist")
        self.root = root
        self.limit = limit
        self.law = read_law_settings(root)
        self.files = SharedFiles(root, self.law.bus)
        self.refusals = Refusals()
        self._cache: dict[str, tuple[tuple[int, ...], ReadyFile]] = {}

    def read(self) -> BusReport:
        """Report the present state. Raises BylawError if the bus or its ledger cannot be read."""
        with ReadOnlyFolders(self.root, self.law.bus) as bus:
            opened = Ledger.open_for_reading(self.root) if bus.exists else None
            with nullcontext() if opened is None else closing(opened):
                return BusSnapshot(self, bus, opened).report()

    def look(self, bus: ReadOnlyFolders, name: str) -> ReadyFile | NotYet | IgnoredFile | None:
        """Read a file of `input`, from the cache if it has not changed; None if it is gone."""
        try:
            found = os.stat(as_bytes(name), dir_fd=bus.input, follow_symlinks=False)
        except OSError:
            return None
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        kept = self._cache.get(name)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        looked = read_message_file(bus, name, is_complete)
        if isinstance(looked, ReadyFile):
            self._cache[name] = (stamp, looked)
        return looked

    def forget_missing(self, names: Sequence[str]) -> None:
        """Remove all other files from the cache."""
        there = set(names)
        self._cache = {name: one for name, one in self._cache.items() if name in there}
