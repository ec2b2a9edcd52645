"""Codes for the journal: why it cannot be used, and what it does not contain."""

from bylaw.model.codes import Code, Example

JOURNAL_UNUSABLE = Code(
    "journal-unusable",
    "the journal cannot be opened or written",
    "A decision that is not recorded can be neither explained nor replayed, so gates deny if "
    "Bylaw cannot record.",
    "Make the folder of the journal writable, or set another `path` in `[journal]`.",
    Example("journal-folder", "journal.db"),
)
JOURNAL_FULL = Code(
    "journal-full",
    "the journal cannot grow: the disk is full",
    "Bylaw does not allow what it cannot record.",
    "Free space on the disk, or erase old payloads with `bylaw journal purge`.",
    Example("journal-pages", "40"),
)
JOURNAL_CORRUPT = Code(
    "journal-corrupt",
    "the journal file is damaged, or is not a journal",
    "Its records can no longer be trusted, and Bylaw does not overwrite them.",
    "Move the file away, together with its `-wal` and `-shm` files. Bylaw then starts a new "
    "journal.",
    Example("journal-bytes", "this is not a database, but a text that is long enough"),
)
JOURNAL_NEWER = Code(
    "journal-newer",
    "the journal was written by a newer version of Bylaw",
    "This version does not know its format, and writing to it could damage it.",
    "Use the newer version, or another journal.",
    Example("journal-version", "999"),
)
JOURNAL_BUSY = Code(
    "journal-busy",
    "another process has locked the journal",
    "Events of one journal are recorded one after the other. A process that keeps the lock for "
    "long is stuck.",
    "Wait until that process has finished, then try again.",
    Example("journal-busy", ""),
)
NO_JOURNAL = Code(
    "no-journal",
    "no journal exists",
    "A journal begins with the first event that a host submits. A dry run, such as `bylaw "
    "decide`, is not recorded.",
    "Submit an event, or name the journal with `--journal PATH`.",
    Example("journal-none", "log"),
)
UNKNOWN_SESSION = Code(
    "unknown-session",
    "the journal has no records of this session",
    "An empty answer would look like a session without events.",
    "Use the name of a session that `bylaw log --sessions` lists.",
    Example("journal-verb", "log defualt"),
)
UNKNOWN_RECORD = Code(
    "unknown-record",
    "the journal has no record with this number",
    "Records are numbered from 1 without gaps, over all sessions of a journal.",
    "Use a number that `bylaw log` shows.",
    Example("journal-verb", "explain 99"),
)
NOTHING_DECIDED = Code(
    "nothing-decided",
    "no record needs an explanation",
    "Without a number, Bylaw explains the newest record in which a rule fired, failed, was "
    "limited or was gated. There is no such record.",
    "Name the record to explain, and the rule with `--rule`.",
    Example("journal-verb", "explain"),
)
