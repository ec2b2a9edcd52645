"""ChatMD texts: a tree that has the whole text, findings, and blocks that read back."""

from invariants import check_diagnostics, check_span, refused

from bylaw.languages.base import NoSiblingFiles
from bylaw.languages.chatmd.header import expand_imports, read_declarations
from bylaw.languages.chatmd.messages import block, pieces, text_of, write
from bylaw.languages.chatmd.parser import parse
from bylaw.languages.chatmd.scanner import Element
from bylaw.model.source import SourceFile


def chatmd(data):
    """A file, and the same text as the payload of a message."""
    source = refused(SourceFile.decode, "chat.chatmd", data)
    if source is None:
        return
    document, findings = parse(source)
    assert write(document) == source.text
    placed, of_imports = expand_imports(document, NoSiblingFiles())
    _, of_tools = read_declarations(placed)
    if found := [*findings, *of_imports, *of_tools]:
        check_diagnostics(found)
    check_elements(document.elements, source)
    check_payload(source.text)


def check_elements(elements, source):
    """Every attribute and every piece of text can be read."""
    for element in elements:
        check_span(element.span, source)
        for attribute in element.attributes:
            assert len(attribute.places(source)) == len(attribute.value or "") + 1
        pieces(element, source)
        check_elements([one for one in element.children if isinstance(one, Element)], source)


def check_payload(text):
    """Whatever a tool says, it is the text of one message."""
    source = SourceFile("chat.chatmd", block("tool_response", {"tool_call_id": "c"}, text))
    document, findings = parse(source)
    assert not findings
    (message,) = document.elements
    assert text_of(message, source) == text.replace("\0", "\ufffd")
