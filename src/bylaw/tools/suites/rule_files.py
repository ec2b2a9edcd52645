"""Decide events of a case like `bylaw decide --state`, with the installed languages."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from bylaw.dialects import dialect_names
from bylaw.engine.index import RuleSet
from bylaw.model.decision import NeedName
from bylaw.runtime.loading import load_paths
from bylaw.runtime.scripts import ScriptRunner
from bylaw.tools.decide_events import EventDecider
from bylaw.tools.suites.deciding import Decided, Decider

if TYPE_CHECKING:
    from collections.abc import Sequence


def installed_decider() -> Decider:
    """Return a decider that works like `bylaw decide`."""
    return Decider(decide_files, dialect_names())


def decide_files(paths: Sequence[str], events: bytes) -> Decided:
    """Load the files from the current folder and decide the events in order."""
    library = load_paths(paths)
    if library.refusals:
        return Decided([], library.diagnostics)
    with ScriptRunner() as scripts:
        gatherers = {NeedName.SCRIPTS: scripts.gather}
        decider = EventDecider(RuleSet(library.in_force()), with_state=True, gatherers=gatherers)
        return Decided(list(decider.decide_stream(BytesIO(events))), library.diagnostics)
