"""Codes of YAML texts: what is no YAML at all, and what the profile of rule files leaves out."""

from bylaw.model.codes import Code, Example


def _yaml(text: str) -> Example:
    return Example("yaml", text)


YAML_SYNTAX = Code(
    "yaml-syntax",
    "the text is not YAML",
    "A rule file is read completely before anything happens. YAML gives meaning to indentation, "
    "colons, dashes and brackets, so a small slip can change what a text says.",
    "Mend the underlined place: check the indentation, close brackets and quotes, and put a value "
    "in quotes if it holds `: ` or ` #`.",
    _yaml("name: fix: lint\n"),
)
YAML_UNQUOTED = Code(
    "yaml-unquoted",
    "a value begins with a character that means something in YAML",
    "In YAML `*` begins an alias, `&` an anchor, `!` a tag and `{` or `[` a collection; `@`, `%` "
    "and the backtick are reserved. A path pattern such as `**/*.py` is text only in quotes.",
    "Put the value in quotes.",
    _yaml("trigger: **/*.py\n"),
)
YAML_TAB = Code(
    "yaml-tab",
    "a tab is used as indentation",
    "YAML indents with spaces only, since a tab has no fixed width.",
    "Replace the tab by spaces.",
    _yaml("rule:\n\tname: lint\n"),
)
YAML_CHARACTER = Code(
    "yaml-character",
    "a character that YAML text may not hold",
    "Control characters and unpaired surrogates are not text. The line breaks of other systems "
    "(U+0085, U+2028, U+2029) are taken in two ways by readers of YAML, so they are refused too.",
    'Delete the character, or write it as an escape in double quotes, such as `"\\u2028"`.',
    _yaml("name: bell\x07\n"),
)
YAML_DUPLICATE_KEY = Code(
    "yaml-duplicate-key",
    "a mapping has the same key twice",
    "Many readers let the last one win, and what was written first is lost without a word.",
    "Delete or rename one of the two.",
    _yaml("name: lint\nphase: 3\nname: format\n"),
)
YAML_ANCHOR = Code(
    "yaml-anchor",
    "an anchor (`&name`)",
    "Anchors and aliases make a value depend on another place of the file. Rule files say "
    "everything where it stands.",
    "Delete the anchor, or put the value in quotes if `&` belongs to it.",
    _yaml("name: &a lint\n"),
)
YAML_ALIAS = Code(
    "yaml-alias",
    "an alias (`*name`)",
    "Anchors and aliases make a value depend on another place of the file, and few bytes can "
    "stand for gigabytes. Rule files say everything where it stands.",
    "Write the value out, or put it in quotes if `*` belongs to it.",
    _yaml("name: *a\n"),
)
YAML_TAG = Code(
    "yaml-tag",
    "a tag (`!name`)",
    "A tag asks the reader to build something else than text, number, list or mapping. Rule files "
    "hold plain values only.",
    "Delete the tag; put a value in quotes to make it text, or if `!` belongs to it.",
    _yaml("version: !!str 0.1\n"),
)
YAML_MERGE_KEY = Code(
    "yaml-merge-key",
    "a merge key (`<<`)",
    "Merging belongs to an older version of YAML and hides where a value comes from.",
    'Write the keys out, or quote `"<<"` if it is a name.',
    _yaml("<<: {name: lint}\n"),
)
YAML_DIRECTIVE = Code(
    "yaml-directive",
    "a directive (a line that begins with `%`)",
    "Directives change how the rest of the file is read. Rule files are always YAML 1.2.",
    "Delete the line.",
    _yaml("%YAML 1.1\n---\nname: lint\n"),
)
YAML_COMPLEX_KEY = Code(
    "yaml-complex-key",
    "a key that is a list or a mapping",
    "Keys are names. A collection as a key cannot be written in any other format that Bylaw reads.",
    "Use a plain name as the key; put it in quotes if it holds brackets.",
    _yaml("{name}: lint\n"),
)
YAML_SEVERAL_DOCUMENTS = Code(
    "yaml-several-documents",
    "more than one YAML document",
    "One text is one document, so that nothing after a `---` is overlooked.",
    "Put the second document in a file of its own.",
    _yaml("name: lint\n---\nname: format\n"),
)
YAML_EMPTY = Code(
    "yaml-empty",
    "no YAML document",
    "There is nothing but blank lines and comments here.",
    "Write the keys that belong here.",
    _yaml("# nothing yet\n"),
)
YAML_NUMBER = Code(
    "yaml-number",
    "a number that is too large",
    "Numbers have a bounded size, so that reading them takes bounded time and none becomes "
    "infinite without a word.",
    "Write a smaller number, or put it in quotes if it is text.",
    _yaml("limit: 1e999\n"),
)
YAML_TOO_LARGE = Code(
    "yaml-too-large",
    "a YAML text that is too long",
    "Files from outside are untrusted; a limit on their size keeps time and memory bounded.",
    "Split the file.",
    _yaml("# " + 40 * "a long text, " + "\n" + 2_000 * ("# " + 40 * "a long text, " + "\n")),
)
YAML_TOO_DEEP = Code(
    "yaml-too-deep",
    "lists and mappings are nested too deeply",
    "No rule needs such depth, and a reader of nested values must stop somewhere.",
    "Make the structure flatter.",
    _yaml("[" * 65 + "]" * 65 + "\n"),
)
