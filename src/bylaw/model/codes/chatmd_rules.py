"""Codes of `<rules>` and `<policy>` in ChatMD files, and of what their actions met."""

from bylaw.model.codes import Code, Example

_NOTE = '<insert role="developer">note</insert>'


def _file(text: str) -> Example:
    return Example("chatmd-rules", text)


def _on(actions: str = _NOTE, attributes: str = 'event="turn_start"', rules: str = "") -> Example:
    return _file(f"<rules{rules}>\n  <on {attributes}>\n    {actions}\n  </on>\n</rules>\n")


def _policy(element: str, tool: str = 'name="shell"') -> Example:
    return _file(f"<policy>\n  <tool {tool}>\n    {element}\n  </tool>\n</policy>\n")


UNKNOWN_ELEMENT = Code(
    "unknown-element",
    "an element stands where it means nothing",
    "A misspelt `<deny>` that is passed over would let the call through.",
    "Use an element that may stand there; the help line names the nearest one.",
    _on('<exec cmd="ls"/>'),
)
UNKNOWN_ELEMENT_ATTRIBUTE = Code(
    "unknown-element-attribute",
    "an element has an attribute that means nothing",
    "A misspelt `cooldown_turns` that is passed over would be a limit that does not hold.",
    "Use a known attribute; the help line names the nearest one.",
    _on(attributes='event="turn_end" cooldown="3"'),
)
REPEATED_ATTRIBUTE = Code(
    "repeated-attribute",
    "an element has an attribute twice",
    "Nothing says which of the two values counts.",
    "Keep one of them.",
    _on(attributes='event="turn_end" event="turn_start"'),
)
UNQUOTED_ATTRIBUTE = Code(
    "unquoted-attribute",
    "the value of an attribute is not in quotes, or there is none",
    "Without quotes a `>` in an expression would end the tag.",
    "Put the value in quotes, `\"` or `'`.",
    _on(attributes='event="turn_end" once=true'),
)
MISSING_ATTRIBUTE = Code(
    "missing-attribute",
    "an element lacks an attribute that it needs",
    "It has no default: without it, it is not said what the element means.",
    "Add the attribute that the message names.",
    _on("<deny/>", 'event="pre_tool_call"'),
)
WRONG_ATTRIBUTE_VALUE = Code(
    "wrong-attribute-value",
    "an attribute has a value that it cannot have",
    "Nothing is converted and nothing is guessed: a limit that is no number is no limit.",
    "Write a value as the help line shows it.",
    _on(attributes='event="turn_end" priority="high"'),
)
UNKNOWN_ATTRIBUTE_VALUE = Code(
    "unknown-attribute-value",
    "an attribute has a value that is not among the possible ones",
    "The lists of events, roles, modes and levels are closed.",
    "Use one of the values that the help line lists, in the same spelling.",
    _on(attributes='event="pre_tool"'),
)
TEXT_IN_RULES = Code(
    "text-in-rules",
    "text stands where only elements may stand",
    "Rules and policies are elements; text between them would have no effect, without a word.",
    "Write it as a comment, `<!-- … -->`, or put it in an `<insert>`.",
    _on("plain text"),
)
INVALID_RULE_ID = Code(
    "invalid-rule-id",
    "the id of a rule has characters that no id may have",
    "Ids stand in attributes, in records and in commands; they must be plain everywhere.",
    "Begin with a letter or digit, then use letters, digits, `_`, `.` and `-`.",
    _on(attributes='id="my rule" event="turn_end"'),
)
REPEATED_RULE_ID = Code(
    "repeated-rule-id",
    "two rules of a file have the same id",
    "What a rule does is written down under its id, and `since_ms` asks for one. A rule without "
    "an id is called `rule-N`, by its place among all rules.",
    "Give one of them another id.",
    _file(
        f'<rules>\n  <on id="r" event="turn_start">{_NOTE}</on>\n'
        f'  <on id="r" event="turn_end">{_NOTE}</on>\n</rules>\n'
    ),
)
FORGED_PROVENANCE = Code(
    "forged-provenance",
    "`synthetic` or `via_rule` says something else than the truth",
    "What a rule writes is always marked as synthetic and with the id of that rule. An author who "
    "could write another would make a trail that leads nowhere.",
    "Delete the attribute; it is written anyway.",
    _on('<insert role="user" via_rule="other">note</insert>', 'id="r" event="turn_start"'),
)
DENY_WITHOUT_CALL = Code(
    "deny-without-call",
    "`<deny>` stands in a rule on an event that is no call",
    "Only a call that is about to run can be denied.",
    'Use `event="pre_tool_call"`, or delete the `<deny>`.',
    _on('<deny reason="no"/>', 'event="turn_end"'),
)
TOOL_WITHOUT_CALL = Code(
    "tool-without-call",
    "a rule on an event that is no call names a tool",
    "It could never match.",
    "Delete `tool`, or use `pre_tool_call` or `post_tool_response`.",
    _on(attributes='event="turn_end" tool="shell"'),
)
CONFLICTING_VALUES = Code(
    "conflicting-values",
    "two `<rules>` of a file give different answers to one question",
    "Their attributes count for all rules of the file, and nothing says which one is meant.",
    "Write the attribute once, or the same value everywhere.",
    _file('<rules max_actions_per_event="2"/>\n<rules max_actions_per_event="3"/>\n'),
)
UNUSABLE_VARIABLE = Code(
    "unusable-variable",
    "a variable has a name that no variable may have",
    "It must be an identifier, and shadowing a built-in name would change other guards unseen.",
    "Use letters, digits and `_`, and no name that the language has already.",
    _on('<set var="turn_index" value="1"/>'),
)
WILDCARD_IN_POLICY = Code(
    "wildcard-in-policy",
    "a policy is about the tool `*`",
    "Only `<on>` has the wildcard. There is no tool of that name, so nothing would be limited.",
    "Name the tool; a rule on `pre_tool_call` without `tool` is about all of them.",
    _policy('<quota per_turn="1"/>', 'name="*"'),
)
EMPTY_BODY = Code(
    "empty-body",
    "an `<insert>` has no text",
    "An empty message helps nobody, and models refuse it.",
    "Write the text between the tags.",
    _on('<insert role="user"></insert>'),
)
RULE_WITHOUT_EFFECT = Code(
    "rule-without-effect",
    "a rule or a policy holds nothing, so it does nothing",
    "It can never fire; probably something is missing.",
    "Add an action or a constraint, or delete it.",
    _on("<!-- soon -->"),
)
BAD_CALL_BODY = Code(
    "bad-call-body",
    "the body of a `<call>` is neither JSON nor an object of expressions",
    "It must be an object with the arguments of the tool: JSON, or an object whose values are "
    "expressions. Until it is one, no call is made: the action fails when the rule fires.",
    'Write the arguments as in `{"query": "related to " + arg("query")}`, or `{}` for none.',
    _on('<call tool="search">{"query":</call>', 'event="turn_end"'),
)
MISSING_ARGUMENT = Code(
    "missing-argument",
    "a `<call>` reads an argument that the current call does not have",
    "A call with a hole in it is not made.",
    "Ask for the argument in the guard, or give the rule a `tool` that always has it.",
    Example(
        "chatmd-action",
        '<rules>\n  <on event="pre_tool_call">\n    <call tool="search">{"query": arg("query")}'
        "</call>\n  </on>\n</rules>\n",
    ),
)
VALUE_TOO_LARGE = Code(
    "value-too-large",
    "the value of a variable, or the arguments of a call, would be too large",
    "Variables are kept with the session and arguments are written into the file, so both have a "
    "limit. A variable that is put into itself again and again would grow without end.",
    "Keep less: a count or a short text instead of everything.",
    Example(
        "chatmd-action",
        '<rules>\n  <on event="pre_tool_call">\n    <set var="n" value=\'['
        + ", ".join(['arg("text")'] * 7)
        + "]'/>\n  </on>\n</rules>\n",
    ),
)
