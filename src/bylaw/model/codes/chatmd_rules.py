"""Codes for `<rules>` and `<policy>` in ChatMD files, and for failures of their actions."""

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
    "an element is not allowed at this place",
    "If Bylaw ignored a misspelt `<deny>`, it would allow the call.",
    "Use an element that is allowed there. The help line names the nearest one.",
    _on('<exec cmd="ls"/>'),
)
UNKNOWN_ELEMENT_ATTRIBUTE = Code(
    "unknown-element-attribute",
    "an element has an unknown attribute",
    "If Bylaw ignored a misspelt `cooldown_turns`, the limit would not apply.",
    "Use a known attribute. The help line names the nearest one.",
    _on(attributes='event="turn_end" cooldown="3"'),
)
REPEATED_ATTRIBUTE = Code(
    "repeated-attribute",
    "an element has an attribute twice",
    "It would be unclear which of the two values applies.",
    "Keep one of them.",
    _on(attributes='event="turn_end" event="turn_start"'),
)
UNQUOTED_ATTRIBUTE = Code(
    "unquoted-attribute",
    "the value of an attribute is missing or not in quotes",
    "Without quotes a `>` in an expression would end the tag.",
    "Put the value in quotes, `\"` or `'`.",
    _on(attributes='event="turn_end" once=true'),
)
MISSING_ATTRIBUTE = Code(
    "missing-attribute",
    "an element lacks an attribute that it needs",
    "The attribute has no default, so the element is incomplete without it.",
    "Add the attribute that the message names.",
    _on("<deny/>", 'event="pre_tool_call"'),
)
WRONG_ATTRIBUTE_VALUE = Code(
    "wrong-attribute-value",
    "an attribute has an invalid value",
    "Bylaw converts and guesses nothing: a limit that is not a number is not a limit.",
    "Write a value as the help line shows it.",
    _on(attributes='event="turn_end" priority="high"'),
)
UNKNOWN_ATTRIBUTE_VALUE = Code(
    "unknown-attribute-value",
    "an attribute has a value that is not one of the allowed ones",
    "The lists of events, roles, modes and levels are closed.",
    "Use one of the values that the help line lists, in the same spelling.",
    _on(attributes='event="pre_tool"'),
)
TEXT_IN_RULES = Code(
    "text-in-rules",
    "text is at a place where only elements are allowed",
    "Rules and policies are elements. Text between them would silently have no effect.",
    "Write it as a comment, `<!-- … -->`, or put it in an `<insert>`.",
    _on("plain text"),
)
INVALID_RULE_ID = Code(
    "invalid-rule-id",
    "the id of a rule has characters that are not allowed",
    "Ids are used in attributes, in records and in commands, so they must be plain.",
    "Begin with a letter or digit, then use letters, digits, `_`, `.` and `-`.",
    _on(attributes='id="my rule" event="turn_end"'),
)
REPEATED_RULE_ID = Code(
    "repeated-rule-id",
    "two rules of a file have the same id",
    "What a rule does is recorded under its id, and `since_ms` refers to it. A rule without an id "
    "is called `rule-N`, by its position among all rules.",
    "Give one of them another id.",
    _file(
        f'<rules>\n  <on id="r" event="turn_start">{_NOTE}</on>\n'
        f'  <on id="r" event="turn_end">{_NOTE}</on>\n</rules>\n'
    ),
)
FORGED_PROVENANCE = Code(
    "forged-provenance",
    "`synthetic` or `via_rule` contradicts what Bylaw writes",
    "What a rule writes is always marked as synthetic and with the id of that rule. With another "
    "id, readers could not find the rule that wrote it.",
    "Delete the attribute. Bylaw writes it anyway.",
    _on('<insert role="user" via_rule="other">note</insert>', 'id="r" event="turn_start"'),
)
DENY_WITHOUT_CALL = Code(
    "deny-without-call",
    "a rule with `<deny>` is on an event that is not a tool call",
    "Only a tool call that is about to run can be denied.",
    'Use `event="pre_tool_call"`, or delete the `<deny>`.',
    _on('<deny reason="no"/>', 'event="turn_end"'),
)
TOOL_WITHOUT_CALL = Code(
    "tool-without-call",
    "a rule names a tool but is on an event that is not a tool call",
    "It could never match.",
    "Delete `tool`, or use `pre_tool_call` or `post_tool_response`.",
    _on(attributes='event="turn_end" tool="shell"'),
)
CONFLICTING_VALUES = Code(
    "conflicting-values",
    "two `<rules>` of a file have different values for one setting",
    "Their attributes apply to all rules of the file, so it would be unclear which value applies.",
    "Write the attribute once, or the same value everywhere.",
    _file('<rules max_actions_per_event="2"/>\n<rules max_actions_per_event="3"/>\n'),
)
UNUSABLE_VARIABLE = Code(
    "unusable-variable",
    "the name of a variable is not allowed",
    "It must be an identifier. A variable with the name of a built-in value would silently change "
    "other guards.",
    "Use letters, digits and `_`, and not a name that the language already has.",
    _on('<set var="turn_index" value="1"/>'),
)
WILDCARD_IN_POLICY = Code(
    "wildcard-in-policy",
    "a policy names the tool `*`",
    "Only `<on>` has the wildcard. No tool has that name, so the policy would limit nothing.",
    "Name the tool. A rule on `pre_tool_call` without `tool` is for all tools.",
    _policy('<quota per_turn="1"/>', 'name="*"'),
)
EMPTY_BODY = Code(
    "empty-body",
    "an `<insert>` has no text",
    "An empty message has no use, and models reject it.",
    "Write the text between the tags.",
    _on('<insert role="user"></insert>'),
)
RULE_WITHOUT_EFFECT = Code(
    "rule-without-effect",
    "a rule or a policy is empty, so it does nothing",
    "It can never fire. Something is probably missing.",
    "Add an action or a constraint, or delete it.",
    _on("<!-- soon -->"),
)
BAD_CALL_BODY = Code(
    "bad-call-body",
    "the body of a `<call>` is neither JSON nor an object of expressions",
    "It must be an object with the arguments of the tool: JSON, or an object whose values are "
    "expressions. Otherwise no call is made: the action fails when the rule fires.",
    'Write the arguments as in `{"query": "related to " + arg("query")}`, or `{}` for none.',
    _on('<call tool="search">{"query":</call>', 'event="turn_end"'),
)
MISSING_ARGUMENT = Code(
    "missing-argument",
    "a `<call>` reads an argument that the current call does not have",
    "Bylaw makes no call with incomplete arguments.",
    "Test for the argument in the guard, or give the rule a `tool` that always has it.",
    Example(
        "chatmd-action",
        '<rules>\n  <on event="pre_tool_call">\n    <call tool="search">{"query": arg("query")}'
        "</call>\n  </on>\n</rules>\n",
    ),
)
VALUE_TOO_LARGE = Code(
    "value-too-large",
    "the value of a variable, or the arguments of a call, would be too large",
    "Variables are kept with the session, and arguments are written to the file, so both have a "
    "limit. A variable that repeatedly includes its own value would grow without end.",
    "Keep less: a count or a short text instead of everything.",
    Example(
        "chatmd-action",
        '<rules>\n  <on event="pre_tool_call">\n    <set var="n" value=\'['
        + ", ".join(['arg("text")'] * 7)
        + "]'/>\n  </on>\n</rules>\n",
    ),
)
