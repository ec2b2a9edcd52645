"""The schema of the journal database, version by version. Never change a version; add a new one."""

from __future__ import annotations

# In the header of the file, so that the database of another program is not taken for a journal.
APPLICATION_ID = 0x42594C57  # "BYLW"

_FIRST = (
    # The chain: digests, and the columns that find a record. Nothing here is ever erased.
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
    # The payloads that the digests belong to. A missing row was erased.
    """
    CREATE TABLE payloads (
        seq INTEGER PRIMARY KEY,
        event BLOB NOT NULL,
        decision BLOB NOT NULL
    ) STRICT
    """,
    # One state of each session, without its long texts: the fold of its records up to `seq`.
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, core BLOB NOT NULL) STRICT",
    # Long texts of sessions, each stored once.
    "CREATE TABLE texts (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # The files of each rule set, by the digest of the rules, and the text of each file.
    "CREATE TABLE rule_sets (digest BLOB PRIMARY KEY, files BLOB NOT NULL) STRICT",
    "CREATE TABLE sources (digest BLOB PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # Decisions whose plans are not finished, and the process that runs them.
    """
    CREATE TABLE open_plans (
        seq INTEGER PRIMARY KEY, session TEXT NOT NULL, owner TEXT NOT NULL
    ) STRICT
    """,
)

_SECOND = (
    # Events caused by step `step` of decision `of` that are not recorded yet. Step 0 is a denial.
    """
    CREATE TABLE owed (
        of INTEGER NOT NULL, step INTEGER NOT NULL, PRIMARY KEY (of, step)
    ) STRICT, WITHOUT ROWID
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
VERSION = len(MIGRATIONS)
