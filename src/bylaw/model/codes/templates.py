"""Codes for templates of TOML rules, and for path patterns.

Codes of rendering begin with `render-`. In a rule they are errors of an action.
"""

from __future__ import annotations

from bylaw.model.codes import Code, Example


def _template(text: str, facts: str = '{"context": {"turn": {"number": 7}}}') -> Example:
    return Example("template", text, facts)


TEMPLATE_SYNTAX = Code(
    "template-syntax",
    "the text is not a template",
    "Templates are read completely when their file is loaded, so that mistakes are found before "
    "the first event.",
    "Fix the template at the underlined place. Write `{{ '{{' }}` for braces that are text.",
    _template("at turn {{ context.turn.number"),
)
TEMPLATE_FORBIDDEN = Code(
    "template-forbidden",
    "a template uses a feature that Bylaw does not offer",
    "Templates fill values into a text. Calls, definitions, assignments and other templates are "
    "not available: a template must not run long, grow large or access anything but its values.",
    "Use values, filters, `if` and one level of `for`.",
    _template("{% set n = 1 %}{{ n }}"),
)
TEMPLATE_LOOP = Code(
    "template-loop",
    "a loop is not simple enough",
    "A loop runs over a list in the values, and loops cannot be nested, so that the work is "
    "limited by the size of the values.",
    "Loop over a path such as `context.history.messages`, or over a slice of it.",
    _template("{% for n in range(9) %}{{ n }}{% endfor %}"),
)
TEMPLATE_UNKNOWN_NAME = Code(
    "template-unknown-name",
    "a name that has no value in this template",
    "The names are a closed set, so that a misspelt name is found at load.",
    "Use a name from the help line.",
    _template("{{ contxt.turn.number }}"),
)
TEMPLATE_UNKNOWN_FILTER = Code(
    "template-unknown-filter",
    "Bylaw does not have the filter",
    "Bylaw offers those of Jinja's filters that always give the same result and cannot make a "
    "text of unlimited size.",
    "Use a filter from the help line.",
    _template("{{ context.turn.number | itn }}"),
)
TEMPLATE_UNKNOWN_TEST = Code(
    "template-unknown-test",
    "Bylaw does not have the test after `is`",
    "The tests are a closed set, like the filters.",
    "Use a test from the help line.",
    _template("{% if context.turn is defned %}x{% endif %}"),
)
TEMPLATE_ARGUMENTS = Code(
    "template-arguments",
    "a filter or test has arguments that it does not accept",
    "Such a part would fail whenever it is rendered, so it is found at load.",
    "Use the arguments of the filter. The value before `|` is not one of them.",
    _template("{{ context.turn.number | round(1, 'floor', 2) }}"),
)
TEMPLATE_TOO_LONG = Code(
    "template-too-long",
    "a template is too long",
    "A limit on the length limits the time to load it.",
    "Shorten the text.",
    _template(2_000 * "a long text "),
)
TEMPLATE_TOO_DEEP = Code(
    "template-too-deep",
    "a template is nested too deeply",
    "Brackets, blocks and long chains of operators are nested values. A limit prevents readers of "
    "templates from overflowing the stack.",
    "Make the template simpler.",
    _template("{{ " + "(" * 40 + "1" + ")" * 40 + " }}"),
)
TEMPLATE_NUMBER = Code(
    "template-number",
    "a number in a template is too large",
    "Numbers have a limited size, so that computing with them takes limited time.",
    "Write a smaller number.",
    _template("{{ " + "9" * 1500 + " }}"),
)
TEMPLATE_PRIVATE = Code(
    "template-private",
    "an attribute that begins with an underscore",
    "Templates can only read plain values, not the objects of the interpreter. Such a part always "
    "fails when it is rendered.",
    "Delete it. Write `context.state['_key']` for a key of that name.",
    _template("{{ ''.__class__.__mro__ }}"),
)
TEMPLATE_UNKNOWN_ATTRIBUTE = Code(
    "template-unknown-attribute",
    "an attribute does not exist here",
    "The attributes at this place are a closed set. Such a part always fails when it is rendered.",
    "Use an attribute from the help line, or `default` for a value that may be missing.",
    _template("{{ context.missing }}"),
)
RENDER_UNDEFINED = Code(
    "render-undefined",
    "a template reads a value that does not exist",
    "An empty place in a message would hide a mistake, so nothing is rendered.",
    "Correct the name, or give a default: `{{ context.user.id | default('nobody') }}`.",
    _template("for {{ context.user.id }}", '{"context": {"user": {"settings": {}}}}'),
)
RENDER_PRIVATE = Code(
    "render-private",
    "a template reads a private attribute",
    "Templates can only read plain values, not the objects of the interpreter. Nothing is "
    "rendered.",
    "Delete the part.",
    _template("{{ ''.__class__ }}"),
)
RENDER_TYPE = Code(
    "render-type",
    "a template uses a value as another type",
    "For example, it uses text as a number, or a number as a list. Nothing is rendered.",
    "Convert the value with a filter (`int`, `float`, `string`), or change the rule that sets it.",
    _template("{{ context.turn.number + 'th' }}"),
)
RENDER_ARITHMETIC = Code(
    "render-arithmetic",
    "a calculation in a template has no result",
    "For example, it divides by zero. Nothing is rendered.",
    "Check the values with `if` before the calculation.",
    _template("{{ 1 / (context.turn.number - 7) }}"),
)
RENDER_TOO_LARGE = Code(
    "render-too-large",
    "a template would make a text, list or number that is too large",
    "Values come from outside. A limit on every result limits time and memory.",
    "Show a part of the value: `{{ context.result.result | truncate(200) }}`.",
    _template("{{ 'x' * 1000000000 }}"),
)
RENDER_BUDGET = Code(
    "render-budget",
    "rendering takes too many steps",
    "Values come from outside. A budget of steps limits the time.",
    "Loop over fewer elements, such as `context.history.messages[-5:]`.",
    _template(
        "{% for m in context.history.messages %}" + "{{ 1 and 1 }}" * 200 + "{% endfor %}",
        '{"context": {"history": {"messages": [' + ",".join("1" * 900) + "]}}}",
    ),
)


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
