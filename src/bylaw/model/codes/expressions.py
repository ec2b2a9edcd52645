"""Codes for expressions: errors at load, warnings at load, and errors of evaluation.

`bylaw expr` prints errors at load with `load-` before the name. Codes of evaluation begin with
`guard-`.
"""

from bylaw.model.codes import Code, Example


def _guard(text: str, facts: str = "{}") -> Example:
    return Example("guard", text, facts)


def _condition(text: str, facts: str = "{}") -> Example:
    return Example("condition", text, facts)


EXPRESSION_SYNTAX = Code(
    "expression-syntax",
    "the text is not an expression",
    "An expression is read completely when its file is loaded, so that mistakes are found before "
    "the first event.",
    "Fix the expression at the underlined place.",
    _guard("turn_index >"),
)
UNTERMINATED_TEXT = Code(
    "unterminated-text",
    "a text literal has no closing quote",
    "A text begins and ends with the same quote, `'` or `\"`.",
    "Add the closing quote. Around a text that contains one kind of quote, use the other kind.",
    _guard("last_role == 'user"),
)
UNKNOWN_ESCAPE = Code(
    "unknown-escape",
    "a backslash begins an unknown escape",
    "In a text of the guard language the escapes are `\\\\`, `\\'`, `\\\"`, `\\n`, `\\r`, `\\t` "
    "and `\\uXXXX`. Others are rejected, since two readers could understand them differently.",
    "Write `\\\\` for a backslash.",
    _guard(r"text_contains('\d', 'last_user')"),
)
MALFORMED_NUMBER = Code(
    "malformed-number",
    "a number is not in the format of the language",
    "Numbers are decimal digits, with an optional fraction and exponent, and have a limited size.",
    "Write the plain number, such as `1000` or `0.5`.",
    _guard("context_tokens > 1_000"),
)
UNSUPPORTED_OPERATOR = Code(
    "unsupported-operator",
    "this language does not have the operator",
    "The set of operators is closed, so that every guard means the same to every reader.",
    "Use the operator that the help line names.",
    _guard("turn_index > 1 && context_tokens > 10"),
)
UNSUPPORTED_SYNTAX = Code(
    "unsupported-syntax",
    "this language does not have the construct",
    "Expressions see plain values only. They cannot define, assign, unpack or call anything that "
    "is not declared. The language has only what decisions need.",
    "Use the operators and functions of the language.",
    _condition("(lambda: 1)() == 1"),
)
ASSIGNMENT = Code(
    "assignment",
    "an assignment is used as a condition",
    "`a = 3` is nearly always a typing error for `a == 3`. As a value it would be true for every "
    "event.",
    "Write `==` to compare.",
    _condition("context.turn.number = 3"),
)
SEVERAL_EXPRESSIONS = Code(
    "several-expressions",
    "one text has more than one expression",
    "A condition is one expression. Of several, all but one would be ignored.",
    "Join them with `and` or `or`.",
    _condition("context.turn.number > 3; True"),
)
CHAINED_COMPARISON = Code(
    "chained-comparison",
    "comparisons cannot be chained",
    "`1 < x < 3` means different things in different languages, so the guard language rejects it.",
    "Write two comparisons joined with `and`.",
    _guard("1 < turn_index < 3"),
)
UNCERTAIN_IDENTITY = Code(
    "uncertain-identity",
    "`is` compares with something other than `None`, `True` or `False`",
    "Whether two equal numbers or texts are the same object depends on the interpreter.",
    "Use `==` or `!=`.",
    _condition("context.user.id is 'u1'"),
)
UNKNOWN_NAME = Code(
    "unknown-name",
    "a name that is not declared",
    "Names are a closed set: a misspelt variable would otherwise make a rule that never fires.",
    "Use one of the declared names, or declare the variable (in ChatMD with `<set>`).",
    _guard("trun_index > 1"),
)
UNKNOWN_FUNCTION = Code(
    "unknown-function",
    "this language does not have the function",
    "The set of functions is closed, and no function can access the machine.",
    "Use one of the functions of the language.",
    _guard("not ever_caled('Y')"),
)
UNKNOWN_ATTRIBUTE = Code(
    "unknown-attribute",
    "the value does not have the attribute",
    "Expressions read values of a declared shape. So a misspelt attribute is found at load, and "
    "not by a rule that silently never fires.",
    "Use one of the attributes that the help line names.",
    _condition("context.turn.nope > 1"),
)
UNKNOWN_METHOD = Code(
    "unknown-method",
    "this language does not have the method",
    "The set of methods is closed, and no method changes its object.",
    "Use one of the methods of the language.",
    _condition("context.user.id.format(1) == ''"),
)
PRIVATE_NAME = Code(
    "private-name",
    "a name that begins with an underscore",
    "Names with a leading underscore belong to the interpreter, not to the values of rules.",
    "Read a declared value instead.",
    _condition("context.__class__ == 1"),
)
WRONG_ARGUMENTS = Code(
    "wrong-arguments",
    "a function or method is called with the wrong arguments",
    "The number of arguments and the names of keyword arguments are fixed.",
    "Call it as the help line shows.",
    _guard("ever_called()"),
)
LITERAL_NEEDED = Code(
    "literal-needed",
    "an argument must be a text literal",
    "The argument is checked when the file is loaded, so it cannot be computed.",
    "Write the text itself, in quotes.",
    _guard("tokens(last_role) > 1"),
)
UNKNOWN_CHOICE = Code(
    "unknown-choice",
    "an argument is not one of the allowed texts",
    "The allowed texts are a closed list.",
    "Use one of the listed texts.",
    _guard("tokens('last_tool') > 1"),
)
UNSUPPORTED_JSONPATH = Code(
    "unsupported-jsonpath",
    "a JSONPath could have no or several results",
    "Only the root `$`, members and indexes are allowed, so that the path names exactly one value.",
    'Name the value: `$.a.b[0]` or `$["a"]`.',
    _guard("jsonpath('$..*') == 1"),
)
UNKNOWN_RULE = Code(
    "unknown-rule",
    "no rule of this file has that id",
    "`since_ms` of a rule that does not exist would always be infinite.",
    "Use the id of a rule of the same file.",
    Example("guard-in-file", "since_ms('nosuch') > 5000"),
)
NO_CALL_HERE = Code(
    "no-call-here",
    "a rule reads the arguments of a call at an event without a call",
    "The value could never exist, so the rule could never work.",
    "Use `pre_tool_call` or `post_tool_response`, or another value.",
    _guard("arg('path') == 'x'", '{"event": {"name": "turn_end"}}'),
)
TIME_OUTSIDE_COMPARISON = Code(
    "time-outside-comparison",
    "time is used for something other than a cool-down comparison",
    "`now()` and `since_ms()` are allowed only in a comparison, with numbers, `+` and `-`. Other "
    "uses would make decisions depend on the clock in ways that are hard to see.",
    "Compare it: `since_ms('rule') >= 5000`.",
    _guard("now() % 2 == 0"),
)
EXPRESSION_TOO_LONG = Code(
    "expression-too-long",
    "the expression is too long",
    "A limit on the text limits the work of reading and running it.",
    "Split it into several rules.",
    Example("guard", "true or " * 1200 + "true"),
)
EXPRESSION_TOO_DEEP = Code(
    "expression-too-deep",
    "the expression is nested too deeply",
    "A limit on the nesting limits the work of reading and running it.",
    "Split it into several rules, or remove unnecessary parentheses.",
    Example("guard", "(" * 60 + "true" + ")" * 60),
)
CERTAIN_TYPE_ERROR = Code(
    "certain-type-error",
    "an operation that will fail for every event",
    "The types of the values are known at load, and the operation is not defined for them. The "
    "file still loads, since the language says what happens when a guard fails, but this is "
    "probably a mistake.",
    "Compare or compute values of the same type.",
    _guard("last_role < 1"),
)
NOT_BOOLEAN = Code(
    "not-boolean",
    "a rule's condition is never true or false",
    "A guard must be a boolean. No other value counts as true.",
    "Compare the value with something.",
    Example("guard-of-rule", "turn_index"),
)
KEY_LIKE_METHOD = Code(
    "key-like-method",
    "an attribute has the name of a method but is not called",
    "On a map it reads the key of that name. Other evaluators would return the method.",
    'Write `["items"]` for the key, or `.items()` for the method.',
    _condition("context.event.payload.items == 1"),
)
BAD_FACTS = Code(
    "bad-facts",
    "the facts do not have the shape that expressions read",
    "What an expression reads has a declared shape. A misspelt fact would be read as missing.",
    "Fix the facts as the headline says. All of them are optional.",
    _guard("true", '{"turn_indx": 3}'),
)

GUARD_TYPE = Code(
    "guard-type",
    "the operation is not defined for the types of its values",
    "Values are not converted silently: a text is not a number, and null is not false.",
    "Test for the type or for null first, or compare with a value of the same type.",
    _guard("arg('n') < 3", '{"event": {"tool": {"args": {"n": "x"}}}}'),
)
GUARD_ARITHMETIC = Code(
    "guard-arithmetic",
    "arithmetic that has no result",
    "Division by zero, an overflow or a complex result is a guard error, never a crash.",
    "Test the divisor first.",
    _guard("1 / (turn_index - 1) == 0", '{"turn_index": 1}'),
)
GUARD_TOO_LARGE = Code(
    "guard-too-large",
    "a number, text or list exceeds its limit",
    "Every value that an expression makes is limited, so that no rule can exhaust the machine.",
    "Compute with smaller values.",
    _condition("9**9**9 > 1"),
)
GUARD_BUDGET = Code(
    "guard-budget",
    "the evaluation took too many steps",
    "Every evaluation has a budget of steps, so that no rule can delay an agent for long.",
    "Loop over fewer elements.",
    _condition(
        "any(a.role == b.role and c.role for a in context.history.messages "
        "for b in context.history.messages for c in context.history.messages)",
        '{"context": {"history": {"messages": ['
        + ",".join(['{"role": "user", "content": "x"}'] * 200)
        + "]}}}",
    ),
)
GUARD_MISSING = Code(
    "guard-missing",
    "a key or an index does not exist",
    "A missing value is an error, not accidentally false.",
    "Use `.get(key, default)`, or test with `in` first.",
    _condition("context.event.payload.nope > 1", '{"context": {"event": {"payload": {}}}}'),
)
GUARD_VALUE = Code(
    "guard-value",
    "a function has no result for this value",
    "`int('x')` or `min([])` have no result.",
    "Test the value first.",
    _condition("int(context.user.id) == 3", '{"context": {"user": {"id": "x"}}}'),
)
GUARD_NOT_BOOLEAN = Code(
    "guard-not-boolean",
    "the value of a rule's condition is neither true nor false",
    "No other value counts as true: a guard that returns a number or a text is a mistake.",
    "Compare the value with something.",
    Example("guard-of-rule", "arg('n')", '{"event": {"tool": {"args": {"n": 5}}}}'),
)
