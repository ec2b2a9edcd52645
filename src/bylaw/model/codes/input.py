"""Codes for files that could not be read."""

from bylaw.model.codes import Code, Example

UNREADABLE_FILE = Code(
    "unreadable-file",
    "a file could not be read",
    "The named file is missing, is a folder, or cannot be read. Bylaw never continues without "
    "something that it was told to use.",
    "Check the spelling and the folder that you are in. A dash (`-`) reads standard input.",
    Example("input-path", "rules/missing.json"),
)

NOT_UTF8 = Code(
    "not-utf8",
    "a file is not UTF-8",
    "Rule files and facts are UTF-8 text. Guessing another encoding could change what a rule does.",
    "Save the file as UTF-8 in your editor, or convert it with `iconv -t utf-8`.",
    Example("input-bytes", '{"name": "caf\xe9"}\n'),
)

TOO_LARGE = Code(
    "too-large",
    "a file is larger than the limit",
    "Files from outside are untrusted. A limit on their size limits time and memory.",
    "Split the file, or remove what no rule needs.",
    Example("input-size", "5242881"),
)
