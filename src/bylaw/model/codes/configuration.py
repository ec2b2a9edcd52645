"""Codes of `bylaw.toml`: what is wrong with the configuration."""

from bylaw.model.codes import Code, Example

UNKNOWN_SETTING = Code(
    "unknown-setting",
    "the configuration has a key that means nothing",
    "A misspelt key that is passed over would leave the default in force without a word.",
    "Use a known key; the help line names the nearest one.",
    Example("configuration", "discovr = false\n"),
)

WRONG_SETTING = Code(
    "wrong-setting",
    "a key of the configuration has a value of the wrong type",
    'Values are not converted: `"false"` is a text, and a text is not a switch.',
    "Write a value of the type that the help line names.",
    Example("configuration", 'discover = "false"\n'),
)

UNUSABLE_SETTING = Code(
    "unusable-setting",
    "a key of the configuration has a value that cannot be used",
    "The value has the right type, but it is out of range, not one of the possible words, or leads "
    "out of the root. Using another one in its place would hide that.",
    "Write a value as the help line says.",
    Example("configuration", '[law]\npolicy_mode = "lenient"\n'),
)

UNBOUNDED_PATTERN = Code(
    "unbounded-pattern",
    "a regular expression of the configuration can be kept busy by a text",
    "Patterns of `redact` meet every text that is stored, also those that somebody wrote to do "
    "harm. What tries again and again after an open repeat can take for ever.",
    "Say how often at most, such as `{1,100}`. Only the last part of a pattern, a character or a "
    "class, may be repeated without an end.",
    Example("configuration", "[journal]\nredact = ['(a+)+b']\n"),
)

MISSING_SETTING = Code(
    "missing-setting",
    "a table of the configuration lacks a key that it needs",
    "Without it the table says nothing.",
    "Add the key.",
    Example("configuration", '[[book]]\ndialect = "chatmd"\n'),
)

TWO_CONFIGURATIONS = Code(
    "two-configurations",
    "a folder has both `bylaw.toml` and `[tool.bylaw]` in `pyproject.toml`",
    "Only one can be in force, and passing over the other could drop rules without a word.",
    "Keep one of them.",
    Example("two-configurations", "discover = false\n"),
)
