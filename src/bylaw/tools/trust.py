"""Show, store and remove the trust of the current root: the work behind `bylaw trust`."""

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
    """What a root asks for, whether it is trusted, and the changes since it was trusted."""

    root: str
    request: Request
    trust: Trust
    since: str
    changes: TrustChanges | None
    diagnostics: tuple[Diagnostic, ...]


def look(tell: Callable[[str], None] | None = None) -> TrustReport:
    """Load the books of the root. Raise LoadError if the list of books is not known."""
    root = find_root()
    configuration = read_configuration(root)
    library = load(discover(root, configuration), tell)
    if library.refusals:
        raise LoadError(list(library.refusals))
    request = request_of(library, configuration)
    return _report(root, request, library.diagnostics)


def refuse_grant(report: TrustReport) -> None:
    """Raise BylawError if an agent runs this process, or if trust cannot be stored."""
    refuse_agents("trust")
    user_state(report.root)


def grant(report: TrustReport) -> TrustReport:
    """Store that a person trusts the request of the report. Raise BylawError on failure."""
    refuse_grant(report)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    keep_record(report.root, report.request.granted(report.root, at))
    return _report(report.root, report.request, report.diagnostics)


def revoke() -> bool:
    """Remove the trust of the root. Return False if there was none."""
    return forget_record(find_root())


def _report(root: str, request: Request, diagnostics: tuple[Diagnostic, ...]) -> TrustReport:
    try:
        record = read_record(root)
    except BylawError:
        record = None  # `judged` reports the reason
    changes = None if record is None else changes_since(record, request)
    since = "" if record is None else record.at
    return TrustReport(root, request, judged(root, request), since, changes, diagnostics)
