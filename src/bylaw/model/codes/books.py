"""Codes of finding rule files and their languages."""

from bylaw.model.codes import Code, Example

UNKNOWN_DIALECT = Code(
    "unknown-dialect",
    "rules in a language that this installation does not know",
    "What a rule file would deny cannot be known without its language, so nothing is decided.",
    "Correct the name, or install the package that brings the language.",
    Example("configuration", '[[book]]\npath = "rules.x"\ndialect = "chatmdd"\n'),
)

UNRECOGNISED_FILE = Code(
    "unrecognised-file",
    "it cannot be told in which language a rule file is written",
    "The language follows from the end of the file name and, where several languages share it, "
    "from the text. Guessing could change what a rule says.",
    "Rename the file, or name its language in a `[[book]]` of `bylaw.toml`.",
    Example("rule-file", "rules.unknown"),
)

NO_RULE_FILES = Code(
    "no-rule-files",
    "a folder that was named holds no rule file",
    "Bylaw never goes on without something that it was told to use.",
    "Check the spelling; a folder stands for the rule files directly in it and for those that the "
    "convention finds below it.",
    Example("rule-folder", "rules"),
)

OUTSIDE_ROOT = Code(
    "outside-root",
    "a rule file of a repository lies outside of it",
    "A path or a link in a repository must not make Bylaw read, and show, other files of the "
    "machine.",
    "Copy the file into the repository, or name it on the command line.",
    Example("configuration", '[[book]]\npath = "../rules.chatmd"\n'),
)

OVERLOOKED_CHAT = Code(
    "overlooked-chat",
    "a ChatMD file lies among the rules and is in no book",
    "A ChatMD file is a conversation, so the convention finds one at the top or in `prompts/` and "
    "lets it govern itself alone. In `rules/`, `.bylaw/` and `.bylaw/rules/` nobody finds it.",
    "Name it in a `[[book]]` of `bylaw.toml`: then it governs every session. If it is a "
    "conversation, put it into `prompts/`.",
    Example("overlooked-chat", "rules/read-first.chatmd"),
)

KEPT_OLD_RULES = Code(
    "kept-old-rules",
    "rules that were loaded again and do not load any more stay as they were",
    "A slip while a rule file is edited must not switch off what was in force.",
    "Mend what is wrong, then load the rules again.",
    Example("reload", "discovr = false\n"),
)
