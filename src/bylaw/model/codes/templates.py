"""Codes of templates: what is refused or doubtful at load, and what fails when one is rendered.

Those of rendering begin with `render-`; in a rule they are action errors.
"""

from bylaw.model.codes import Code, Example


def _template(text: str, facts: str = '{"context": {"turn": {"number": 7}}}') -> Example:
    return Example("template", text, facts)


TEMPLATE_SYNTAX = Code(
    "template-syntax",
    "the text is not a template",
    "Templates are read completely when their file is loaded, so that a slip of the pen is found "
    "before the first event.",
    "Mend the template at the underlined place; write `{{ '{{' }}` for braces that are text.",
    _template("at turn {{ context.turn.number"),
)
TEMPLATE_FORBIDDEN = Code(
    "template-forbidden",
    "a template uses what Bylaw does not offer",
    "Templates fill values into a text. Calls, definitions, assignments and other templates are "
    "left out: nothing in a template may run long, grow large or reach out of its values.",
    "Use values, filters, `if` and one level of `for`.",
    _template("{% set n = 1 %}{{ n }}"),
)
TEMPLATE_LOOP = Code(
    "template-loop",
    "a loop that is not simple",
    "A loop runs over a list that stands in the values, and no loop stands in another, so that the "
    "work is bounded by the size of the values.",
    "Loop over a path such as `context.history.messages`, or over a slice of it.",
    _template("{% for n in range(9) %}{{ n }}{% endfor %}"),
)
TEMPLATE_UNKNOWN_NAME = Code(
    "template-unknown-name",
    "a name that has no value in this template",
    "The names are a closed set, so that a misspelt one is found at load.",
    "Use a name that the help line offers.",
    _template("{{ contxt.turn.number }}"),
)
TEMPLATE_UNKNOWN_FILTER = Code(
    "template-unknown-filter",
    "a filter that Bylaw does not have",
    "Of Jinja's filters those are offered that give the same result every time and cannot make a "
    "text of any size.",
    "Use a filter that the help line offers.",
    _template("{{ context.turn.number | itn }}"),
)
TEMPLATE_UNKNOWN_TEST = Code(
    "template-unknown-test",
    "a test after `is` that Bylaw does not have",
    "The tests are a closed set, like the filters.",
    "Use a test that the help line offers.",
    _template("{% if context.turn is defned %}x{% endif %}"),
)
TEMPLATE_ARGUMENTS = Code(
    "template-arguments",
    "a filter or test is given arguments that it does not take",
    "Such a part would fail whenever it is rendered, so it is found at load.",
    "Give the arguments that the filter takes; the value before `|` is not one of them.",
    _template("{{ context.turn.number | round(1, 'floor', 2) }}"),
)
TEMPLATE_TOO_LONG = Code(
    "template-too-long",
    "a template is too long",
    "A limit on the length keeps the time to load it bounded.",
    "Shorten the text.",
    _template(2_000 * "a long text "),
)
TEMPLATE_TOO_DEEP = Code(
    "template-too-deep",
    "a template is nested too deeply",
    "Brackets, blocks and long chains of operators are nested values. A limit keeps every reader "
    "of templates from running out of stack.",
    "Make the template simpler.",
    _template("{{ " + "(" * 40 + "1" + ")" * 40 + " }}"),
)
TEMPLATE_NUMBER = Code(
    "template-number",
    "a number in a template is too large",
    "Numbers have a bounded size, so that counting with them takes bounded time.",
    "Write a smaller number.",
    _template("{{ " + "9" * 1500 + " }}"),
)
TEMPLATE_PRIVATE = Code(
    "template-private",
    "an attribute that begins with an underscore",
    "Templates see plain values, never what lies behind them. Such a part always fails when it is "
    "rendered.",
    "Delete it; write `context.state['_key']` for a key of that name.",
    _template("{{ ''.__class__.__mro__ }}"),
)
TEMPLATE_UNKNOWN_ATTRIBUTE = Code(
    "template-unknown-attribute",
    "an attribute that does not exist here",
    "What exists at this place is a closed set. Such a part always fails when it is rendered.",
    "Use an attribute that the help line offers, or `default` for what may be missing.",
    _template("{{ context.missing }}"),
)
RENDER_UNDEFINED = Code(
    "render-undefined",
    "a template reads a value that is not there",
    "An empty place in a message would hide a mistake, so nothing is rendered.",
    "Mend the name, or say what to use instead: `{{ context.user.id | default('nobody') }}`.",
    _template("for {{ context.user.id }}", '{"context": {"user": {"settings": {}}}}'),
)
RENDER_PRIVATE = Code(
    "render-private",
    "a template reaches for something private",
    "Templates see plain values, never what lies behind them. Nothing is rendered.",
    "Delete the part.",
    _template("{{ ''.__class__ }}"),
)
RENDER_TYPE = Code(
    "render-type",
    "a template uses a value as what it is not",
    "For example text as a number, or a number as a list. Nothing is rendered.",
    "Convert the value with a filter (`int`, `float`, `string`), or mend the rule that sets it.",
    _template("{{ context.turn.number + 'th' }}"),
)
RENDER_ARITHMETIC = Code(
    "render-arithmetic",
    "a calculation in a template has no result",
    "For example a division by zero. Nothing is rendered.",
    "Guard the calculation with `if`.",
    _template("{{ 1 / (context.turn.number - 7) }}"),
)
RENDER_TOO_LARGE = Code(
    "render-too-large",
    "a template would make a text, list or number that is too large",
    "Values come from outside. A limit on every result keeps time and memory bounded.",
    "Show a part of the value: `{{ context.result.result | truncate(200) }}`.",
    _template("{{ 'x' * 1000000000 }}"),
)
RENDER_BUDGET = Code(
    "render-budget",
    "rendering takes too many steps",
    "Values come from outside. A budget of steps keeps the time bounded.",
    "Loop over fewer elements, such as `context.history.messages[-5:]`.",
    _template(
        "{% for m in context.history.messages %}" + "{{ 1 and 1 }}" * 200 + "{% endfor %}",
        '{"context": {"history": {"messages": [' + ",".join("1" * 900) + "]}}}",
    ),
)
