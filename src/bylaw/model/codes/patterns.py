"""Codes of path patterns: what makes a pattern unusable."""

from __future__ import annotations

from bylaw.model.codes import Code, Example

EMPTY_PATTERN = Code(
    "empty-pattern",
    "a path pattern without any text",
    "It could match no path, so the rule that holds it would never apply.",
    "Write a path from the top of the repository, such as `src/**/*.py`.",
    Example("pattern", ""),
)
PATTERN_TOO_LONG = Code(
    "pattern-too-long",
    "a path pattern is longer than any path may be",
    "A path has at most 4,096 bytes; a longer pattern is a slip or an attack.",
    "Write a shorter pattern, or several.",
    Example("pattern", "src/" + "very-long-name-" * 280 + ".py"),
)
UNBALANCED_BRACE = Code(
    "unbalanced-brace",
    "a `{` without its `}`, or the reverse",
    "Braces hold a variable or alternatives; there is no way to write a literal brace.",
    "Add the missing brace, or take the other one away.",
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
    "A variable is an identifier: letters, digits and `_`, not beginning with a digit.",
    "Rename the variable; write `{*}` or `{**}` for a wildcard that captures nothing.",
    Example("pattern", "src/{my-var}.py"),
)
REPEATED_VARIABLE = Code(
    "repeated-variable",
    "one variable stands twice in a pattern",
    "Each variable has one value, captured in one place.",
    "Give the second place a name of its own.",
    Example("pattern", "{path}/{path}.py"),
)
ADJACENT_VARIABLES = Code(
    "adjacent-variables",
    "two variables without literal text between them",
    "Nothing would say where the first one ends and the second begins.",
    "Put literal text between them, such as `/`, `-` or `_`, or make them one.",
    Example("pattern", "{path}{name}.py"),
)
BAD_ALTERNATIVE = Code(
    "bad-alternative",
    "an alternative is empty or is not plain text, or there are too many",
    "Alternatives are at most 32 literal texts: no wildcards, no space or `/` at either end.",
    "Write the texts with a comma between them and nothing else: `{js,ts}`.",
    Example("pattern", "*.{js,}"),
)
UNSUPPORTED_PATTERN_SYNTAX = Code(
    "unsupported-pattern-syntax",
    "syntax of another pattern language",
    "`[`, `]`, `\\` and `!` at the start mean different things in different tools, "
    "and `**` has a meaning only as a whole segment.",
    "Use `*`, `?`, `**/`, `{js,ts}`, `{name}` and `{path}`.",
    Example("pattern", "src/[ab].py"),
)
CONTROL_CHARACTER_IN_PATTERN = Code(
    "control-character-in-pattern",
    "a line break, a tab or another invisible character in a pattern",
    "It cannot be seen and is nearly always an accident of quoting.",
    "Take it out; `?` matches any one character, also an invisible one.",
    Example("pattern", "src/a\tb.py"),
)
PATTERN_OUTSIDE_ROOT = Code(
    "pattern-outside-root",
    "a pattern that begins with `/` or has a segment `.` or `..`",
    "Patterns are matched against paths from the top of the repository, "
    "which have none of these, so it could never match.",
    "Write the path from the top of the repository, without `./` in front.",
    Example("pattern", "src/../etc/x.py"),
)
EMPTY_SEGMENT = Code(
    "empty-segment",
    "two `/` side by side, or one at the end",
    "Paths have no empty segments, so the pattern could never match.",
    "Take the second `/` away; for all that lies in a folder write `folder/**`.",
    Example("pattern", "src//a.py"),
)
TOO_MANY_WILDCARDS = Code(
    "too-many-wildcards",
    "a pattern has more than 8 wildcards",
    "The work of matching grows with each; real patterns have two or three.",
    "Use `**/` for any number of folders, or split the pattern.",
    Example("pattern", "*/*/*/*/*/*/*/*/*.py"),
)
UNRESOLVED_VARIABLE = Code(
    "unresolved-variable",
    "a pattern needs a value that the other pattern does not capture",
    "Every expected path must be computable from the file that changed. "
    "`{*}` and `{**}` stand for values that nobody captures.",
    "Use the variables of the trigger, or a glob, such as `*`, which any changed file may match.",
    Example("pattern-pair", "api/{path}.py\ndocs/{other}.md"),
)
DIFFERENT_VARIABLES = Code(
    "different-variables",
    "the patterns of a set do not have the same variables",
    "A change of any file of a set asks for all the others, so each pattern must give "
    "the values that the others need.",
    "Use the same variables in every pattern of the set.",
    Example("pattern-set", "src/{path}.py\ntests/{name}.py"),
)
