"""Findings about a journal, as data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

# More findings and ranges are counted but not listed.
MAX_FINDINGS = 100
MAX_RANGES = 1_000


class Flaw(StrEnum):
    """Kind of a problem in a journal."""

    FILE = "file"
    GAP = "gap"
    CHAIN = "chain"
    PAYLOAD = "payload"
    MISSING = "missing"
    SESSION = "session"
    RULES = "rules"
    DECISION = "decision"
    CUT = "cut"
    REPLACED = "replaced"


class Finding(Struct, frozen=True):
    """One problem: its kind, its text, and its record and session if known."""

    flaw: Flaw
    text: str
    record: int | None = None
    session: str | None = None


class Unchecked(StrEnum):
    """Why a decision could not be replayed."""

    ERASED = "erased"
    RESTS_ON_ERASED = "rests on what was erased"
    REDACTED = "redacted"
    NO_RULES = "its rules are not stored"


class Numbers(Struct):
    """Record numbers, counted and as ranges."""

    count: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, seq: int) -> None:
        """Add a record. Numbers must ascend."""
        self.count += 1
        if self.ranges and self.ranges[-1][1] == seq - 1:
            self.ranges[-1] = (self.ranges[-1][0], seq)
        elif len(self.ranges) < MAX_RANGES:
            self.ranges.append((seq, seq))


class Decisions(Struct):
    """The number of decisions that replay the same, and the records not replayed, by reason."""

    same: int = 0
    unchecked: dict[Unchecked, Numbers] = field(default_factory=dict)

    def leave_out(self, seq: int, why: Unchecked) -> None:
        """Note a record that could not be replayed."""
        self.unchecked.setdefault(why, Numbers()).add(seq)


class AnchorState(Struct):
    """The anchor of a journal: its path, its record, and whether it matches."""

    path: str
    seq: int
    fits: bool


class Report(Struct):
    """All findings about a journal."""

    path: str
    records: int = 0
    sessions: int = 0
    # Sessions that were rebuilt and match their stored state.
    folded: int = 0
    erased: Numbers = field(default_factory=Numbers)
    head: tuple[int, bytes] | None = None
    anchor: AnchorState | None = None
    decisions: Decisions | None = None
    findings: list[Finding] = field(default_factory=list)
    wrong: int = 0

    def find(
        self, flaw: Flaw, text: str, record: int | None = None, session: str | None = None
    ) -> None:
        """Add a problem. Only the first MAX_FINDINGS are listed."""
        self.wrong += 1
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(flaw, text, record, session))
