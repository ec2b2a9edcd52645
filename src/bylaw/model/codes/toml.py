"""Codes of the TOML reader."""

from bylaw.model.codes import Code, Example

TOML_SYNTAX = Code(
    "toml-syntax",
    "the text is not TOML",
    "A file is read completely before anything of it takes effect.",
    "Mend the file at the underlined place.",
    Example("toml", "[rule\nid = 5\n"),
)
TOML_TOO_LARGE = Code(
    "toml-too-large",
    "the text is larger than a file of settings or rules may be",
    "A bound on the text bounds the work of reading it.",
    "Split the file.",
    Example("toml", "a = 1\n" * 60_000),
)
