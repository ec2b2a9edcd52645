"""The root at which a person stands → what `bylaw trust` shows, remembers and forgets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.discovery import discover
from bylaw.runtime.known_agents import refuse_agents
from bylaw.runtime.loading import load
from bylaw.runtime.own_folder import user_state
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.trust import changes_since, judged, request_of
from bylaw.runtime.trust_record import forget_record, keep_record, read_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.runtime.trust import Request, Trust, TrustChanges


class TrustReport(Struct, frozen=True):
    """What a root asks for, whether it has it, and how that differs from what it had `since`."""

    root: str
    request: Request
    trust: Trust
    since: str
    changes: TrustChanges | None
    diagnostics: tuple[Diagnostic, ...]


def look(tell: Callable[[str], None] | None = None) -> TrustReport:
    """Load the books of the root; LoadError if what they are cannot be known."""
    root = find_root()
    configuration = read_configuration(root)
    library = load(discover(root, configuration), tell)
    if library.refusals:
        raise LoadError(list(library.refusals))
    request = request_of(library, configuration)
    return _report(root, request, library.diagnostics)


def refuse_grant(report: TrustReport) -> None:
    """BylawError if an agent is at work, or nothing could be remembered."""
    refuse_agents("trust")
    user_state(report.root)


def grant(report: TrustReport) -> TrustReport:
    """Remember that a person trusts what was shown; BylawError if that cannot be."""
    refuse_grant(report)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    keep_record(report.root, report.request.granted(report.root, at))
    return _report(report.root, report.request, report.diagnostics)


def revoke() -> bool:
    """Forget what was trusted of the root; False if there was nothing."""
    return forget_record(find_root())


def _report(root: str, request: Request, diagnostics: tuple[Diagnostic, ...]) -> TrustReport:
    try:
        record = read_record(root)
    except BylawError:
        record = None  # the trust says why
    changes = None if record is None else changes_since(record, request)
    since = "" if record is None else record.at
    return TrustReport(root, request, judged(root, request), since, changes, diagnostics)
