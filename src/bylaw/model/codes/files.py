"""Codes for files: rule files, `bylaw.toml`, input, YAML, stored state, client configuration."""

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


UNSAFE_STATE_FOLDER = Code(
    "unsafe-state-folder",
    "the state folder is reached through a link",
    "A link in a repository must not make Bylaw read or write other files of the machine.",
    "Make `.bylaw/state` a folder of the repository, or remove the link: Bylaw creates the folder "
    "when it needs it.",
    Example("state-link", ".bylaw/state"),
)

BROKEN_SWITCHES = Code(
    "broken-switches",
    "the file of disabled rules cannot be read",
    "Bylaw then does not know which rules a person disabled, so all of them are enabled. It does "
    "not overwrite the file, since that would lose the contents.",
    "Fix or remove the file, then disable the rules again with `bylaw rules disable`.",
    Example("switches", '{"version": 1, "disabled": ["toml:rules/a.toml#a"]}'),
)

NEWER_SWITCHES = Code(
    "newer-switches",
    "the file of disabled rules was written by a newer Bylaw",
    "This version does not know the format, so all rules are enabled and the file is left as it "
    "is.",
    "Use the newer Bylaw in this folder.",
    Example("switches", '{"version": 2, "disabled": {}}'),
)


CLIENT_SETTINGS = Code(
    "client-settings",
    "the configuration of a coding agent cannot be edited",
    "Bylaw adds hooks to the client's own configuration file and leaves everything else in it "
    "unchanged. It does not touch a file that the client itself could not read, or that has "
    "something else where hooks belong.",
    "Fix the underlined text, then run `bylaw install` again.",
    Example("client-settings", '{\n  "hooks": []\n}\n'),
)


def _yaml(text: str) -> Example:
    return Example("yaml", text)


YAML_SYNTAX = Code(
    "yaml-syntax",
    "the text is not YAML",
    "A rule file is read completely before anything happens. YAML gives meaning to indentation, "
    "colons, dashes and brackets, so a small mistake can change the meaning.",
    "Fix the underlined place: check the indentation, close brackets and quotes, and quote a "
    "value that contains `: ` or ` #`.",
    _yaml("name: fix: lint\n"),
)
YAML_UNQUOTED = Code(
    "yaml-unquoted",
    "a value begins with a character that has a meaning in YAML",
    "In YAML `*` begins an alias, `&` an anchor, `!` a tag and `{` or `[` a collection; `@`, `%` "
    "and the backtick are reserved. A path pattern such as `**/*.py` is text only in quotes.",
    "Put the value in quotes.",
    _yaml("trigger: **/*.py\n"),
)
YAML_TAB = Code(
    "yaml-tab",
    "a tab is used as indentation",
    "YAML indents with spaces only, since a tab has no fixed width.",
    "Replace the tab with spaces.",
    _yaml("rule:\n\tname: lint\n"),
)
YAML_CHARACTER = Code(
    "yaml-character",
    "YAML does not allow the character",
    "Control characters and lone surrogates are not text. YAML readers disagree about the line "
    "breaks of other systems (U+0085, U+2028, U+2029), so they are rejected as well.",
    'Delete the character, or write it as an escape in double quotes, such as `"\\u2028"`.',
    _yaml("name: bell\x07\n"),
)
YAML_DUPLICATE_KEY = Code(
    "yaml-duplicate-key",
    "a mapping has the same key twice",
    "Many readers use the last value, and the first one is silently lost.",
    "Delete or rename one of the two.",
    _yaml("name: lint\nphase: 3\nname: format\n"),
)
YAML_ANCHOR = Code(
    "yaml-anchor",
    "the file has an anchor (`&name`)",
    "With anchors and aliases, a value depends on another place of the file. In rule files, every "
    "value is written at its place.",
    "Delete the anchor, or put the value in quotes if `&` belongs to it.",
    _yaml("name: &a lint\n"),
)
YAML_ALIAS = Code(
    "yaml-alias",
    "the file has an alias (`*name`)",
    "With anchors and aliases, a value depends on another place of the file, and few bytes can "
    "become gigabytes. In rule files, every value is written at its place.",
    "Write the value out, or put it in quotes if `*` belongs to it.",
    _yaml("name: *a\n"),
)
YAML_TAG = Code(
    "yaml-tag",
    "the file has a tag (`!name`)",
    "A tag tells the reader to build something other than text, number, list or mapping. Rule "
    "files contain plain values only.",
    "Delete the tag. Quote a value to make it text, or if `!` belongs to it.",
    _yaml("version: !!str 0.1\n"),
)
YAML_MERGE_KEY = Code(
    "yaml-merge-key",
    "the file has a merge key (`<<`)",
    "Merging belongs to an older version of YAML and hides where a value comes from.",
    'Write the keys out, or quote `"<<"` if it is a name.',
    _yaml("<<: {name: lint}\n"),
)
YAML_DIRECTIVE = Code(
    "yaml-directive",
    "the file has a directive (a line that begins with `%`)",
    "Directives change how the rest of the file is read. Rule files are always YAML 1.2.",
    "Delete the line.",
    _yaml("%YAML 1.1\n---\nname: lint\n"),
)
YAML_COMPLEX_KEY = Code(
    "yaml-complex-key",
    "a key is a list or a mapping",
    "Keys are names. No other format that Bylaw reads can have a collection as a key.",
    "Use a plain name as the key. Quote it if it contains brackets.",
    _yaml("{name}: lint\n"),
)
YAML_SEVERAL_DOCUMENTS = Code(
    "yaml-several-documents",
    "the text has more than one YAML document",
    "One text is one document, so that nothing after a `---` is ignored.",
    "Move the second document to a separate file.",
    _yaml("name: lint\n---\nname: format\n"),
)
YAML_EMPTY = Code(
    "yaml-empty",
    "the text has no YAML document",
    "It contains only blank lines and comments.",
    "Write the missing keys.",
    _yaml("# nothing yet\n"),
)
YAML_NUMBER = Code(
    "yaml-number",
    "a number is too large",
    "Numbers have a limited size, so that reading them takes limited time and none silently "
    "becomes infinite.",
    "Write a smaller number, or quote it if it is text.",
    _yaml("limit: 1e999\n"),
)
YAML_TOO_LARGE = Code(
    "yaml-too-large",
    "a YAML text is too long",
    "Files from outside are untrusted. A limit on their size limits time and memory.",
    "Split the file.",
    _yaml("# " + 40 * "a long text, " + "\n" + 2_000 * ("# " + 40 * "a long text, " + "\n")),
)
YAML_TOO_DEEP = Code(
    "yaml-too-deep",
    "lists and mappings are nested too deeply",
    "No rule needs such depth, and a reader of nested values needs a limit.",
    "Nest fewer values.",
    _yaml("[" * 65 + "]" * 65 + "\n"),
)
