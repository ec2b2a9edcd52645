"""Codes for path patterns."""

from __future__ import annotations

from bylaw.model.codes import Code, Example

EMPTY_PATTERN = Code(
    "empty-pattern",
    "a path pattern is empty",
    "It could match no path, so its rule would never apply.",
    "Write a path from the top of the repository, such as `src/**/*.py`.",
    Example("pattern", ""),
)
PATTERN_TOO_LONG = Code(
    "pattern-too-long",
    "a path pattern is longer than any path can be",
    "A path has at most 4,096 bytes. A longer pattern is a mistake or an attack.",
    "Write a shorter pattern, or several.",
    Example("pattern", "src/" + "very-long-name-" * 280 + ".py"),
)
UNBALANCED_BRACE = Code(
    "unbalanced-brace",
    "a `{` without its `}`, or a `}` without its `{`",
    "Braces enclose a variable or alternatives. A pattern cannot contain a literal brace.",
    "Add the missing brace, or remove the other one.",
    Example("pattern", "src/{path.py"),
)
NESTED_BRACE = Code(
    "nested-brace",
    "braces inside braces",
    "Alternatives are plain texts, and a variable is a name.",
    "Write one flat list, such as `{a,b,c}`, or several patterns.",
    Example("pattern", "src/{a,{b,c}}.py"),
)
INVALID_VARIABLE_NAME = Code(
    "invalid-variable-name",
    "the text in braces is not a name",
    "A variable is an identifier: letters, digits and `_`, and no digit at the start.",
    "Rename the variable; write `{*}` or `{**}` for a wildcard that captures nothing.",
    Example("pattern", "src/{my-var}.py"),
)
REPEATED_VARIABLE = Code(
    "repeated-variable",
    "a pattern has the same variable twice",
    "Each variable has one value, captured in one place.",
    "Give the second place a name of its own.",
    Example("pattern", "{path}/{path}.py"),
)
ADJACENT_VARIABLES = Code(
    "adjacent-variables",
    "two variables without literal text between them",
    "It would be unclear where the first one ends and the second begins.",
    "Put literal text between them, such as `/`, `-` or `_`, or use one variable.",
    Example("pattern", "{path}{name}.py"),
)
BAD_ALTERNATIVE = Code(
    "bad-alternative",
    "an alternative is empty or not plain text, or there are too many",
    "Alternatives are at most 32 literal texts: no wildcards, no space or `/` at either end.",
    "Separate the texts by commas and add nothing else: `{js,ts}`.",
    Example("pattern", "*.{js,}"),
)
UNSUPPORTED_PATTERN_SYNTAX = Code(
    "unsupported-pattern-syntax",
    "a pattern has syntax of another pattern language",
    "`[`, `]`, `\\` and `!` at the start mean different things in different tools, "
    "and `**` has a meaning only as a whole segment.",
    "Use `*`, `?`, `**/`, `{js,ts}`, `{name}` and `{path}`.",
    Example("pattern", "src/[ab].py"),
)
CONTROL_CHARACTER_IN_PATTERN = Code(
    "control-character-in-pattern",
    "a pattern has a line break, a tab or another invisible character",
    "It cannot be seen, and is nearly always a quoting mistake.",
    "Remove it. `?` matches any one character, including an invisible one.",
    Example("pattern", "src/a\tb.py"),
)
PATTERN_OUTSIDE_ROOT = Code(
    "pattern-outside-root",
    "a pattern begins with `/` or has a segment `.` or `..`",
    "Patterns match paths from the top of the repository, which contain none of these, so it "
    "could never match.",
    "Write the path from the top of the repository, without `./` at the start.",
    Example("pattern", "src/../etc/x.py"),
)
EMPTY_SEGMENT = Code(
    "empty-segment",
    "a pattern has two `/` in a row, or one at the end",
    "Paths have no empty segments, so the pattern could never match.",
    "Remove the extra `/`. For everything in a folder write `folder/**`.",
    Example("pattern", "src//a.py"),
)
TOO_MANY_WILDCARDS = Code(
    "too-many-wildcards",
    "a pattern has more than 8 wildcards",
    "Each wildcard makes matching more expensive. Real patterns have two or three.",
    "Use `**/` for any number of folders, or split the pattern.",
    Example("pattern", "*/*/*/*/*/*/*/*/*.py"),
)
UNRESOLVED_VARIABLE = Code(
    "unresolved-variable",
    "a pattern needs a value that the other pattern does not capture",
    "It must be possible to compute every expected path from the changed file. `{*}` and `{**}` "
    "capture no value.",
    "Use the variables of the trigger, or a glob such as `*`, which any changed file can match.",
    Example("pattern-pair", "api/{path}.py\ndocs/{other}.md"),
)
DIFFERENT_VARIABLES = Code(
    "different-variables",
    "the patterns of a set do not have the same variables",
    "A change of any file of a set requires changes of all the others, so each pattern must "
    "provide the values that the others need.",
    "Use the same variables in every pattern of the set.",
    Example("pattern-set", "src/{path}.py\ntests/{name}.py"),
)
