"""The text of `SHARED_CONTEXT.md` → its phase and approvals; and the text of a token file.

In doubt, nothing is approved (LD-A01, LD-A13):

- a phase that is not given exactly once is unknown
- a line that is not exactly an approval is ignored
- an unclear token revokes what its authority approved elsewhere, because it may be meant to
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.law.messages import is_message_id, is_valid_time
from bylaw.languages.law.syntax import PHASES
from bylaw.model.display import brief, visible
from bylaw.model.vocabulary import ApprovalState, Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

# A longer text is ignored: a part of it could lack the line that revokes an approval.
MAX_CHARS = 4_000_000

_LIST_MARK = r"(?:[-+*][ \t]+|[0-9]{1,9}[.)][ \t]+)?"
_DECORATION = str.maketrans("", "", "*`")
_PHASE_LINE = re.compile(rf"[ \t]*{_LIST_MARK}(Active Phase)[ \t]*:(.*)", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}(#{1,2})[ \t]+(.*?)[ \t]*#*[ \t]*")
_SECTION = ("##", "Active Approvals")
_ID = r"([A-Za-z0-9_-]+)"
_APPROVAL = re.compile(
    rf"[ \t]*[-*+][ \t]+\[([xX~!])\][ \t]+{_ID}[ \t]*\|[ \t]*([A-Za-z]+)[ \t]*\|[ \t]*Cat-([A-D])"
    r"[ \t]*\|[ \t]*([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.[0-9]+)?(?:Z|\+00:00)(|[ \t|].*)"
)
_MARKER = re.compile(
    rf"[ \t]*{_LIST_MARK}DECISION:[ \t]+(APPROVED|REJECTED)[ \t]+{_ID}"
    r"[ \t]+BY[ \t]+([A-Za-z]+)[ \t]*"
)
_STATES = {
    "x": ApprovalState.GRANTED,
    "~": ApprovalState.REVOKED,
    "!": ApprovalState.EXPIRED,
    "APPROVED": ApprovalState.GRANTED,
    "REJECTED": ApprovalState.REVOKED,
}
_GRANT_TEXT = "Approved"
_REJECTION = re.compile(r"(?:rejected|revoked)\b", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DIGEST = re.compile(r"[ \t]*digest[ \t]*:(.*)", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{16,128}")


class PhaseResult(Struct, frozen=True):
    """The phase, or why it is unknown."""

    phase: int | None
    why: str = ""


class ApprovalLine(Struct, frozen=True, kw_only=True):
    """An approval, or the opposite of one, as one line states it."""

    msg_id: str
    authority: str
    category: str = ""
    state: ApprovalState
    text: str
    line: int


class Token(Struct, frozen=True):
    """The state that a token file gives, and the digest that it is limited to."""

    state: ApprovalState
    digest: str = ""


def read_phase(text: str) -> PhaseResult:
    """Return the phase, if exactly one line gives it (LD-016, LD-017)."""
    if len(text) > MAX_CHARS:
        return PhaseResult(None, _too_long())
    said = [
        (number, found[1], found[2].strip())
        for number, line in _lines(text)
        if (found := _PHASE_LINE.fullmatch(_strip_decoration(line)))
    ]
    if not said:
        return PhaseResult(None, "no line says `Active Phase: N`")
    if len(said) > 1:
        numbers = ", ".join(str(number) for number, _, _ in said[:3])
        return PhaseResult(None, f"more than one line says `Active Phase`: {numbers}")
    number, name, value = said[0]
    if name == "Active Phase" and value in map(str, PHASES):
        return PhaseResult(int(value))
    shown = visible(brief(f"{name}: {value}"))
    return PhaseResult(None, f"line {number} says `{shown}`, not `Active Phase: N` with 0 to 4")


def read_approvals(text: str) -> tuple[ApprovalLine, ...]:
    """Return all approvals for all messages, in the order of the text."""
    if len(text) > MAX_CHARS:
        return ()
    found: list[ApprovalLine] = []
    listing = False
    for number, line in _lines(text):
        if heading := _HEADING.fullmatch(line):
            listing = heading.groups() == _SECTION
        elif one := _read_marker_line(line, number) or (
            _read_list_line(line, number) if listing else None
        ):
            found.append(one)
    return _apply_revocations(found)


def read_token(text: str) -> Token:
    """Read a token file: a rejection, an exact approval, or unclear."""
    first, *others = text.removeprefix("\ufeff").split("\n") if len(text) <= MAX_CHARS else ("",)
    if _REJECTION.match(first.strip()):
        return Token(ApprovalState.REVOKED)  # for every digest
    digests = [found[1].strip().lower() for one in others if (found := _DIGEST.fullmatch(one))]
    if first.strip() != _GRANT_TEXT or len(digests) > 1:
        return Token(ApprovalState.UNCLEAR)
    if digests and not _HEX.fullmatch(digests[0]):
        return Token(ApprovalState.UNCLEAR)
    return Token(ApprovalState.GRANTED, *digests)


def _too_long() -> str:
    return f"the file has more than {MAX_CHARS:,} characters"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines outside comments and code fences, with their numbers."""
    fence, in_comment = "", False
    # Not `splitlines`: it also splits at characters that a person cannot see.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r")
        if fence:
            fence = (
                "" if line.strip().startswith(fence) and not line.strip(f" \t{fence[0]}") else fence
            )
            continue
        line, in_comment = _without_comments(line, in_comment=in_comment)
        opened = _FENCE.match(line)
        if opened:
            fence = opened[1]
        elif line:
            yield number, line


def _without_comments(line: str, *, in_comment: bool) -> tuple[str, bool]:
    """Return the part of a line outside comments, and whether a comment continues after it."""
    kept = ""
    while line:
        before, mark, line = line.partition("-->" if in_comment else "<!--")
        kept += "" if in_comment else before
        in_comment = in_comment != bool(mark)
    return kept, in_comment


def _strip_decoration(line: str) -> str:
    return line.translate(_DECORATION)


def _read_list_line(line: str, number: int) -> ApprovalLine | None:
    found = _APPROVAL.fullmatch(line)
    if found is None or not is_valid_time(*found.groups()[4:10]):
        return None
    mark, msg_id, authority, category = found.groups()[:4]
    state = _STATES[mark.lower()]
    if state is ApprovalState.GRANTED and "revoked" in found[11].lower():
        state = ApprovalState.REVOKED  # the text says so, although the mark was not changed
    return _approval_line(msg_id, authority, state, line, number, category)


def _read_marker_line(line: str, number: int) -> ApprovalLine | None:
    found = _MARKER.fullmatch(_strip_decoration(line))
    if found is None:
        return None
    return _approval_line(found[2], found[3], _STATES[found[1]], line, number)


def _approval_line(
    msg_id: str, authority: str, state: ApprovalState, line: str, number: int, category: str = ""
) -> ApprovalLine | None:
    if not is_message_id(msg_id) or authority.lower() not in set(Authority):
        return None
    return ApprovalLine(
        msg_id=msg_id,
        authority=authority.lower(),
        category=category,
        state=state,
        text=line.strip(),
        line=number,
    )


def _apply_revocations(found: list[ApprovalLine]) -> tuple[ApprovalLine, ...]:
    """Apply revocations: a rejection cancels all approvals, a revoked line only earlier ones."""
    revoked = {_approval_key(one) for one in found if _is_rejection(one)}
    settled: list[ApprovalLine] = []
    for one in reversed(found):
        if one.state is not ApprovalState.GRANTED:
            revoked.add(_approval_key(one))
        cancelled = one.state is ApprovalState.GRANTED and _approval_key(one) in revoked
        settled.append(replace(one, state=ApprovalState.REVOKED) if cancelled else one)
    return tuple(reversed(settled))


def _is_rejection(one: ApprovalLine) -> bool:
    return one.state is ApprovalState.REVOKED and not one.category


def _approval_key(one: ApprovalLine) -> tuple[str, str]:
    return one.msg_id, one.authority
