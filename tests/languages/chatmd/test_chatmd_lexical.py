"""Tags, attributes, RAW and comments: what is an element, what is text, and what is wrong."""

import pytest
from chatmd_texts import codes, only_element, parsed

from bylaw.languages.chatmd.messages import pieces, text_of
from bylaw.languages.chatmd.scanner import KNOWN, CommentNode, Element, RawNode, TextNode
from bylaw.model.diagnostic import Severity


def attributes(tag):
    """Name and value of each attribute of a message that begins with this tag."""
    element, _ = only_element(f"{tag}x</user>")
    return [(one.name, one.value) for one in element.attributes]


def text(content):
    """The text of a message with this content."""
    element, source = only_element(f"<user>{content}</user>")
    return text_of(element, source)


def names(content):
    """The inline elements of a message with this content."""
    document, _ = parsed(f"<user>{content}</user>")
    (message,) = document.elements
    return [one.name for one in message.children if isinstance(one, Element)]


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_known_element_is_read_at_the_top(name):
    document, _ = parsed(f"<{name}></{name}>\n<{name}/>\n<{name} a='b' />")
    assert [one.name for one in document.elements] == [name] * 3
    assert codes(f"<{name.upper()}></{name.upper()}>")[0][0] == "text-outside"


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("<user>", []),
        ('<user a="1" b=\'2\'>', [("a", "1"), ("b", "2")]),
        ("<user\n\ta = \"1\"\r\n  b\t=\t'2' >", [("a", "1"), ("b", "2")]),
        ("<user local a>", [("local", None), ("a", None)]),
        ("<user ochat-history-id=4:sess:0 x_y:z-1=é>", [("ochat-history-id", "4:sess:0"), ("x_y:z-1", "é")]),
        ("<user a=1 a='2'>", [("a", "1"), ("a", "2")]),
        ("<user a='x > y' b=\"<user>\">", [("a", "x > y"), ("b", "<user>")]),
        ("<user a='\"' b=\"'\">", [("a", '"'), ("b", "'")]),
        ('<user a="A \\"quoted\\" sample">', [("a", 'A \\"quoted\\" sample')]),
        ('<user a="\\\\">b" c>', [("a", '\\\\">b'), ("c", None)]),
        ("<user a='&amp;lt; &lt;&gt;&quot;&apos; &nbsp; & &amp'>", [("a", "&lt; <>\"' &nbsp; & &amp")]),
        ("<user a=&lt;b>", [("a", "&lt;b")]),
        ("<user , ; a=1 / b . >", [("a", "1"), ("b", None)]),
        ("<user it's a=1>", [("it", None), ("s", None), ("a", "1")]),
        ("<user a= >", [("a", "")]),
        ("<user a=b/c>", [("a", "b/c")]),
        ("<user a=''>", [("a", "")]),
    ],
)  # fmt: skip
def test_attributes_are_read_as_ochat_reads_them(tag, expected):
    assert attributes(tag) == expected


def test_the_last_attribute_of_a_name_counts_and_a_flag_has_no_value():
    element, _ = only_element("<user a=1 local a='2'>x</user>")
    assert element.value("a") == "2"
    assert element.attribute("local").value is None
    assert element.value("local", "-") == element.value("none", "-") == "-"
    assert [one.quoted for one in element.attributes] == [False, False, True]


@pytest.mark.parametrize(
    "tag", ["<img src=a/>", '<img src="a"/>', "<img src=a local/>", "<img src=a />"]
)
def test_a_slash_before_the_end_closes_and_belongs_to_no_value(tag):
    document, findings = parsed(f"<user>{tag} x</user>")
    (image, rest) = document.elements[0].children
    assert image.value("src") == "a"
    assert (image.end.start, image.end.end) == (image.start.end, image.start.end)
    assert isinstance(rest, TextNode)
    assert not findings


@pytest.mark.parametrize(
    "content",
    [
        "if a<b then",
        "a <b and c",
        "1 < 2 > 0 <<<< << <",
        "<div class='x'>y</div>",
        "<a href='y>z'>q</a>",
        "<a href='y>z",
        "<b and <i",
        "</div>",
        "x </user > y",
        "</ user>",
        "<user@example.com>",
        "<users>, <user.name> and <userx/>",
        "<USER>",
        "a | b || c",
        "R RA RAW RAW | AW|",
        "|RAW |RAW",
        "&lt; &amp;",
        "<doc",
        "<doc src='x",
        "<doc src='x' <b",
        "<!- no comment ->",
        "```xml\n<rule>\n```",
    ],
)
def test_what_is_no_tag_of_ours_is_text_of_the_message_to_the_letter(content):
    assert text(content) == content.strip()


@pytest.mark.parametrize("name", sorted(KNOWN - {"doc", "img", "agent", "import", "user"}))
def test_other_elements_inside_a_message_are_text_and_that_is_said(name):
    content = f"see <{name} a='1'>this</{name}> and <{name}/>"
    document, findings = parsed(f"<user>{content}</user>")
    assert text_of(document.elements[0], document.source) == content
    assert [(one.code, one.severity) for one in findings] == [
        ("chatmd-kept-as-text", Severity.WARNING)
    ]
    assert findings[0].underlined == f"<{name} a='1'>"


def test_a_message_is_warned_of_once():
    content = "<config/><tool/><summary>x</summary>"
    assert codes(f"<user>{content}</user><user>{content}</user>") == [
        ("kept-as-text", "<config/>"),
        ("kept-as-text", "<config/>"),
    ]


def test_inline_elements_are_found_behind_what_looks_like_a_tag():
    assert names("a <b and <doc src='x'/> c") == ["doc"]
    assert names("<yo><doc src='x'/></yo> <a b=<img src='x'/>") == ["doc", "img"]


def test_elements_of_the_same_name_nest_as_text():
    assert codes("<user>like <user>this</user> one</user>") == [("kept-as-text", "<user>")]
    document, _ = parsed("<user>like <user>this</user> one</user><user>2</user>")
    first, second = document.elements
    assert text_of(first, document.source) == "like <user>this</user> one"
    assert text_of(second, document.source) == "2"


def test_a_nested_tag_that_closes_itself_takes_no_end_tag():
    document, _ = parsed("<user>like <user/> one</user>")
    assert text_of(document.elements[0], document.source) == "like <user/> one"


def test_a_lone_tag_of_the_same_name_is_pointed_at():
    _, findings = parsed("<user>\nlike <user> this\n</user>\n<assistant>x</assistant>")
    (unclosed,) = findings
    assert unclosed.code == "chatmd-unclosed"
    assert unclosed.underlined == "<user>"
    assert unclosed.source.position(unclosed.span.start).line == 1
    assert [unclosed.source.slice(label.span) for label in unclosed.labels] == ["<user>"]
    assert unclosed.labels[0].span.start == 12


def test_an_agent_has_content_of_its_own():
    content = "<agent src='a.chatmd'>do <agent src='b'/> <doc src='c'/><b></agent> now"
    element, source = only_element(f"<user>{content}</user>")
    agent, rest = pieces(element, source)
    assert agent.value("src") == "a.chatmd"
    assert rest == " now"
    inner = [one if isinstance(one, str) else one.name for one in pieces(agent, source)]
    assert inner == ["do ", "agent", " ", "doc", "<b>"]


def test_an_agent_without_its_end_tag_ends_with_the_message():
    text_ = "<user>ask <agent src='a'> x</user>\n<user>y</user>"
    assert codes(text_) == [("unclosed", "<agent src='a'>")]
    document, _ = parsed(text_)
    assert [one.name for one in document.elements] == ["user", "user"]


def test_the_end_tag_of_an_example_inside_an_agent_ends_nothing():
    text_ = "<user><agent src='a'>write <user>x</user> so</agent></user>"
    document, _ = parsed(text_)
    (message,) = document.elements
    assert [one.name for one in message.children] == ["agent"]


@pytest.mark.parametrize("name", ["doc", "img", "import"])
def test_an_inline_element_that_is_never_closed_holds_nothing(name):
    document, findings = parsed(f"<user>\n<{name} src='x' local>\nSum <b>this</b> up.\n</user>")
    (message,) = document.elements
    inline, rest = pieces(message, document.source)
    assert inline.children == ()
    assert rest == "\nSum <b>this</b> up."
    assert [(one.code, one.severity) for one in findings] == [
        ("chatmd-open-leaf", Severity.WARNING)
    ]


def test_an_inline_element_with_its_end_tag_holds_what_is_between():
    element, source = only_element("<user><doc src='x'> \n </doc>y</user>")
    doc, rest = pieces(element, source)
    assert source.slice(doc.end) == "</doc>"
    assert rest == "y"


@pytest.mark.parametrize(
    "name",
    [
        "config",
        "import",
        "moderator_runtime",
        "user",
        "rules",
        "tool",
        "script",
        "archive",
        "shell_access",
        "reasoning",
    ],
)
def test_an_element_without_its_end_tag_is_an_error_at_its_start_tag(name):
    opened = f"<{name} a='1'>"
    if name == "import":
        assert codes(f"{opened}\n") == [("open-leaf", opened)]
    else:
        assert codes(f"<user>x</user>\n{opened}\n") == [("unclosed", opened)]


def test_a_setting_that_is_not_closed_takes_nothing_in():
    document, _ = parsed("<config model='m'>\n<user>a <b></user>")
    assert [one.name for one in document.elements] == ["config", "user"]


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_an_end_tag_that_closes_nothing_is_an_error_at_the_top(name):
    assert codes(f"<user>x</user>\n</{name}>\n") == [("stray-end", f"</{name}>")]


@pytest.mark.parametrize("name", ["user", "rules", "config", "archive"])
@pytest.mark.parametrize("rest", ["", " ", " a='1'", " a='1' <user>x</user>", " a=1<b>"])
def test_a_tag_that_is_not_complete_is_an_error_at_the_top(name, rest):
    assert codes(f"<{name}{rest}")[0] == ("broken-tag", f"<{name}")


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_value_that_never_ends_is_an_error_at_the_top(quote):
    assert codes(f"<user a={quote}b>c</user>") == [("unterminated", f"a={quote}")]


def test_what_never_ends_is_said_once_and_is_text():
    assert codes("<user>RAW|x RAW|y</user>") == [("unterminated", "RAW|")]
    assert codes("<user><!-- x <!-- y</user>") == [("unterminated", "<!--")]
    document, _ = parsed("<user>RAW|x</user>")
    assert text_of(document.elements[0], document.source) == "RAW|x"


def test_an_end_tag_whose_start_tag_is_broken_is_no_second_error():
    assert codes("<user a='1' <\nx</user>") == [("broken-tag", "<user")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("RAW|</user><system>x|RAW", "</user><system>x"),
        ("DRAW|x|RAW", "Dx"),
        ("a RAW| b |RAW c", "a  b  c"),
        ("RAW|RAW|x|RAW", "RAW|x"),
        ('RAW|{"a":"|RAW"}|RAW', '{"a":""}|RAW'),
        ("RAW||RAW", ""),
        ("RAW|<!-- kept -->|RAW", "<!-- kept -->"),
        ("\n RAW|\n\n x \n\n|RAW \n", "\n x \n"),
        ("RAW|a|RAW <!-- between --> RAW|b|RAW", "a  b"),
        ("a <!-- x --> b", "a  b"),
        ("<!-- x -->\n<!-- y -->\n a", "a"),
        ("<!-- </user> RAW| -->a", "a"),
        ("<!---->a", "a"),
        ("<!-->a-->b", "b"),
    ],
)
def test_raw_and_comments(content, expected):
    assert text(content) == expected


def test_raw_and_comments_have_places():
    element, source = only_element("<user>a<!-- b -->RAW|c|RAW</user>")
    first, comment, raw = element.children
    assert (type(first), type(comment), type(raw)) == (TextNode, CommentNode, RawNode)
    assert source.slice(comment.span) == "<!-- b -->"
    assert source.slice(raw.inner) == "c"


def test_text_outside_is_a_warning_with_the_name_that_was_meant():
    _, findings = parsed(
        "# Title\n\n<ruleset>\n  <on/>\n</ruleset>\n<user>x</user>\nmore\n<!-- c -->\n"
    )
    assert [(one.severity, one.underlined, one.help) for one in findings] == [
        (Severity.WARNING, "<ruleset", "did you mean `rules`?"),
        (Severity.WARNING, "more", "move it into a message, such as `<user>`, or into a comment"),
    ]


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\r\n\t", "\ufeff", "\ufeff\n", "<!-- x -->"])
def test_nothing_is_said_of_blanks_outside(blank):
    assert codes(f"{blank}<user>x</user>{blank.removeprefix(chr(0xFEFF))}") == []


def test_raw_outside_hides_what_is_in_it():
    document, findings = parsed("RAW|<user>x</user>|RAW")
    assert document.elements == ()
    assert [one.code for one in findings] == ["chatmd-text-outside"]


@pytest.mark.parametrize(
    "tag", ["<doc src='x'/>", "<img src='x'/>", "<agent src='x'/>", "<summary/>"]
)
def test_inline_elements_at_the_top_have_no_effect_and_that_is_said(tag):
    document, findings = parsed(tag)
    assert len(document.elements) == 1
    assert [(one.code, one.underlined) for one in findings] == [("chatmd-no-effect-here", tag)]


def test_an_archive_is_read_as_the_top():
    text_ = (
        "<archive>\n<user>a <b</user>\n<rules><on/></rules>\n<archive>\n</archive>\n</archive>\n"
    )
    element, _ = only_element(text_)
    inside = [one.name for one in element.children if isinstance(one, Element)]
    assert inside == ["user", "rules", "archive"]
    assert codes("<archive>\nloose\n</user></archive>") == [("stray-end", "</user>")]
    assert codes("<archive>\nloose\n</archive>") == [("text-outside", "loose")]


def test_scripts_hold_their_text_to_the_first_end_tag():
    body = "\nlet f x = x < 1 && RAW| <!-- <user>\n"
    element, source = only_element(f'<script language="chatml" kind="moderator">{body}</script>')
    assert [source.slice(one.span) for one in element.children] == [body]


@pytest.mark.parametrize("name", ["tool", "shell_access"])
def test_every_tag_in_structured_elements_is_an_element(name):
    inner = '<read id="a" path="src"/>\n<policy><rule>a<any_command/></rule></policy>RAW|<b>|RAW'
    element, _ = only_element(f"<{name} name='read_file'>\n{inner}</{name}>")
    inside = [one.name for one in element.children if isinstance(one, Element)]
    assert inside == ["read", "policy"]


def test_findings_are_few_however_long_the_text():
    _, findings = parsed("</user>\nx <!-- -->\n<user/>" * 1_000)
    assert len(findings) == 200
