"""Codes of files that could not be taken in at all."""

from bylaw.model.codes import Code, Example

UNREADABLE_FILE = Code(
    "unreadable-file",
    "a file could not be read",
    "What was named is missing, is a folder, or may not be read. Bylaw never goes on without "
    "something that it was told to use.",
    "Check the spelling and the folder that you are in; a dash (`-`) reads standard input.",
    Example("input-path", "rules/missing.json"),
)

NOT_UTF8 = Code(
    "not-utf8",
    "a file is not UTF-8",
    "Rule files and facts are UTF-8 text. Guessing another encoding could change what a rule says.",
    "Save the file as UTF-8 in your editor, or convert it with `iconv -t utf-8`.",
    Example("input-bytes", '{"name": "caf\xe9"}\n'),
)

TOO_LARGE = Code(
    "too-large",
    "a file is larger than Bylaw reads",
    "Files from outside are untrusted; a limit on their size keeps time and memory bounded.",
    "Split the file, or leave out what no rule needs.",
    Example("input-size", "5242881"),
)
