"""Examples of ChatMD texts → what reading them says; see provoke.py."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.languages.chatmd.header import expand_imports, read_declarations
from bylaw.languages.chatmd.parser import parse
from bylaw.languages.chatmd.reader import check_messages
from bylaw.model.source import SourceFile
from bylaw.runtime.rule_files import SiblingFileReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic

CHAT = "chat.chatmd"
# A file that an example may import.
EMPTY = "empty.chatmd"


def chatmd(example: Example) -> Sequence[Diagnostic]:
    """A chat without its rules: text, imports, declarations."""
    document, found = parse(SourceFile(CHAT, example.text))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, EMPTY).touch()
        placed, of_imports = expand_imports(document, SiblingFileReader().of(f"{folder}/{CHAT}"))
    return [*found, *of_imports, *read_declarations(placed)[1], *check_messages(placed)]


READERS: dict[str, Callable[[Example], Sequence[Diagnostic]]] = {"chatmd": chatmd}
