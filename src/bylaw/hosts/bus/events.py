"""Message files and file changes → events with the facts that RULE_DSL needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.bus.ledger import MessageState
from bylaw.languages.law.messages import is_request
from bylaw.model.event import ApprovalGiven, Bus, File
from bylaw.model.facts import Approval, LawFacts
from bylaw.model.rule import message_field
from bylaw.model.vocabulary import ApprovalState
from bylaw.paths import normalise_foreign
from bylaw.worktree.changes import by_its_name, leads_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.bus.active_rules import ActiveRules, LawEvent
    from bylaw.hosts.bus.ledger import Ledger
    from bylaw.hosts.bus.message_file import MessageFile
    from bylaw.hosts.bus.statements import Approvals, Statement
    from bylaw.hosts.bus.watcher.scan import FileChange
    from bylaw.model.values import JSON

SESSION = "bus"


class Events:
    """Make the events of one root."""

    def __init__(
        self, root: str, in_force: ActiveRules, approvals: Approvals, ledger: Ledger
    ) -> None:
        self._root = root
        self._active_rules = in_force
        self._approvals = approvals
        self._ledger = ledger

    def of_message(self, file: MessageFile) -> Bus:
        """The event of a message file, without approvals. The file may hold no valid message."""
        return self._with_settings(message_event(self._root, file))

    def with_approvals(self, event: Bus, msg_id: str) -> Bus:
        """Add the approvals of the message; for a request, those of the message it is about."""
        if is_request(event.message):
            about = str(message_field(event, "origin_ref"))
            said = self._approvals.found(about)
            known = self._ledger.known(about)
            withdrawn = known is not None and known.state is MessageState.WITHDRAWN
            approvals = tuple(_unbound_approval(about, one) for one in said)
            facts = replace(event.facts, approvals=approvals, withdrawn=withdrawn)
        else:
            facts = replace(event.facts, approvals=self._approvals.facts(msg_id, event.digest))
        return replace(event, facts=facts)

    def for_approval(self, approval: Approval) -> ApprovalGiven:
        """The event of an approval or a rejection."""
        event = ApprovalGiven(
            session=SESSION,
            id=approval.id,
            authority=approval.authority,
            granted=approval.state is ApprovalState.GRANTED,
            digest=approval.digest,
        )
        return self._with_settings(event)

    def for_change(self, change: FileChange, *, outside: bool = False) -> File:
        """The event of a file change."""
        event = File(
            session=SESSION,
            actor=change.actor,
            change=change.change,
            path=change.path,
            old_path=change.old_path,
            facts=LawFacts(outside=(change.path,) if outside else ()),
        )
        return self._with_settings(by_its_name(event))

    def _with_settings(self, event: LawEvent) -> LawEvent:
        phase = self._approvals.files.context().phase.phase
        return self._active_rules.with_facts(event, phase)


def message_event(root: str, file: MessageFile) -> Bus:
    """Make the event of a message file, with the facts that the file alone gives."""
    unreadable = file.unreadable
    message = file.raw.decode("utf-8", "backslashreplace") if unreadable else file.message
    event = Bus(session=SESSION, message=message, digest=file.digest, file=file.name)
    outside = tuple(paths_outside(root, message_field(event, "target_paths")))
    return replace(event, facts=LawFacts(unreadable=unreadable, outside=outside))


def paths_outside(root: str, targets: JSON) -> Iterator[str]:
    """Yield the paths that lead out of the root, for example through a link (LD-012, LD-031)."""
    for path in targets if isinstance(targets, list) else ():
        normal = normalise_foreign(path) if isinstance(path, str) else None
        if normal is not None and leads_out(root, normal):
            yield str(path)


def _unbound_approval(about: str, said: Statement) -> Approval:
    return Approval(id=about, authority=said.authority, category=said.category, state=said.state)
