"""Codes of ChatMD as text: tags, RAW, comments, and what stands where it has no effect."""

from bylaw.model.codes import Code, Example


def _chatmd(text: str) -> Example:
    return Example("chatmd", text)


CHATMD_UNCLOSED = Code(
    "chatmd-unclosed",
    "an element has no end tag",
    "Without its end tag an element would go on to the end of the file and take in whatever "
    "follows it.",
    "Write the end tag, `</name>` without blanks, or close the start tag with `/>`. A tag that is "
    "meant as text of a message stands in `RAW|…|RAW`.",
    _chatmd("<user>\nhello\n\n<assistant>hi</assistant>\n"),
)
CHATMD_STRAY_END = Code(
    "chatmd-stray-end",
    "an end tag closes nothing",
    "There is no start tag of that name before it, so a message probably ends earlier than meant.",
    "Delete the end tag, or write the start tag. An end tag that is meant as text of a message "
    "stands in `RAW|…|RAW`.",
    _chatmd("<user>hello</user>\n</user>\n"),
)
CHATMD_UNTERMINATED = Code(
    "chatmd-unterminated",
    "`RAW|`, a comment or a quoted value never ends",
    "What has begun and does not end would hide the rest of the file.",
    "Write the end: `|RAW`, `-->`, or the same quote. Before a quote a backslash keeps the value "
    "open, except in `<rules>` and `<policy>`.",
    _chatmd("<user>\nRAW|\nhello\n</user>\n"),
)
CHATMD_BROKEN_TAG = Code(
    "chatmd-broken-tag",
    "a tag is not complete",
    "A tag has a name, attributes and `>`. Where an element is expected, a piece of one is a slip, "
    "and what it was meant to do would be lost.",
    "Write `>` behind the attributes, and `&lt;` for a `<` in a value without quotes.",
    _chatmd('<policy>\n  <tool name="shell"\n    <quota per_turn="1"/>\n  </tool>\n</policy>\n'),
)
CHATMD_TOO_DEEP = Code(
    "chatmd-too-deep",
    "elements are nested too deeply",
    "No chat needs such depth, and a reader of nested elements must stop somewhere.",
    "Make the structure flatter.",
    _chatmd("<rules>" + "<on>" * 70 + "</on>" * 70 + "</rules>\n"),
)
CHATMD_TEXT_OUTSIDE = Code(
    "chatmd-text-outside",
    "text stands outside of every element",
    "Such text is kept in the file, but it is in no message, so no model ever sees it; and a "
    "misspelled element is only text.",
    "Put it in a message, such as `<user>…</user>`, or in a comment, `<!-- … -->`.",
    _chatmd('<ruleset>\n  <on event="turn_start"/>\n</ruleset>\n'),
)
CHATMD_KEPT_AS_TEXT = Code(
    "chatmd-kept-as-text",
    "an element inside a message is kept as its text",
    "In a message only `doc`, `img`, `agent` and `import` are elements. Other programs that read "
    "ChatMD may drop every other element there without a word.",
    "Put text that holds tags in `RAW|…|RAW`; an element that should take effect stands outside "
    "of messages.",
    _chatmd('<user>\nWhat does <config model="m"/> do?\n</user>\n'),
)
CHATMD_NO_EFFECT_HERE = Code(
    "chatmd-no-effect-here",
    "an element has no effect where it stands",
    "`doc`, `img` and `agent` belong into a message, `summary` into `<reasoning>`. Outside they "
    "are kept, and nothing is done with them.",
    "Move it into a message, or delete it.",
    _chatmd('<doc src="notes.md" local/>\n<user>Sum this up.</user>\n'),
)
CHATMD_OPEN_LEAF = Code(
    "chatmd-open-leaf",
    "an element that holds nothing is not closed",
    "Some programs write `<doc … local>` without closing it. It is taken as if it were closed; "
    "the text behind it belongs to the message.",
    "Write `/>` instead of `>`.",
    _chatmd('<user>\n<doc src="notes.md" local>\nSum this up.\n</user>\n'),
)
CHATMD_IMPORT = Code(
    "chatmd-import",
    "a file cannot be imported",
    "What an imported file says belongs to the chat: without it, tools, rules or messages are "
    "missing. Files import files below the folder of the chat only, in no circle, and within "
    "limits.",
    "Mend `src`: a path from the folder of the file that imports, with `/` between folders.",
    _chatmd('<import src="tools.chatmd"/>\n'),
)
CHATMD_IMPORT_ATTRIBUTE = Code(
    "chatmd-import-attribute",
    "an attribute of `<import>` has no meaning",
    "An import has `src` and `namespace`; a `local` of older files is taken as well. Anything "
    "else does nothing.",
    "Delete the attribute, or correct its name.",
    _chatmd('<import src="empty.chatmd" once="true"/>\n'),
)
CHATMD_BAD_NUMBER = Code(
    "chatmd-bad-number",
    "a setting of `<config>` is no number",
    "The model would be asked with other limits than the file says.",
    "Write a whole number for `max_tokens`, and a number such as `0.7` for `temperature`.",
    _chatmd('<config model="openai:gpt-5" max_tokens="many"/>\n'),
)
CHATMD_BAD_TOOL = Code(
    "chatmd-bad-tool",
    "a declaration of a tool contradicts itself or is not complete",
    "A tool is a built-in one, a `command`, an `agent` or those of an `mcp_server`: exactly one of "
    "them, with a name. Folders that `read_file` may read are `<read id path/>`.",
    "Keep one of the attributes, and give the tool a name.",
    _chatmd('<tool name="lint" command="ruff check" agent="lint.chatmd"/>\n'),
)
CHATMD_BAD_MESSAGE = Code(
    "chatmd-bad-message",
    "a message that could not be sent: it lacks what says whose it is",
    "A `<msg>` has a `role`; a `<tool_call>` names its tool and has an id; a `<tool_response>` has "
    "the id of its call. Without them a message would be left out, or be taken for another.",
    "Write the attribute that is missing.",
    _chatmd('<msg role="alien">hello</msg>\n'),
)
CHATMD_NOT_RUN = Code(
    "chatmd-not-run",
    "an element that Bylaw reads and does not run",
    "Servers of tools, the long form of shell tools, and scripts belong to other programs. The "
    "file is kept as it is; the chat goes on without them.",
    "Declare a `command` or an `agent` instead, or write `<rules>` and `<policy>`.",
    _chatmd('<tool mcp_server="stdio:server"/>\n'),
)
