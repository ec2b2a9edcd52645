"""`<rules>` and `<policy>` as markup: every tag an element, bodies that are text, what is wrong."""

import re
from pathlib import Path

import pytest
from chatmd_texts import codes, only_element, parsed

from bylaw.languages.chatmd.scanner import CommentNode, Element, RawNode, TextNode
from bylaw.model.source import SourceFile

SEED = Path(__file__).parents[2] / "data" / "seeds" / "000_2a4e22493fe0b8d1.txt"


def shape(text):
    """An element as nested lists: names and what they hold."""
    element, source = only_element(text)
    return _shape(element, source)


def _shape(node, source):
    if not isinstance(node, Element):
        return source.slice(node.span)
    return [node.name, *(_shape(child, source) for child in node.children)]


def find(element, name):
    """The elements of a name below an element."""
    inside = [one for one in element.children if isinstance(one, Element)]
    return [one for one in inside if one.name == name] + [
        found for one in inside for found in find(one, name)
    ]


def test_the_examples_of_the_document_are_read():
    """CM-001, CM-002, CM-005, CM-007, CM-008."""
    examples = SEED.read_text().partition("Representative examples")[2]
    blocks = re.findall(r"```xml\n(.*?)```", examples, re.DOTALL)
    assert len(blocks) == 7
    document, findings = parsed("".join(blocks))
    assert not findings
    assert [one.name for one in document.elements] == [
        "rules",
        "policy",
        "rules",
        "policy",
        "rules",
        "rules",
        "rules",
    ]
    third = document.elements[3]
    assert [one.value("if") for one in find(third, "check")][1] == 'tokens("last_user") <= 4000'
    (call,) = find(document.elements[4], "call")
    assert "Reuses current call args" in document.source.slice(call.children[0].span)


def test_every_tag_is_an_element_also_an_unknown_one():
    assert shape("<rules><on><frobnicate a='1'/><x-y_1>t</x-y_1></on></rules>") == [
        "rules",
        ["on", ["frobnicate"], ["x-y_1", "t"]],
    ]
    assert shape("<policy><tool><user>x</user></tool></policy>") == [
        "policy",
        ["tool", ["user", "x"]],
    ]


@pytest.mark.parametrize("name", ["rules", "policy"])
def test_both_forms_of_a_block(name):
    """CM-004."""
    assert shape(f"<{name}/>") == shape(f"<{name} />") == shape(f"<{name}></{name}>") == [name]
    assert shape(f"<{name}><a/><b></b></{name} >") == [name, ["a"], ["b"]]


def test_comments_and_text_are_kept():
    element, source = only_element("<rules> a <!-- <on> RAW| --> &lt; 1 < 2 </rules>")
    assert [type(one) for one in element.children] == [TextNode, CommentNode, TextNode]
    assert source.slice(element.children[2].span) == " &lt; 1 < 2 "


def test_values_run_to_their_closing_quote():
    """CM-007, CM-A04: also behind a backslash, which ochat's elements take otherwise."""
    text = """<rules a="C:\\"><on if='a < b and "x" > "y"' b="&lt;&amp;" c="a\nb"></on></rules>"""
    element, source = only_element(text)
    assert element.value("a") == "C:\\"
    (on,) = find(element, "on")
    assert [one.value for one in on.attributes] == ['a < b and "x" > "y"', "<&", "a\nb"]
    guard = on.attributes[0]
    assert source.slice(guard.value_span) == guard.value
    assert source.text[guard.places(source)[4]] == "b"


def test_places_go_through_entities():
    element, source = only_element('<rules if="a &lt; b &amp;&amp; c"/>')
    (guard,) = element.attributes
    assert guard.value == "a < b && c"
    places = guard.places(source)
    at = guard.value_span.start
    assert [place - at for place in places] == [0, 1, 2, 6, 7, 8, 9, 14, 19, 20, 21]


def test_a_value_without_quotes_is_marked():
    document, _ = parsed("<rules><on if=turn_index>1</on></rules>")
    (guard,) = find(document.elements[0], "on")[0].attributes
    assert (guard.value, guard.quoted) == ("turn_index", False)


@pytest.mark.parametrize("name", ["insert", "agent"])
def test_bodies_are_text_up_to_their_own_end_tag(name):
    body = f" a <b> </on> </rules> <{name} x='>'>inner</{name}> <{name}/> RAW|</{name}>|RAW <!-- </{name}> --> "
    element, source = only_element(
        f"<rules><on><{name} src='x'>{body}</{name}><stop/></on></rules>"
    )
    (found,) = find(element, name)
    assert [type(one) for one in found.children] == [
        TextNode,
        RawNode,
        TextNode,
        CommentNode,
        TextNode,
    ]
    assert "".join(source.slice(one.span) for one in found.children) == body
    assert find(element, "stop")


@pytest.mark.parametrize(
    "body",
    [
        '{"q": "</call>"}',
        '{"q": "a\\"</call>", "r": [1, {"s": "<call>"}]}',
        '{"query": "related to " + arg("query")} <!-- it\'s "quoted </call> -->',
        "",
        "\n  {}\n",
        '{"q": "<!-- x -->"} ',
        "RAW|{}|RAW",
    ],
)
def test_the_body_of_a_call_is_one_text(body):
    """CM-A05, CM-A06."""
    element, source = only_element(f'<rules><on><call tool="t">{body}</call></on><on/></rules>')
    (call,) = find(element, "call")
    assert "".join(source.slice(one.span) for one in call.children) == body
    assert len(call.children) == bool(body)
    assert len(find(element, "on")) == 2


@pytest.mark.parametrize(
    "body", ['{"q": "a}', "{", '{"q": "</call>"', "}", '{"a": "\n"}', "<!-- x"]
)
def test_a_broken_body_of_a_call_takes_nothing_else_in(body):
    rest = '<on><deny reason="r"/></on><on><call tool="b">{"q": "y"}</call></on>'
    document, findings = parsed(f'<rules><on><call tool="a">{body}</call></on>{rest}</rules>')
    (rules,) = document.elements
    first, second = find(rules, "call")
    assert len(find(rules, "deny")) == 1
    assert document.source.slice(second.children[0].span) == '{"q": "y"}'
    if body != '{"q": "</call>"':
        assert not findings
        assert document.source.slice(first.children[0].span) == body


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<rules><on event='x'></rules>", [("unclosed", "<on event='x'>")]),
        ("<rules><on></of></rules>", [("unclosed", "<on>"), ("stray-end", "</of>")]),
        ("<rules></on></rules>", [("stray-end", "</on>")]),
        ("<rules><a><b></a></rules>", [("unclosed", "<b>")]),
        ("<rules><on>\n<user>x <b></user>", [("unclosed", "<rules>"), ("unclosed", "<on>")]),
        ("<policy><tool name='x'\n<quota/></tool></policy>", [("broken-tag", "<tool")]),
        ("<rules><on if='a></on></rules>", [("unterminated", "if='")]),
        ("<rules><on event='x' if='y'z'/></rules>", [("broken-tag", "'/")]),
        ("<rules><on event='x', once='true'/></rules>", [("broken-tag", ",")]),
        ("<rules><on:x/></rules>", [("broken-tag", "<on")]),
        ("<rules><on></on x></rules>", [("unclosed", "<on>"), ("broken-tag", "</on")]),
        ("<rules><on><insert>a</on><on/></rules>", [("unclosed", "<insert>")]),
        ("<rules><on><call>{}</on></rules>", [("unclosed", "<call>")]),
        ("<rules><on><agent src='a'></on></rules>", [("unclosed", "<agent src='a'>")]),
        ("<rules><!-- x</rules>", [("unterminated", "<!--")]),
        ("<rules a='1' 'b'></rules>", [("broken-tag", "'")]),
    ],
)
def test_malformed_blocks_are_errors_at_the_tag_that_is_wrong(text, found):
    """CM-011."""
    assert sorted(codes(text)) == sorted(found)


def test_what_follows_a_malformed_rule_is_still_read():
    text = "<rules>\n<on><insert>a</on>\n<on><insert>b</insert></on>\n</rules>\n<user>x</user>"
    document, findings = parsed(text)
    (unclosed,) = findings
    assert unclosed.source.position(unclosed.span.start).line == 2
    assert [one.name for one in document.elements] == ["rules", "user"]
    assert len(find(document.elements[0], "insert")) == 2


def test_a_broken_tag_in_a_body_without_an_end_is_read_twice_and_said_once():
    assert codes("<rules><insert>x <insert a='1' <b</rules>") == [("unclosed", "<insert>")]


def test_depth_is_bounded():
    text = "<rules>" + "<on>" * 1_000 + "</on>" * 1_000 + "</rules><user>x</user>"
    assert codes(text)[0][0] == "too-deep"
    text = "<user>" + "<agent>" * 1_000 + "</agent>" * 1_000 + "</user>"
    assert codes(text)[0][0] == "too-deep"
    text = "<archive>" * 1_000 + "</archive>" * 1_000
    assert codes(text)[0][0] == "too-deep"


@pytest.mark.parametrize("text", [SEED.read_text()])
def test_a_document_about_chatmd_is_written_back(text):
    parsed(text)
    parsed(SourceFile("x", text).text.replace("\n", "\r\n"))
