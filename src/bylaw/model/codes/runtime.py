"""Codes for events, decisions, hosts, the journal and suites."""

from bylaw.model.codes import Code, Example

FACT_UNKNOWN = Code(
    "fact-unknown",
    "a rule reads a fact that is not available",
    "A decision depends only on what is recorded. A fact that cannot be gathered is unknown. "
    "Reading it is a guard error, never silently false.",
    "Run where the fact is available (a git repository, a bus, Lua for a script), or delete the "
    "rule.",
    Example("decide-unknown-fact", "approvals"),
)
FACT_MISSING = Code(
    "fact-missing",
    "a rule still requests facts after they were gathered four times",
    "Gathering must end. A check that requests another fact each time never has a result.",
    "Change the check so that it requests all facts that it needs.",
    Example("decide-endless-needs", "scripts"),
)
GUARD_CRASH = Code(
    "guard-crash",
    "the check of a rule raised an unexpected error",
    "An unexpected error counts as a guard error, so that it cannot allow anything by itself. The "
    "language decides what follows.",
    "Report it to the author of the check, with the detail from the trace.",
    Example("decide-crash", "check"),
)
VALUE_NOT_FINITE = Code(
    "value-not-finite",
    "a variable would become infinite or not a number",
    "Variables are recorded with the session, and JSON has no such numbers. Stored as null, the "
    "value would silently change.",
    "Test the value first, or keep it within limits.",
    Example("decide-infinite", "1e308 * 10"),
)
FOREIGN_VARIABLE = Code(
    "foreign-variable",
    "a rule would write a variable of another language",
    "Each language has its own variables, so that no book can change what another one decides.",
    "Report it to the author of the language: its rules can only write to its own spaces.",
    Example("decide-foreign", "other:"),
)


EVENT_SYNTAX = Code(
    "event-syntax",
    "the line is not JSON",
    "An event is one JSON object in UTF-8 on one line.",
    "Fix the line at the column that the message names.",
    Example("event", '{"kind": "prompt", "text": '),
)
EVENT_KIND = Code(
    "event-kind",
    "an event has no kind or an unknown kind",
    "`kind` decides which fields an event has and which rules handle it.",
    "Use one of the kinds that the message names.",
    Example("event", '{"kind": "promt", "text": "hello"}'),
)
EVENT_FIELD = Code(
    "event-field",
    "a field is missing, unknown or of the wrong type",
    "The fields of each kind are a closed list, so that a misspelt name cannot disable a gate.",
    "Write the field as the message says.",
    Example("event", '{"kind": "tool.before", "tool": 5}'),
)
EVENT_DUPLICATE_KEY = Code(
    "event-duplicate-key",
    "an object has the same key twice",
    "Two readers could use different values, and Bylaw would have decided only one of them.",
    "Remove one of the two.",
    Example("event", '{"kind": "tool.before", "tool": "ls", "tool": "rm"}'),
)
EVENT_TOO_DEEP = Code(
    "event-too-deep",
    "lists and objects are nested too deeply",
    "Nesting is limited, so that no event can exhaust the program that reads it.",
    "Send a value with less nesting.",
    Example(
        "event",
        '{"kind": "custom", "type": "t", "payload": {"a": ' + "[" * 200 + "]" * 200 + "}}",
    ),
)
EVENT_TOO_LONG = Code(
    "event-too-long",
    "the line is longer than the limit for events",
    "Events are read one line at a time, and no line may fill the memory.",
    "Send less: the beginning of a long result, or its digest.",
    Example("event-size", "16777217"),
)
TOO_MANY_SESSIONS = Code(
    "too-many-sessions",
    "the events belong to more sessions than one run can hold",
    "Every session is kept until the end, because a later event may belong to it.",
    "Use the id of one conversation for all its events, or decide the sessions in several runs.",
    Example("event-sessions", "100001"),
)


HOST_EFFECT = Code(
    "host-effect",
    "a rule has an action that the host does not support",
    "Rules are written once and apply in every host, but not every host can do everything. For "
    "example, no coding agent lets Bylaw compact its history or call its tools. Such a step is "
    "recorded as `not_carried_out`, and the language handles it as a failed step.",
    "Remove the action, or use the rule only in a host that supports it.",
    Example(
        "host-claude",
        '<rules>\n  <on id="shorten" event="turn_end"><compact keep="latest:10"/></on>\n</rules>\n',
    ),
)

HOST_EVENT = Code(
    "host-event",
    "a rule is on an event that the host does not report",
    "Bylaw cannot decide events that a host does not report. The rule never fires there, without "
    "any sign.",
    "Choose another event, or accept that the rule has no effect in this host.",
    Example(
        "host-opencode",
        'rule = { id = "bye", trigger = "on_session_end" }\n'
        'condition = { expression = "True" }\n'
        'action = { type = "log", message = "the end" }\n',
    ),
)

HOST_TEXT = Code(
    "host-text",
    "a message of a rule is delayed, or goes to another recipient",
    "A client passes on messages only at some events. A message for the model waits for the next "
    "event that can carry it. A warning that cannot be shown to the person goes to the model.",
    "Choose another event or another `deliver_at` if the message must arrive at once.",
    Example(
        "host-claude",
        "<rules>\n"
        '  <on id="remind" event="turn_end"><insert role="developer">Tests?</insert></on>\n'
        "</rules>\n",
    ),
)

HOST_VERDICT = Code(
    "host-verdict",
    "a rule denies or blocks something that the host cannot stop",
    "A coding agent shows its output before Bylaw can withhold it. Some clients cannot be "
    "prevented from stopping, and some would run a call while a person is asked. The finding says "
    "what happens instead. A call is never allowed because of it.",
    "Do nothing if what happens instead is enough. Otherwise decide at an earlier event, such as "
    "before a tool call.",
    Example(
        "host-opencode",
        "---\ntrigger: src/**/*.py\n---\nCheck that the tests fit.\n",
    ),
)


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


UNKNOWN_BLOCK = Code(
    "unknown-block",
    "a block of a suite has an unknown word",
    "The word after the backticks says what a block is for. An unused block would look like a "
    "test without being one.",
    "Use a known word, or write a path after the word if the block is a file.",
    Example("suite", "## A case\n\n```runn\n$ bylaw --version\nbylaw 0.1.0\n[exit 0]\n```\n"),
)

UNCLOSED_BLOCK = Code(
    "unclosed-block",
    "a block of a suite has no end",
    "Everything up to the end of the page would belong to the block.",
    "Close the block with as many backticks as it begins with.",
    Example("suite", "## A case\n\n```run\n$ bylaw --version\n"),
)

BAD_BLOCK_PATH = Code(
    "bad-block-path",
    "the path of a suite's file is not inside the folder of the case",
    "Each case runs in a folder of its own and leaves the rest of the machine alone.",
    "Use a relative path without `..`.",
    Example("suite", "```json ../facts.json\n{}\n```\n"),
)

OUTPUT_WITHOUT_COMMAND = Code(
    "output-without-command",
    "a `run` block has output without a command",
    "Lines before the first `$ ` belong to no command, so they would not be checked.",
    "Write the command above its output, or move the explanation out of the block.",
    Example("suite", "```run\nbylaw 0.1.0\n```\n"),
)

MISSING_EXIT = Code(
    "missing-exit",
    "a command of a suite does not state its exit code",
    "The exit code is part of what a command promises, so every command states it.",
    "Write `[exit N]` on a line of its own after the output.",
    Example("suite", "```run\n$ bylaw --version\nbylaw 0.1.0\n```\n"),
)

UNRUNNABLE_COMMAND = Code(
    "unrunnable-command",
    "a command of a suite cannot be run",
    "A suite runs only `bylaw` and `git`, without a shell.",
    "Write a `bylaw` or `git` command with balanced quotes, without pipes or redirections.",
    Example("suite", "```run\n$ rm -rf /\n[exit 0]\n```\n"),
)

DUPLICATE_CASE = Code(
    "duplicate-case",
    "two cases of a page have the same title",
    "A case is identified by its title, in reports and when its output is rewritten.",
    "Give one of them another title.",
    Example(
        "suite",
        "## Version\n\n```run\n$ bylaw --version\n[exit 0]\n```\n\n"
        "## Version\n\n```run\n$ bylaw --version\n[exit 0]\n```\n",
    ),
)

EMPTY_CASE = Code(
    "empty-case",
    "a case of a suite checks nothing",
    "A heading of the second level is a test. Without an expectation it would always pass.",
    "Add an `expect`, `state`, `diagnostics` or `run` block, or use a heading of the third level "
    "for prose.",
    Example("suite", "## To be written\n\nSome prose.\n"),
)

BAD_REQUIREMENT_LIST = Code(
    "bad-requirement-list",
    "the brackets after a case's title do not contain requirement ids",
    "The ids say which requirements a case checks. A misspelt id would have no effect.",
    "Write ids such as `[CM-024, CM-A21]`, or a title that does not end in brackets.",
    Example("suite", "## Version [see above]\n\n```run\n$ bylaw --version\n[exit 0]\n```\n"),
)

TOO_MANY_SHARED = Code(
    "too-many-shared",
    "too many blocks and commands are before the cases of a page",
    "Everything before the first case is repeated for each case.",
    "Move blocks and commands into the cases that need them.",
    Example(
        "suite", "```run\n" + "$ bylaw --version\n[exit 0]\n" * 20 + "```\n\n```json a\n{}\n```\n"
    ),
)

UNPAIRED_EVENTS = Code(
    "unpaired-events",
    "a case has events without expectations, or expectations without events",
    "Events without expectations check nothing, and expected decisions need events.",
    "Add the missing block: `events`, or `expect` or `state`.",
    Example(
        "suite",
        '## A call is denied\n\n```events\n{"kind": "turn.start"}\n```\n',
    ),
)

BAD_EXPECTATION = Code(
    "bad-expectation",
    "the expectation in an `expect` or `state` block is not a JSON object",
    "A decision and a state are objects, so only objects can be compared with them.",
    "Write one JSON object per line in `expect`, and one for the whole block in `state`.",
    Example(
        "suite",
        '## A call is denied\n\n```events\n{"kind": "turn.start"}\n```\n\n'
        "```expect\n{verdict: deny}\n```\n",
    ),
)

BAD_DIAGNOSTIC_LINE = Code(
    "bad-diagnostic-line",
    "a line of a `diagnostics` block does not name a diagnostic",
    "A line has the severity of a finding, its code, and the underlined text as a JSON string. It "
    "has no columns, since these would change with every edit.",
    'Write the line as `error unknown-function "ever_caled"`.',
    Example(
        "suite",
        "## A misspelt function\n\n```diagnostics\nerror unknown-function ever_caled\n```\n",
    ),
)
