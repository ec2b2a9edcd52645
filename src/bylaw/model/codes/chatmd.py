"""Codes for ChatMD as text: tags, RAW, comments, and elements that have no effect."""

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
