"""Codes for ChatMD files: tags, RAW, comments, `<rules>`, `<policy>`, and failures of actions."""

from bylaw.model.codes import Code, Example


def _chatmd(text: str) -> Example:
    return Example("chatmd", text)


CHATMD_UNCLOSED = Code(
    "chatmd-unclosed",
    "an element has no end tag",
    "Without its end tag, an element would continue to the end of the file and include everything "
    "after it.",
    "Write the end tag, `</name>` without blanks, or close the start tag with `/>`. Put a tag "
    "that is text of a message in `RAW|…|RAW`.",
    _chatmd("<user>\nhello\n\n<assistant>hi</assistant>\n"),
)
CHATMD_STRAY_END = Code(
    "chatmd-stray-end",
    "an end tag has no start tag",
    "There is no start tag of that name before it, so a message probably ends earlier than "
    "intended.",
    "Delete the end tag, or write the start tag. Put an end tag that is text of a message in "
    "`RAW|…|RAW`.",
    _chatmd("<user>hello</user>\n</user>\n"),
)
CHATMD_UNTERMINATED = Code(
    "chatmd-unterminated",
    "`RAW|`, a comment or a quoted value has no end",
    "Without its end it would hide the rest of the file.",
    "Write the end: `|RAW`, `-->`, or the same quote. A backslash before a quote keeps the value "
    "open, except in `<rules>` and `<policy>`.",
    _chatmd("<user>\nRAW|\nhello\n</user>\n"),
)
CHATMD_BROKEN_TAG = Code(
    "chatmd-broken-tag",
    "a tag is not complete",
    "A tag has a name, attributes and `>`. Where an element is expected, a piece of one is a "
    "mistake, and its effect would be lost.",
    "Write `>` after the attributes, and `&lt;` for a `<` in a value without quotes.",
    _chatmd('<policy>\n  <tool name="shell"\n    <quota per_turn="1"/>\n  </tool>\n</policy>\n'),
)
CHATMD_TOO_DEEP = Code(
    "chatmd-too-deep",
    "elements are nested too deeply",
    "No chat needs such depth, and a reader of nested elements needs a limit.",
    "Nest fewer elements.",
    _chatmd("<rules>" + "<on>" * 70 + "</on>" * 70 + "</rules>\n"),
)
CHATMD_TEXT_OUTSIDE = Code(
    "chatmd-text-outside",
    "text is outside of every element",
    "Such text stays in the file but is in no message, so no model sees it. A misspelt element is "
    "only text.",
    "Put it in a message, such as `<user>…</user>`, or in a comment, `<!-- … -->`.",
    _chatmd('<ruleset>\n  <on event="turn_start"/>\n</ruleset>\n'),
)
CHATMD_KEPT_AS_TEXT = Code(
    "chatmd-kept-as-text",
    "an element inside a message is kept as its text",
    "In a message only `doc`, `img`, `agent` and `import` are elements. Other programs that read "
    "ChatMD may silently drop every other element there.",
    "Put text with tags in `RAW|…|RAW`. Move an element that should take effect out of the "
    "message.",
    _chatmd('<user>\nWhat does <config model="m"/> do?\n</user>\n'),
)
CHATMD_NO_EFFECT_HERE = Code(
    "chatmd-no-effect-here",
    "an element has no effect at this place",
    "`doc`, `img` and `agent` belong in a message, `summary` in `<reasoning>`. Elsewhere they are "
    "kept but have no effect.",
    "Move it into a message, or delete it.",
    _chatmd('<doc src="notes.md" local/>\n<user>Sum this up.</user>\n'),
)
CHATMD_OPEN_LEAF = Code(
    "chatmd-open-leaf",
    "an element without contents is not closed",
    "Some programs write `<doc … local>` without closing it. Bylaw reads it as closed. The text "
    "after it belongs to the message.",
    "Write `/>` instead of `>`.",
    _chatmd('<user>\n<doc src="notes.md" local>\nSum this up.\n</user>\n'),
)
CHATMD_IMPORT = Code(
    "chatmd-import",
    "a file cannot be imported",
    "The contents of an imported file belong to the chat: without them, tools, rules or messages "
    "are missing. A file can only import files below the folder of the chat, without circles, and "
    "within limits.",
    "Correct `src`: a path from the folder of the importing file, with `/` between folders.",
    _chatmd('<import src="tools.chatmd"/>\n'),
)
CHATMD_IMPORT_ATTRIBUTE = Code(
    "chatmd-import-attribute",
    "an attribute of `<import>` has no effect",
    "An import has `src` and `namespace`. `local`, which older files have, is accepted. Other "
    "attributes do nothing.",
    "Delete the attribute, or correct its name.",
    _chatmd('<import src="empty.chatmd" once="true"/>\n'),
)
CHATMD_BAD_NUMBER = Code(
    "chatmd-bad-number",
    "a setting of `<config>` is not a number",
    "The model would run with other limits than the file says.",
    "Write a whole number for `max_tokens`, and a number such as `0.7` for `temperature`.",
    _chatmd('<config model="openai:gpt-5" max_tokens="many"/>\n'),
)
CHATMD_BAD_TOOL = Code(
    "chatmd-bad-tool",
    "the declaration of a tool is contradictory or incomplete",
    "A tool is built-in, a `command`, an `agent` or the tools of an `mcp_server`: exactly one of "
    "these, with a name. Folders that `read_file` may read are `<read id path/>`.",
    "Keep one of the attributes, and give the tool a name.",
    _chatmd('<tool name="lint" command="ruff check" agent="lint.chatmd"/>\n'),
)
CHATMD_BAD_MESSAGE = Code(
    "chatmd-bad-message",
    "a message lacks an attribute that it needs to be sent",
    "A `<msg>` has a `role`. A `<tool_call>` names its tool and has an id. A `<tool_response>` "
    "has the id of its call. Without them the message would be dropped or taken for another one.",
    "Add the missing attribute.",
    _chatmd('<msg role="alien">hello</msg>\n'),
)
CHATMD_NOT_RUN = Code(
    "chatmd-not-run",
    "an element that Bylaw reads but does not run",
    "Tool servers, the long form of shell tools, and scripts belong to other programs. The file "
    "is kept as it is. The chat continues without them.",
    "Declare a `command` or an `agent` instead, or write `<rules>` and `<policy>`.",
    _chatmd('<tool mcp_server="stdio:server"/>\n'),
)


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
