"""Codes for YAML: texts that are not YAML, and YAML that rule files must not use."""

from bylaw.model.codes import Code, Example


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
