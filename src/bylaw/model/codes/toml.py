"""Codes for reading TOML."""

from bylaw.model.codes import Code, Example

TOML_SYNTAX = Code(
    "toml-syntax",
    "the text is not TOML",
    "A file is read completely before any part of it takes effect.",
    "Fix the file at the underlined place.",
    Example("toml", "[rule\nid = 5\n"),
)
TOML_TOO_LARGE = Code(
    "toml-too-large",
    "the text is larger than the limit for settings and rules",
    "A limit on the text limits the work of reading it.",
    "Split the file.",
    Example("toml", "a = 1\n" * 60_000),
)
