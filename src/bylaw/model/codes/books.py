"""Codes for finding rule files and their languages."""

from bylaw.model.codes import Code, Example

UNKNOWN_DIALECT = Code(
    "unknown-dialect",
    "a rule language that this installation does not have",
    "Bylaw cannot know what a rule file denies without its language, so it decides nothing.",
    "Correct the name, or install the package that provides the language.",
    Example("configuration", '[[book]]\npath = "rules.x"\ndialect = "chatmdd"\n'),
)

UNRECOGNISED_FILE = Code(
    "unrecognised-file",
    "the language of a rule file cannot be determined",
    "The language follows from the end of the file name and, where several languages share it, "
    "from the text. Guessing could change what a rule does.",
    "Rename the file, or name its language in a `[[book]]` of `bylaw.toml`.",
    Example("rule-file", "rules.unknown"),
)

NO_RULE_FILES = Code(
    "no-rule-files",
    "a named folder contains no rule file",
    "Bylaw never continues without something that it was told to use.",
    "Check the spelling. A folder stands for the rule files directly in it, and for those that "
    "the convention finds below it.",
    Example("rule-folder", "rules"),
)

OUTSIDE_ROOT = Code(
    "outside-root",
    "a rule file of a repository is outside the repository",
    "A path or a link in a repository must not make Bylaw read, and show, other files of the "
    "machine.",
    "Copy the file into the repository, or name it on the command line.",
    Example("configuration", '[[book]]\npath = "../rules.chatmd"\n'),
)

OVERLOOKED_CHAT = Code(
    "overlooked-chat",
    "a ChatMD file is among the rules but in no book",
    "A ChatMD file is a conversation. The convention finds one at the top or in `prompts/`, where "
    "it governs only itself. It does not look for ChatMD files in `rules/`, `.bylaw/` and "
    "`.bylaw/rules/`.",
    "To let it govern every session, add it to a `[[book]]` of `bylaw.toml`. If it is a "
    "conversation, move it to `prompts/`.",
    Example("overlooked-chat", "rules/read-first.chatmd"),
)

KEPT_OLD_RULES = Code(
    "kept-old-rules",
    "rules that no longer load were not replaced",
    "A mistake while a rule file is edited must not disable the active rules.",
    "Fix the error, then load the rules again.",
    Example("reload", "discovr = false\n"),
)
