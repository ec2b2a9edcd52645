"""Read the statements of authorities about a message, and find the valid approvals (LD-A13).

There are three forms: lines of the list, `DECISION` lines and token files. The ledger binds each
approval to the digest that the message had when the approval was first seen. So an approval never
applies to a message that replaced another.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.facts import Approval
from bylaw.model.vocabulary import ApprovalState, Authority
from bylaw.runtime.approval_watch import UNKNOWN
from bylaw.runtime.shared_files import SHARED_CONTEXT, SharedFiles, line_mark

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from bylaw.dialects.law.shared_context import FoundApproval
    from bylaw.hosts.bus.ledger.ledger import Ledger
    from bylaw.runtime.approval_watch import ApprovalWatch, Mark
    from bylaw.runtime.shared_files import TokenFile

MAX_APPROVALS = 100  # of one message


class Opinion(Struct, frozen=True, kw_only=True):
    """One statement of an authority; `source` identifies it.

    `digest` is the digest that the statement names itself, `where` is for people. `stands` is false
    if the statement was revoked or replaced, or if an agent may have written it, which its `mark`
    shows.
    """

    authority: str
    category: str = ""
    state: ApprovalState
    source: str
    digest: str = ""
    where: str
    mark: Mark
    stands: bool = True

    @property
    def grants(self) -> bool:
        """Whether it approves the message."""
        return self.state is ApprovalState.GRANTED

    def is_for_another(self, digest: str) -> bool:
        """Whether this approval does not apply because the message has another digest now.

        Both digests must be known. Rejections apply to every version.
        """
        return self.grants and bool(digest and self.digest) and self.digest != digest


class Approvals:
    """The approvals of one root. Threads may share it."""

    def __init__(self, root: str, bus_path: str, ledger: Ledger) -> None:
        self.files = SharedFiles(root, bus_path)
        self._ledger = ledger

    def found(self, msg_id: str) -> tuple[Opinion, ...]:
        """The valid statements about a message. Binds nothing."""
        return standing(self.files, msg_id)

    def facts(self, msg_id: str, digest: str) -> tuple[Approval, ...]:
        """Bind new statements, and return the valid ones as facts for rules.

        Revoked statements are bound too: if they become valid again, they apply to the same digest
        as before. Without any statement, the digest is recorded, and later approvals apply to it.
        """
        said = said_of(self.files, msg_id)
        bound = self._ledger.bind_all(msg_id, {one.source: one.digest for one in said}, digest)
        return tuple(as_fact(msg_id, one, bound[one.source]) for one in _standing(said))


def said_of(files: SharedFiles, msg_id: str) -> tuple[Opinion, ...]:
    """All statements about a message, including those that are no longer valid."""
    context = files.context()
    lines = _from_lines(context.lines.get(msg_id, ()))
    tokens = _from_tokens(msg_id, files.tokens(msg_id))
    unread = _unread_lines(msg_id) if context.unclear else []
    said = (*lines, *tokens, *unread)
    against, watch = _against(lines, tokens), files.watch()
    unclear = {one.authority for one in said if one.state is ApprovalState.UNCLEAR}
    found = {one.source: replace(one, stands=_stands(one, against, unclear, watch)) for one in said}
    # Valid statements first, rejections before approvals, so that the limit cuts no rejection.
    ordered = sorted(found.values(), key=lambda one: (not one.stands, one.grants))
    return tuple(ordered[:MAX_APPROVALS])


def standing(files: SharedFiles, msg_id: str) -> tuple[Opinion, ...]:
    """The valid statements: rejections and unclear ones, and approvals of other authorities."""
    return _standing(said_of(files, msg_id))


def standing_for(
    files: SharedFiles, ledger: Ledger | None, msg_id: str, digest: str
) -> tuple[Opinion, ...]:
    """The valid statements, each with the digest that it applies to. Binds nothing.

    `digest` is the present digest of the message.
    """
    said = standing(files, msg_id)
    if ledger is None:
        return tuple(replace(one, digest=one.digest or digest) for one in said)
    return tuple(
        replace(one, digest=ledger.meant(msg_id, one.source, one.digest, digest)) for one in said
    )


def as_fact(msg_id: str, said: Opinion, digest: str) -> Approval:
    """Convert a statement to the fact that rules read."""
    return Approval(
        id=msg_id,
        authority=said.authority,
        category=said.category,
        state=said.state,
        digest=digest,
    )


def _standing(said: Iterable[Opinion]) -> tuple[Opinion, ...]:
    return tuple(one for one in said if one.stands)


def _from_lines(lines: Iterable[FoundApproval]) -> list[Opinion]:
    return [
        Opinion(
            authority=one.authority,
            category=one.category,
            state=one.state,
            source=_digest("line", one.text),
            where=f"{SHARED_CONTEXT}:{one.line}",
            mark=line_mark(one),
        )
        for one in lines
    ]


def _from_tokens(msg_id: str, tokens: Iterable[TokenFile]) -> list[Opinion]:
    return [
        Opinion(
            authority=one.authority,
            state=one.token.state,
            source=_digest("token", msg_id, one.authority, one.text, *map(str, one.file)),
            digest=one.token.digest,
            where=one.where,
            mark=one.mark,
        )
        for one in tokens
    ]


def _unread_lines(msg_id: str) -> list[Opinion]:
    """One unclear statement for each authority, for a shared context that cannot be read."""
    return [
        Opinion(
            authority=one.value,
            state=ApprovalState.UNCLEAR,
            source=_digest("unread", msg_id, one.value),
            where=SHARED_CONTEXT,
            mark=UNKNOWN,
        )
        for one in Authority
    ]


def _stands(
    said: Opinion, against: Container[str], unclear: Container[str], watch: ApprovalWatch
) -> bool:
    if said.state is ApprovalState.UNCLEAR:
        return True
    if not said.grants:
        return said.authority in against
    doubted = said.authority in against or said.authority in unclear
    return not doubted and watch.counts(said.mark)


def _against(lines: Iterable[Opinion], tokens: Iterable[Opinion]) -> set[str]:
    """The authorities that reject: by any token, or by lines of which none approves any more."""
    refusing = {one.authority for one in tokens if one.state is ApprovalState.REVOKED}
    granting = {one.authority for one in lines if one.grants}
    return refusing | ({one.authority for one in lines} - granting)


def _digest(*words: str) -> str:
    return sha256(repr(words).encode("utf-8", "surrogatepass")).hexdigest()
