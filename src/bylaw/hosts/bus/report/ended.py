"""List the messages that have ended, from the ledger and from refusals that it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.bus.ledger.ledger import ENDED, MessageState
from bylaw.hosts.bus.messages.evidence import newest_error
from bylaw.hosts.bus.messages.folders import ERROR
from bylaw.tools.bus_report import Ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.bus.ledger.ledger import Known, Ledger
    from bylaw.hosts.bus.messages.seen_folders import SeenFolders


def ended(
    bus: SeenFolders, ledger: Ledger | None, refusals: Sequence[Ended], limit: int
) -> list[Ended]:
    """The messages that ended last, newest first."""
    known = [] if ledger is None else ledger.recent(limit, *ENDED)
    failed = any(one.state is MessageState.FAILED for one in known)
    evidence = bus.names(ERROR) if failed else []
    told = [
        Ended(
            name=one.msg_id,
            state=one.state.value,
            at=one.at,
            why=one.why or _where_told(bus, one, evidence),
        )
        for one in known
    ]
    return sorted([*told, *refusals], key=lambda one: -one.at)[:limit]


def counts(ledger: Ledger | None, refused: int) -> dict[str, int]:
    """The number of messages in each end state. `refused` adds those that the ledger lacks."""
    counted = {} if ledger is None else ledger.counts()
    found = {state.value: counted.get(state, 0) for state in ENDED}
    return found | {MessageState.REFUSED.value: found[MessageState.REFUSED.value] + refused}


def _where_told(bus: SeenFolders, known: Known, evidence: Sequence[str]) -> str:
    """Where evidence of a failure is. A failure has no reason, because no rule decided it."""
    if known.state is not MessageState.FAILED:
        return ""
    newest = newest_error(bus, evidence, known.msg_id)
    return "" if newest is None else f"see `{bus.shown(ERROR, newest)}`"
