"""Codes for templates: errors and warnings at load, and errors of rendering.

Codes of rendering begin with `render-`. In a rule they are errors of an action.
"""

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
