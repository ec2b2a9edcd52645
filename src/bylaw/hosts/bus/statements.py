"""The statements of authorities about a message, and which approvals are valid (LD-A13).

There are three forms: lines of the list, `DECISION` lines and token files. The ledger binds each
approval to the digest that the message had when the approval was first seen. So an approval never
applies to a message that replaced another. The approvals that a rule needs are checked again right
before its command starts, and whenever a source of approvals changes during the run (design 7.1).
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.engine.gates import is_open
from bylaw.engine.view import View
from bylaw.hosts.bus.evidence import message_id
from bylaw.model.errors import BylawError
from bylaw.model.event import Bus
from bylaw.model.facts import Approval
from bylaw.model.rule import ApprovalGate, CategoryGate
from bylaw.model.session import Session
from bylaw.model.vocabulary import ApprovalState, Authority
from bylaw.runtime.approvals import UNKNOWN_KEY
from bylaw.runtime.sandbox.client import Cancellation
from bylaw.runtime.shared_context import SHARED_CONTEXT, SharedFiles, line_key

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.hosts.bus.ledger import Ledger
    from bylaw.languages.law.shared_context import ApprovalLine
    from bylaw.model.event import Event
    from bylaw.model.rule import Gate, Rule
    from bylaw.runtime.approvals import ApprovalKey, ApprovalWatch
    from bylaw.runtime.shared_context import TokenFile

    # A message and its digest → its approvals now.
    ApprovalsOf = Callable[[str, str], tuple[Approval, ...]]


MAX_APPROVALS = 100  # of one message


class Statement(Struct, frozen=True, kw_only=True):
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
    mark: ApprovalKey
    is_valid: bool = True

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

    def found(self, msg_id: str) -> tuple[Statement, ...]:
        """The valid statements about a message. Binds nothing."""
        return valid_statements(self.files, msg_id)

    def facts(self, msg_id: str, digest: str) -> tuple[Approval, ...]:
        """Bind new statements, and return the valid ones as facts for rules.

        Revoked statements are bound too: if they become valid again, they apply to the same digest
        as before. Without any statement, the digest is recorded, and later approvals apply to it.
        """
        said = statements_about(self.files, msg_id)
        bound = self._ledger.bind_all(msg_id, {one.source: one.digest for one in said}, digest)
        return tuple(as_fact(msg_id, one, bound[one.source]) for one in _only_valid(said))


def statements_about(files: SharedFiles, msg_id: str) -> tuple[Statement, ...]:
    """All statements about a message, including those that are no longer valid."""
    context = files.context()
    lines = _from_lines(context.lines.get(msg_id, ()))
    tokens = _from_tokens(msg_id, files.tokens(msg_id))
    unread = _unclear_statements(msg_id) if context.unclear else []
    said = (*lines, *tokens, *unread)
    against, watch = _rejecting_authorities(lines, tokens), files.watch()
    unclear = {one.authority for one in said if one.state is ApprovalState.UNCLEAR}
    found = {
        one.source: replace(one, is_valid=_is_valid(one, against, unclear, watch)) for one in said
    }
    # Valid statements first, rejections before approvals, so that the limit cuts no rejection.
    ordered = sorted(found.values(), key=lambda one: (not one.is_valid, one.grants))
    return tuple(ordered[:MAX_APPROVALS])


def valid_statements(files: SharedFiles, msg_id: str) -> tuple[Statement, ...]:
    """The valid statements: rejections and unclear ones, and approvals of other authorities."""
    return _only_valid(statements_about(files, msg_id))


def valid_statements_with_digests(
    files: SharedFiles, ledger: Ledger | None, msg_id: str, digest: str
) -> tuple[Statement, ...]:
    """The valid statements, each with the digest that it applies to. Binds nothing.

    `digest` is the present digest of the message.
    """
    said = valid_statements(files, msg_id)
    if ledger is None:
        return tuple(replace(one, digest=one.digest or digest) for one in said)
    return tuple(
        replace(one, digest=ledger.digest_for(msg_id, one.source, one.digest, digest))
        for one in said
    )


def as_fact(msg_id: str, said: Statement, digest: str) -> Approval:
    """Convert a statement to the fact that rules read."""
    return Approval(
        id=msg_id,
        authority=said.authority,
        category=said.category,
        state=said.state,
        digest=digest,
    )


def _only_valid(said: Iterable[Statement]) -> tuple[Statement, ...]:
    return tuple(one for one in said if one.is_valid)


def _from_lines(lines: Iterable[ApprovalLine]) -> list[Statement]:
    return [
        Statement(
            authority=one.authority,
            category=one.category,
            state=one.state,
            source=_hash_words("line", one.text),
            where=f"{SHARED_CONTEXT}:{one.line}",
            mark=line_key(one),
        )
        for one in lines
    ]


def _from_tokens(msg_id: str, tokens: Iterable[TokenFile]) -> list[Statement]:
    return [
        Statement(
            authority=one.authority,
            state=one.token.state,
            source=_hash_words("token", msg_id, one.authority, one.text, *map(str, one.file)),
            digest=one.token.digest,
            where=one.where,
            mark=one.mark,
        )
        for one in tokens
    ]


def _unclear_statements(msg_id: str) -> list[Statement]:
    """One unclear statement for each authority, for a shared context that cannot be read."""
    return [
        Statement(
            authority=one.value,
            state=ApprovalState.UNCLEAR,
            source=_hash_words("unread", msg_id, one.value),
            where=SHARED_CONTEXT,
            mark=UNKNOWN_KEY,
        )
        for one in Authority
    ]


def _is_valid(
    said: Statement, against: Container[str], unclear: Container[str], watch: ApprovalWatch
) -> bool:
    if said.state is ApprovalState.UNCLEAR:
        return True
    if not said.grants:
        return said.authority in against
    doubted = said.authority in against or said.authority in unclear
    return not doubted and watch.counts(said.mark)


def _rejecting_authorities(lines: Iterable[Statement], tokens: Iterable[Statement]) -> set[str]:
    """The authorities that reject: by any token, or by lines of which none approves any more."""
    refusing = {one.authority for one in tokens if one.state is ApprovalState.REVOKED}
    granting = {one.authority for one in lines if one.grants}
    return refusing | ({one.authority for one in lines} - granting)


def _hash_words(*words: str) -> str:
    return sha256(repr(words).encode("utf-8", "surrogatepass")).hexdigest()


REVOKED = "its approval was revoked"


class Revocations:
    """The one command that this process runs, and the approvals that it needs."""

    def __init__(self, approvals: ApprovalsOf) -> None:
        self._approvals = approvals
        self._lock = Lock()
        self._running: tuple[Event, list[Rule], Cancellation] | None = None
        self._ending = Cancellation()

    def may_start(self, event: Event, rules: RuleSet, uid: str) -> bool:
        """Whether a rule has the approvals that it needs now."""
        return self._is_allowed(event, _rules_with_uid(rules, uid))

    @contextmanager
    def watch(self, event: Event, rules: RuleSet, uid: str) -> Iterator[Cancellation]:
        """Yield the cancellation that ends the command of the `with` block on revocation."""
        cancellation = Cancellation()
        with self._lock:
            self._running = (event, _rules_with_uid(rules, uid), cancellation)
        self.end_if_revoked()  # approvals may have changed since `may_start`
        if self._ending.cancelled:
            cancellation.cancel()
        try:
            yield cancellation
        finally:
            with self._lock:
                self._running = None

    def end_if_revoked(self) -> None:
        """End the running command if its approval is gone. Any thread may call this."""
        with self._lock:
            running = self._running
        if running is not None and not self._is_still_allowed(running[0], running[1]):
            running[2].cancel()

    def end(self) -> None:
        """End the running command and every later one. Safe in a signal handler."""
        self._ending.cancel()
        running = self._running
        if running is not None:
            running[2].cancel()

    def _is_still_allowed(self, event: Event, rules: list[Rule]) -> bool:
        try:
            return self._is_allowed(event, rules)
        except BylawError:
            return False  # approvals that cannot be read do not apply

    def _is_allowed(self, event: Event, rules: list[Rule]) -> bool:
        name = message_id(event)
        if not isinstance(event, Bus) or not name:
            return True
        approvals = self._approvals(name, event.digest)
        now = replace(event, facts=replace(event.facts, approvals=approvals))
        view = View.of(Session(id=event.session), now)
        rejected = any(one.state is ApprovalState.REVOKED for one in approvals)
        return any(_is_open(rule, view, rejected=rejected) for rule in rules)


def _rules_with_uid(rules: RuleSet, uid: str) -> list[Rule]:
    return [rule for rule in rules.rules() if rule.uid == uid]


def _is_open(rule: Rule, view: View, *, rejected: bool) -> bool:
    """Whether the gates of a rule allow the command now.

    A rejection ends even a command that needs no approval, such as an emergency.
    """
    approval = [gate for gate in rule.gates if isinstance(gate, ApprovalGate)]
    category = [gate for gate in rule.gates if isinstance(gate, CategoryGate)]
    if rejected and not approval:
        return False
    gates: list[Gate] = [*category, *approval]
    return all(is_open(gate, view) for gate in gates)
