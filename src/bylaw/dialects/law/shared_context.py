"""The text of `SHARED_CONTEXT.md` → the phase and the approvals in it; and what a token says.

Everything here errs on the side of less: a phase that is not said exactly once is unknown, a line
that is not exactly an approval is none, and a token that is not exactly one takes away what its
authority granted elsewhere: it may be meant to (LD-A01, LD-A13).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects.law.messages import is_message_id, is_moment
from bylaw.dialects.law.written import PHASES
from bylaw.model.visible import brief, visible
from bylaw.model.vocabulary import ApprovalState, Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

# A longer text says nothing: half of it could lack the line that revokes.
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
_GRANTS = "Approved"
_REFUSES = re.compile(r"(?:rejected|revoked)\b", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DIGEST = re.compile(r"[ \t]*digest[ \t]*:(.*)", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{16,128}")


class FoundPhase(Struct, frozen=True):
    """The phase, or why it is unknown."""

    phase: int | None
    why: str = ""


class FoundApproval(Struct, frozen=True, kw_only=True):
    """What one line says."""

    msg_id: str
    authority: str
    category: str = ""
    state: ApprovalState
    text: str
    line: int


class Token(Struct, frozen=True):
    """What a token file says, and the digest that it binds itself to."""

    state: ApprovalState
    digest: str = ""


def read_phase(text: str) -> FoundPhase:
    """The phase, if exactly one line says it (LD-016, LD-017)."""
    if len(text) > MAX_CHARS:
        return FoundPhase(None, _too_long())
    said = [
        (number, found[1], found[2].strip())
        for number, line in _lines(text)
        if (found := _PHASE_LINE.fullmatch(_bare(line)))
    ]
    if not said:
        return FoundPhase(None, "no line says `Active Phase: N`")
    if len(said) > 1:
        numbers = ", ".join(str(number) for number, _, _ in said[:3])
        return FoundPhase(None, f"more than one line says `Active Phase`: {numbers}")
    number, name, value = said[0]
    if name == "Active Phase" and value in map(str, PHASES):
        return FoundPhase(int(value))
    shown = visible(brief(f"{name}: {value}"))
    return FoundPhase(None, f"line {number} says `{shown}`, not `Active Phase: N` with 0 to 4")


def read_approvals(text: str) -> tuple[FoundApproval, ...]:
    """All approvals for all messages, in the order of the text."""
    if len(text) > MAX_CHARS:
        return ()
    found: list[FoundApproval] = []
    listing = False
    for number, line in _lines(text):
        if heading := _HEADING.fullmatch(line):
            listing = heading.groups() == _SECTION
        elif one := _marker(line, number) or (_listed(line, number) if listing else None):
            found.append(one)
    return _settled(found)


def read_token(text: str) -> Token:
    """What a token file says: an approval to the letter, else a rejection, else nothing clear."""
    first, *others = text.removeprefix("\ufeff").split("\n") if len(text) <= MAX_CHARS else ("",)
    if _REFUSES.match(first.strip()):
        return Token(ApprovalState.REVOKED)  # whatever it was for
    digests = [found[1].strip().lower() for one in others if (found := _DIGEST.fullmatch(one))]
    if first.strip() != _GRANTS or len(digests) > 1:
        return Token(ApprovalState.UNCLEAR)
    if digests and not _HEX.fullmatch(digests[0]):
        return Token(ApprovalState.UNCLEAR)
    return Token(ApprovalState.GRANTED, *digests)


def _too_long() -> str:
    return f"the file has more than {MAX_CHARS:,} characters"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that count: nobody means what stands in a comment or is shown as an example."""
    fence, in_comment = "", False
    # Not `splitlines`: it also parts at characters that look like nothing to a person.
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
    """What of a line stands outside of comments, and whether one goes on behind it."""
    kept = ""
    while line:
        before, mark, line = line.partition("-->" if in_comment else "<!--")
        kept += "" if in_comment else before
        in_comment = in_comment != bool(mark)
    return kept, in_comment


def _bare(line: str) -> str:
    return line.translate(_DECORATION)


def _listed(line: str, number: int) -> FoundApproval | None:
    found = _APPROVAL.fullmatch(line)
    if found is None or not is_moment(*found.groups()[4:10]):
        return None
    mark, msg_id, authority, category = found.groups()[:4]
    state = _STATES[mark.lower()]
    if state is ApprovalState.GRANTED and "revoked" in found[11].lower():
        state = ApprovalState.REVOKED  # its mark was forgotten
    return _known(msg_id, authority, state, line, number, category)


def _marker(line: str, number: int) -> FoundApproval | None:
    found = _MARKER.fullmatch(_bare(line))
    if found is None:
        return None
    return _known(found[2], found[3], _STATES[found[1]], line, number)


def _known(
    msg_id: str, authority: str, state: ApprovalState, line: str, number: int, category: str = ""
) -> FoundApproval | None:
    if not is_message_id(msg_id) or authority.lower() not in set(Authority):
        return None
    return FoundApproval(
        msg_id=msg_id,
        authority=authority.lower(),
        category=category,
        state=state,
        text=line.strip(),
        line=number,
    )


def _settled(found: list[FoundApproval]) -> tuple[FoundApproval, ...]:
    """A rejection cancels wherever it stands, a revoked line what stands before it."""
    revoked = {_whose(one) for one in found if _is_rejection(one)}
    settled: list[FoundApproval] = []
    for one in reversed(found):
        if one.state is not ApprovalState.GRANTED:
            revoked.add(_whose(one))
        cancelled = one.state is ApprovalState.GRANTED and _whose(one) in revoked
        settled.append(replace(one, state=ApprovalState.REVOKED) if cancelled else one)
    return tuple(reversed(settled))


def _is_rejection(one: FoundApproval) -> bool:
    return one.state is ApprovalState.REVOKED and not one.category


def _whose(one: FoundApproval) -> tuple[str, str]:
    return one.msg_id, one.authority
