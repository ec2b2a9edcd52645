"""Codes of the journal: why it cannot be used, and what is wrong with what it says."""

from bylaw.model.codes import Code, Example

JOURNAL_UNUSABLE = Code(
    "journal-unusable",
    "the journal cannot be opened or written",
    "A decision that is not recorded cannot be explained nor replayed, so a gate that cannot "
    "record stays closed.",
    "Make the folder of the journal writable, or set another `path` in `[journal]`.",
    Example("journal-folder", "journal.db"),
)
JOURNAL_FULL = Code(
    "journal-full",
    "the journal cannot grow: the disk is full",
    "What cannot be recorded is not let through.",
    "Make room on the disk, or erase old payloads with `bylaw journal purge`.",
    Example("journal-pages", "40"),
)
JOURNAL_CORRUPT = Code(
    "journal-corrupt",
    "the file of the journal is damaged, or is no journal",
    "What was recorded can no longer be believed, and nothing is written over it.",
    "Move the file away, with the files `-wal` and `-shm` beside it; a new journal begins.",
    Example("journal-bytes", "this is no database, it is a text that is long enough"),
)
JOURNAL_NEWER = Code(
    "journal-newer",
    "the journal was written by a newer version of Bylaw",
    "Its format is not known here, and writing to it could damage it.",
    "Use the newer version, or another journal.",
    Example("journal-version", "999"),
)
JOURNAL_BUSY = Code(
    "journal-busy",
    "another process holds the journal",
    "Events of one journal are recorded one after the other; a process that holds it for long "
    "is stuck.",
    "Wait until it has ended, then try again.",
    Example("journal-busy", ""),
)
NO_JOURNAL = Code(
    "no-journal",
    "there is no journal to read",
    "A journal begins with the first event that a host submits; what is only rehearsed, as with "
    "`bylaw decide`, is not recorded.",
    "Submit an event, or name the journal with `--journal PATH`.",
    Example("journal-none", "log"),
)
UNKNOWN_SESSION = Code(
    "unknown-session",
    "the journal has no records of this session",
    "An empty answer would look as if the session had been quiet.",
    "Write the name of a session that `bylaw log --sessions` lists.",
    Example("journal-verb", "log defualt"),
)
UNKNOWN_RECORD = Code(
    "unknown-record",
    "the journal has no record with this number",
    "Records are numbered from 1 without gaps, over all sessions of a journal.",
    "Take a number that `bylaw log` shows.",
    Example("journal-verb", "explain 99"),
)
NOTHING_DECIDED = Code(
    "nothing-decided",
    "there is no decision that would need words",
    "Without a number the newest record is explained in which a rule fired, failed, was limited "
    "or was gated; there is none.",
    "Name the record to be explained, and the rule with `--rule`.",
    Example("journal-verb", "explain"),
)
