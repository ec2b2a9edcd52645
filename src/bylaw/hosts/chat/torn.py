"""A text that does not load → where its last block was torn, if that is all that is wrong.

Only blocks that a chat writes itself are taken for torn; what a person left unfinished is theirs.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.once import parse_once
from bylaw.dialects.chatmd.syntax.parse import parse
from bylaw.model.diagnostic import has_errors
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TRIES = 50
_OURS = re.compile(r"^<(?:assistant|tool_call|tool_response|reasoning)\b", re.MULTILINE)
_ANY = re.compile(
    r"^<(?:assistant|tool_call|tool_response|reasoning|user|system|developer|archive)\b",
    re.MULTILINE,
)
# The beginning of a tag that has no end, at the very end.
_HALF_A_TAG = re.compile(r"^</?[a-z_]*[^<>\n]*\Z", re.MULTILINE)


def torn_at(source: SourceFile, *, shortened: bool) -> int | None:
    """Where the torn block begins; `shortened`: bytes of the file are known to be gone."""
    text = source.text
    if not has_errors(parse_once(source)[1]):
        found = _HALF_A_TAG.search(text)
        return found.start() if shortened and found else None
    for at in islice(_begins(text, _ANY if shortened else _OURS), MAX_TRIES):
        if _is_whole(text[:at]):
            return at if _is_torn(text[at:]) else None
    return None


def _begins(text: str, tag: re.Pattern[str]) -> Iterator[int]:
    """From the end on: the payload of a torn block may look like blocks, too."""
    return reversed([found.start() for found in tag.finditer(text)])


def _is_whole(text: str) -> bool:
    return not has_errors(parse(SourceFile("", text))[1])


def _is_torn(text: str) -> bool:
    """Whether something is wrong with the very element with which a text begins."""
    elements = parse(SourceFile("", text))[0].elements
    if not elements or elements[0].span.start > 0:
        return True  # not even its tag is there
    return not _is_whole(text[: elements[0].span.end])
