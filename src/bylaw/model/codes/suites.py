"""Codes for suites: documents that are tests."""

from bylaw.model.codes import Code, Example

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
