"""Codes of expressions: what is refused at load, what is doubtful, what fails in evaluation.

`bylaw expr` prints the first sort with `load-` before the name; the last begin with `guard-`.
"""

from bylaw.model.codes import Code, Example


def _guard(text: str, facts: str = "{}") -> Example:
    return Example("guard", text, facts)


def _condition(text: str, facts: str = "{}") -> Example:
    return Example("condition", text, facts)


EXPRESSION_SYNTAX = Code(
    "expression-syntax",
    "the text is not an expression",
    "An expression is read completely when its file is loaded, so that a slip of the pen is found "
    "before the first event and not when it matters.",
    "Mend the expression at the underlined place.",
    _guard("turn_index >"),
)
UNTERMINATED_TEXT = Code(
    "unterminated-text",
    "a text literal has no closing quote",
    "A text begins and ends with the same quote, `'` or `\"`.",
    "Add the closing quote, or use the other kind of quote around a text that holds one.",
    _guard("last_role == 'user"),
)
UNKNOWN_ESCAPE = Code(
    "unknown-escape",
    "a backslash is followed by a character that has no meaning there",
    "In a text of the guard language the escapes are `\\\\`, `\\'`, `\\\"`, `\\n`, `\\r`, `\\t` "
    "and `\\uXXXX`. Others are refused, since two readers could take them in two ways.",
    "Write `\\\\` for a backslash.",
    _guard(r"text_contains('\d', 'last_user')"),
)
MALFORMED_NUMBER = Code(
    "malformed-number",
    "a number is not written as the language writes numbers",
    "Numbers are decimal digits, with an optional fraction and exponent, and of a bounded size.",
    "Write the plain number, such as `1000` or `0.5`.",
    _guard("context_tokens > 1_000"),
)
UNSUPPORTED_OPERATOR = Code(
    "unsupported-operator",
    "an operator that this language does not have",
    "The set of operators is closed, so that every guard means the same to every reader.",
    "Use the operator that the help line names.",
    _guard("turn_index > 1 && context_tokens > 10"),
)
UNSUPPORTED_SYNTAX = Code(
    "unsupported-syntax",
    "a construct that this language does not have",
    "Expressions see plain values only and cannot define, assign, unpack or call anything that is "
    "not declared. What is not needed for a decision is left out.",
    "Say it with the operators and functions of the language.",
    _condition("(lambda: 1)() == 1"),
)
ASSIGNMENT = Code(
    "assignment",
    "an assignment stands where a condition is expected",
    "`a = 3` is nearly always a slip for `a == 3`; taken as a value it would hold for every event.",
    "Write `==` to compare.",
    _condition("context.turn.number = 3"),
)
SEVERAL_EXPRESSIONS = Code(
    "several-expressions",
    "more than one expression in one text",
    "A condition is one expression; with several, all but one would be ignored.",
    "Join them with `and` or `or`.",
    _condition("context.turn.number > 3; True"),
)
CHAINED_COMPARISON = Code(
    "chained-comparison",
    "comparisons do not chain",
    "`1 < x < 3` means different things in different languages; the guard language refuses it.",
    "Write two comparisons joined with `and`.",
    _guard("1 < turn_index < 3"),
)
UNCERTAIN_IDENTITY = Code(
    "uncertain-identity",
    "`is` compares with something other than `None`, `True` or `False`",
    "Whether two equal numbers or texts are the same object is an accident of the interpreter.",
    "Use `==` or `!=`.",
    _condition("context.user.id is 'u1'"),
)
UNKNOWN_NAME = Code(
    "unknown-name",
    "a name that is not declared",
    "Names are closed: a misspelt variable would otherwise make a rule that never fires.",
    "Use one of the declared names, or declare the variable (in ChatMD with `<set>`).",
    _guard("trun_index > 1"),
)
UNKNOWN_FUNCTION = Code(
    "unknown-function",
    "a function that this language does not have",
    "The set of functions is closed and none of them reaches the machine.",
    "Use one of the functions of the language.",
    _guard("not ever_caled('Y')"),
)
UNKNOWN_ATTRIBUTE = Code(
    "unknown-attribute",
    "an attribute that the value does not have",
    "The shape of what an expression can read is declared, so a misspelt attribute is found at "
    "load and not by a rule that silently never fires.",
    "Use one of the attributes that the help line names.",
    _condition("context.turn.nope > 1"),
)
UNKNOWN_METHOD = Code(
    "unknown-method",
    "a method that this language does not have",
    "The set of methods is closed; none of them changes its object.",
    "Use one of the methods of the language.",
    _condition("context.user.id.format(1) == ''"),
)
PRIVATE_NAME = Code(
    "private-name",
    "a name that begins with an underscore",
    "Names with a leading underscore lead into the interpreter and not to a value of the rules.",
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
    "an argument must be written out as a text",
    "What this argument names is checked when the file is loaded, so it cannot be computed.",
    "Write the text itself, in quotes.",
    _guard("tokens(last_role) > 1"),
)
UNKNOWN_CHOICE = Code(
    "unknown-choice",
    "an argument is none of the texts that are possible here",
    "The possible texts are a closed list.",
    "Use one of the listed texts.",
    _guard("tokens('last_tool') > 1"),
)
UNSUPPORTED_JSONPATH = Code(
    "unsupported-jsonpath",
    "a JSONPath that can have other than one result",
    "Only the root `$`, members and indexes are allowed, so that the path names exactly one value.",
    'Name the value: `$.a.b[0]` or `$["a"]`.',
    _guard("jsonpath('$..*') == 1"),
)
UNKNOWN_RULE = Code(
    "unknown-rule",
    "no rule of this file has that id",
    "`since_ms` of a rule that does not exist would be infinite for ever.",
    "Use the id of a rule of the same file.",
    Example("guard-in-file", "since_ms('nosuch') > 5000"),
)
NO_CALL_HERE = Code(
    "no-call-here",
    "the arguments of a call are read at an event that has no call",
    "The value could never be there, so the rule could never mean what it says.",
    "Use `pre_tool_call` or `post_tool_response`, or another value.",
    _guard("arg('path') == 'x'", '{"event": {"name": "turn_end"}}'),
)
TIME_OUTSIDE_COMPARISON = Code(
    "time-outside-comparison",
    "time is used for something other than a cool-down comparison",
    "`now()` and `since_ms()` may stand only below a comparison, with numbers, `+` and `-`; "
    "anything else would make decisions depend on the clock in ways that nobody sees.",
    "Compare it: `since_ms('rule') >= 5000`.",
    _guard("now() % 2 == 0"),
)
EXPRESSION_TOO_LONG = Code(
    "expression-too-long",
    "the expression is longer than an expression may be",
    "A bound on the text bounds the work of reading and running it.",
    "Split it into several rules.",
    Example("guard", "true or " * 1200 + "true"),
)
EXPRESSION_TOO_DEEP = Code(
    "expression-too-deep",
    "the expression is nested too deeply",
    "A bound on the nesting bounds the work of reading and running it.",
    "Split it into several rules, or drop needless parentheses.",
    Example("guard", "(" * 60 + "true" + ")" * 60),
)
CERTAIN_TYPE_ERROR = Code(
    "certain-type-error",
    "an operation that will fail for every event",
    "The kinds of the values are known at load and the operation is not defined for them. The "
    "file loads, since the language says what happens when a guard fails, but it is hardly meant.",
    "Compare or compute values of the same kind.",
    _guard("last_role < 1"),
)
NOT_BOOLEAN = Code(
    "not-boolean",
    "a rule's condition is never true or false",
    "A guard must be a boolean; no other value counts as true.",
    "Compare the value with something.",
    Example("guard-of-rule", "turn_index"),
)
KEY_LIKE_METHOD = Code(
    "key-like-method",
    "an attribute has the name of a method but is not called",
    "On a map it reads the key of that name. Other evaluators would give the method.",
    'Write `["items"]` for the key, or `.items()` for the method.',
    _condition("context.event.payload.items == 1"),
)
BAD_FACTS = Code(
    "bad-facts",
    "the facts are not what an expression can read",
    "What an expression reads has a declared shape; a misspelt fact would be read as missing.",
    "Mend the facts as the headline says; all of them are optional.",
    _guard("true", '{"turn_indx": 3}'),
)

GUARD_TYPE = Code(
    "guard-type",
    "values of kinds for which the operation is not defined",
    "Nothing is converted behind the author's back: a text is no number, null is no false.",
    "Test for the kind or for null first, or compare with a value of the same kind.",
    _guard("arg('n') < 3", '{"event": {"tool": {"args": {"n": "x"}}}}'),
)
GUARD_ARITHMETIC = Code(
    "guard-arithmetic",
    "arithmetic that has no result",
    "Division by zero, an overflow or a complex result is an error of the guard, never a crash.",
    "Test the divisor first.",
    _guard("1 / (turn_index - 1) == 0", '{"turn_index": 1}'),
)
GUARD_TOO_LARGE = Code(
    "guard-too-large",
    "a number, text or list grew past its limit",
    "Every value an expression makes is bounded, so that no rule can exhaust the machine.",
    "Compute with smaller values.",
    _condition("9**9**9 > 1"),
)
GUARD_BUDGET = Code(
    "guard-budget",
    "the evaluation took too many steps",
    "Every evaluation has a budget of steps, so that no rule can hold up an agent.",
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
    "a key or an index that is not there",
    "A missing value is an error and not false by accident.",
    "Use `.get(key, default)`, or test with `in` first.",
    _condition("context.event.payload.nope > 1", '{"context": {"event": {"payload": {}}}}'),
)
GUARD_VALUE = Code(
    "guard-value",
    "a value from which nothing can be made",
    "`int('x')` or `min([])` have no result.",
    "Test the value first.",
    _condition("int(context.user.id) == 3", '{"context": {"user": {"id": "x"}}}'),
)
GUARD_NOT_BOOLEAN = Code(
    "guard-not-boolean",
    "the value of a rule's condition is neither true nor false",
    "No other value counts as true: a guard that gives a number or a text is a mistake.",
    "Compare the value with something.",
    Example("guard-of-rule", "arg('n')", '{"event": {"tool": {"args": {"n": 5}}}}'),
)
