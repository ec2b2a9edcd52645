"""Texts that are made of what means something in ChatMD, and what every tree must be."""

from hypothesis import strategies as st

from bylaw.languages.chatmd.messages import write
from bylaw.languages.chatmd.parser import parse
from bylaw.languages.chatmd.scanner import KNOWN, MESSAGES, Element, RawNode
from bylaw.model.source import SourceFile

_NAMES = (*sorted(KNOWN), "on", "insert", "call", "set", "div", "b", "ruleset", "raw")
_MARKS = (
    "<", ">", "</", "/>", "<!--", "-->", "RAW|", "|RAW", "|", "DRAW|", '"', "'", "=", "\\", "&lt;", "&",
    " ", "\n", "\r\n", "\r", "\t", "\n\t", "\n\t\t", "a", "é", "😀", "\ufeff", "\x00", "\ud800", "\u2028",
    "if a<b then", "{", "}", '{"q": "', "local", ' src="x"', " if='1 > 0'", ' a="\\"', "a=b/", "```",
)  # fmt: skip

_tags = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["<", "</"]),
    st.sampled_from(_NAMES),
    st.sampled_from(["", " ", " local", ' src="x"', " a='>'", ' b="<user>"', ' c="\\"', " d=e", ' f="']),
    st.sampled_from([">", "/>", " >", "", "/ >"]),
)  # fmt: skip
any_text = st.lists(st.one_of(_tags, st.sampled_from(_MARKS), st.text(max_size=8))).map("".join)
messages = st.sampled_from(sorted(MESSAGES))


def parsed(text):
    """The tree of a text, after a look at whether it holds the whole text, in order, once."""
    source = SourceFile("chat.chatmd", text)
    document, findings = parse(source)
    assert write(document) == text
    check_order(document.children, 0, len(text))
    return document, findings


def check_order(nodes, start, end):
    """The nodes lie side by side and fill the place that they are in."""
    for node in nodes:
        assert node.span.start == start < node.span.end
        start = node.span.end
        if isinstance(node, Element):
            assert node.start.start == node.span.start
            assert node.end.end == node.span.end
            check_order(node.children, node.start.end, node.end.start)
        elif isinstance(node, RawNode):
            assert node.inner.start == node.span.start + 4
            assert node.inner.end == node.span.end - 4
    assert start == end


def only_element(text):
    """The one element of a text that has nothing else, and the source."""
    document, findings = parsed(text)
    assert not findings
    (element,) = document.elements
    return element, document.source


def codes(text):
    """What is found in a text: code and underlined piece."""
    return [(one.code.removeprefix("chatmd-"), one.underlined) for one in parsed(text)[1]]
