"""What was found out about a journal, as data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

# More are counted, not listed.
MAX_FINDINGS = 100
MAX_RANGES = 1_000


class Flaw(StrEnum):
    """What is wrong."""

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
    """One thing that is wrong: what, in which record of which session, in words."""

    flaw: Flaw
    text: str
    record: int | None = None
    session: str | None = None


class Unchecked(StrEnum):
    """Why a decision could not be made again."""

    ERASED = "erased"
    RESTS_ON_ERASED = "rests on what was erased"
    REDACTED = "redacted"
    NO_RULES = "its rules are not stored"


class Numbers(Struct):
    """Numbers of records, as ranges; how many there are."""

    count: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, seq: int) -> None:
        """One more."""
        self.count += 1
        if self.ranges and self.ranges[-1][1] == seq - 1:
            self.ranges[-1] = (self.ranges[-1][0], seq)
        elif len(self.ranges) < MAX_RANGES:
            self.ranges.append((seq, seq))


class Decisions(Struct):
    """How many decisions came out the same, and which could not be made again, by reason."""

    same: int = 0
    unchecked: dict[Unchecked, Numbers] = field(default_factory=dict)

    def leave_out(self, seq: int, why: Unchecked) -> None:
        """This one could not be made again."""
        self.unchecked.setdefault(why, Numbers()).add(seq)


class AnchorState(Struct):
    """What was noted elsewhere of a journal: where, and up to which record."""

    path: str
    seq: int
    fits: bool


class Report(Struct):
    """Everything that was found out about a journal."""

    path: str
    records: int = 0
    sessions: int = 0
    # Sessions that were folded anew and came out as they are stored.
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
        """One more thing is wrong."""
        self.wrong += 1
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(flaw, text, record, session))
