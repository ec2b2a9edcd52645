"""What is in the database, version by version; a version is never changed, only followed."""

from __future__ import annotations

# Written into the header of the file, so that nobody takes another database for a journal.
APPLICATION_ID = 0x42594C57  # "BYLW"

_FIRST = (
    # The chain: digests and what is needed to find a record. Nothing here is ever erased.
    """
    CREATE TABLE records (
        seq INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        verdict TEXT NOT NULL,
        event BLOB NOT NULL,
        decision BLOB NOT NULL,
        rules BLOB NOT NULL,
        version TEXT NOT NULL,
        redacted INTEGER NOT NULL,
        chain BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX records_of_session ON records (session, seq)",
    # What the digests are of. A row that is gone was erased.
    """
    CREATE TABLE payloads (
        seq INTEGER PRIMARY KEY,
        event BLOB NOT NULL,
        decision BLOB NOT NULL
    ) STRICT
    """,
    # A state of each session, without its long texts: what its records up to `seq` fold to.
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, core BLOB NOT NULL) STRICT",
    # Long texts of sessions, once each.
    "CREATE TABLE texts (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # Which files the rules of a digest were made of, and the text of each.
    "CREATE TABLE rule_sets (digest BLOB PRIMARY KEY, files BLOB NOT NULL) STRICT",
    "CREATE TABLE sources (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # Decisions whose plans are being followed, and by which process.
    """
    CREATE TABLE open_plans (
        seq INTEGER PRIMARY KEY, session TEXT NOT NULL, owner TEXT NOT NULL
    ) STRICT
    """,
)

_SECOND = (
    # What step `step` of the decision on `of` caused and nobody recorded yet; 0 is a denial.
    """
    CREATE TABLE owed (
        of INTEGER NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (of, step)
    ) STRICT, WITHOUT ROWID
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
VERSION = len(MIGRATIONS)
