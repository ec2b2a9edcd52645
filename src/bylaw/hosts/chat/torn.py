"""Find the torn block at the end of a text that does not load, if nothing else is wrong with it.

A torn block is the beginning of a block that a chat wrote, with nothing after it. A person made all
other errors and must fix them: nothing of them is removed.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.marks import RAW, RAW_END
from bylaw.dialects.chatmd.syntax.once import parse_once
from bylaw.dialects.chatmd.syntax.parse import parse
from bylaw.model.diagnostic import Severity, has_errors
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator

# How many block starts before the first error are tried. The error is inside the torn block.
MAX_TRIES = 3
# Blocks that no person writes. Others can only be torn if bytes of the file are known to be gone.
_OURS = re.compile(r"^<(?:assistant|tool_call|tool_response)\b", re.MULTILINE)
_ANY = re.compile(r"^<(?:assistant|tool_call|tool_response|user|system|developer)\b", re.MULTILINE)
_TAG = re.compile(r'<([a-z_]+)(?: [a-z_]+=(?:"[^"]*"|[^\s<>"]+))*>')
_HALF_A_TAG = re.compile(r'^<[a-z_]+(?: [a-z_]+(?:=(?:"[^"]*"?|[^\s<>"]*))?)* ?\Z', re.MULTILINE)
_BEGIN_OF_RAW = f"\n{RAW}\n"
# An end mark inside the content is written as end mark, end mark, start mark.
_GOES_ON = RAW_END + RAW
_MARK = re.compile(rf"{re.escape(RAW_END)}({re.escape(_GOES_ON)})?")


def torn_at(source: SourceFile, *, shortened: bool) -> int | None:
    """Return where the torn block begins, None if there is none.

    `shortened`: bytes of the file are known to be gone.
    """
    text = source.text
    errors = [one for one in parse_once(source)[1] if one.severity is Severity.ERROR]
    if not errors:
        found = _HALF_A_TAG.search(text)
        return found.start() if shortened and found else None
    begins = _begins(text, _ANY if shortened else _OURS, errors[0].span.start)
    for at in islice(begins, MAX_TRIES):
        if _is_beginning(text[at:]) and _is_whole(text[:at]):
            return at
    return None


def _begins(text: str, block: re.Pattern[str], until: int) -> Iterator[int]:
    """Return where blocks begin, up to `until`, last first."""
    return reversed([found.start() for found in block.finditer(text) if found.start() <= until])


def _is_whole(text: str) -> bool:
    return not has_errors(parse(SourceFile("", text))[1])


def _is_beginning(text: str) -> bool:
    """Whether a text is the incomplete beginning of one block."""
    tag = _TAG.match(text)
    if tag is None:
        return _HALF_A_TAG.fullmatch(text) is not None
    content, end = text[tag.end() :], f"</{tag[1]}>"
    if not content.startswith(_BEGIN_OF_RAW):
        content, less_than, rest = content.partition("<")
        return _is_less_than(end, less_than + rest)
    marks = _MARK.finditer(content, len(_BEGIN_OF_RAW))
    rest = next((content[mark.end() :] for mark in marks if not mark[1]), "")
    return _is_less_than(f"\n{end}", rest) or _is_less_than(_GOES_ON, rest)


def _is_less_than(whole: str, text: str) -> bool:
    return whole.startswith(text) and text != whole
