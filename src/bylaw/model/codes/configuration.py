"""Codes for `bylaw.toml`."""

from bylaw.model.codes import Code, Example

UNKNOWN_SETTING = Code(
    "unknown-setting",
    "the configuration has an unknown key",
    "If Bylaw ignored a misspelt key, the default would silently apply.",
    "Use a known key. The help line names the nearest one.",
    Example("configuration", "discovr = false\n"),
)

WRONG_SETTING = Code(
    "wrong-setting",
    "a key of the configuration has a value of the wrong type",
    'Values are not converted: `"false"` is a text, not a boolean.',
    "Write a value of the type that the help line names.",
    Example("configuration", 'discover = "false"\n'),
)

UNUSABLE_SETTING = Code(
    "unusable-setting",
    "a key of the configuration has a value that cannot be used",
    "The value has the right type, but it is out of range, is not an allowed word, or leaves the "
    "root. Using another value in its place would hide that.",
    "Write a value as the help line says.",
    Example("configuration", '[law]\npolicy_mode = "lenient"\n'),
)

UNBOUNDED_PATTERN = Code(
    "unbounded-pattern",
    "a regular expression of the configuration can take too long",
    "Patterns of `redact` run on every text that is stored, including hostile ones. A pattern "
    "that backtracks after an unbounded repetition can take forever.",
    "Set an upper limit, such as `{1,100}`. Only the last part of a pattern, a character or a "
    "class, can be repeated without a limit.",
    Example("configuration", "[journal]\nredact = ['(a+)+b']\n"),
)

MISSING_SETTING = Code(
    "missing-setting",
    "a table of the configuration lacks a key that it needs",
    "Without it the table has no effect.",
    "Add the key.",
    Example("configuration", '[[book]]\ndialect = "chatmd"\n'),
)

TWO_CONFIGURATIONS = Code(
    "two-configurations",
    "a folder has both `bylaw.toml` and `[tool.bylaw]` in `pyproject.toml`",
    "Only one can be active, and ignoring the other could silently drop rules.",
    "Keep one of them.",
    Example("two-configurations", "discover = false\n"),
)
