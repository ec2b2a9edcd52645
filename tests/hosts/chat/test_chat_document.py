"""The page that runs the document's examples quotes them to the byte."""

import re
from pathlib import Path

from bylaw.model.source import SourceFile
from bylaw.report.suites.reader import read_page

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "tests" / "data" / "seeds" / "000_2a4e22493fe0b8d1.txt"
PAGE = ROOT / "spec" / "chatmd" / "chat-document.md"


def test_the_document_is_quoted_unchanged():
    _, _, examples = DOCUMENT.read_text(encoding="utf-8").partition("Representative examples")
    blocks = re.findall(r"(?ms)^```xml\n(.*?)^```$", examples)
    page = read_page(SourceFile.decode(PAGE.name, PAGE.read_bytes()))
    chats = [file.text for case in page.cases for file in case.files if file.word == "chatmd"]

    assert len(blocks) == 7
    assert [block for block in blocks if not any(block in chat for chat in chats)] == []
