"""Bylaw: one deterministic rule engine for AI agents.

    engine = bylaw.Engine(bylaw.load(["rules"]))
    decision = engine.decide({"kind": "tool.before", "tool": "shell"})

The public names below are imported on first use, so that `import bylaw` is fast.
"""

from __future__ import annotations

from bylaw.version import __version__

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from bylaw.hosts.policy_functions import (
        load_policies,
        match_pattern,
        pattern_to_regex,
        resolve_pattern,
        validate_pattern,
    )
    from bylaw.hosts.python import Engine, load
    from bylaw.model.decision import Decision
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.errors import BylawError, LoadError, PatternError, PolicyError, RuleError
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.model.vocabulary import Verdict
    from bylaw.model.wire import EventError
    from bylaw.runtime.loader import Library


__all__ = [
    "BylawError",
    "Decision",
    "Diagnostic",
    "Engine",
    "Event",
    "EventError",
    "Library",
    "LoadError",
    "PatternError",
    "PolicyError",
    "RuleError",
    "Session",
    "Verdict",
    "__version__",
    "load",
    "load_policies",
    "match_pattern",
    "pattern_to_regex",
    "resolve_pattern",
    "validate_pattern",
]

_HOMES = {
    "BylawError": "bylaw.model.errors",
    "Decision": "bylaw.model.decision",
    "Diagnostic": "bylaw.model.diagnostic",
    "Engine": "bylaw.hosts.python",
    "Event": "bylaw.model.event",
    "EventError": "bylaw.model.wire",
    "Library": "bylaw.runtime.loader",
    "LoadError": "bylaw.model.errors",
    "PatternError": "bylaw.model.errors",
    "PolicyError": "bylaw.model.errors",
    "RuleError": "bylaw.model.errors",
    "Session": "bylaw.model.session",
    "Verdict": "bylaw.model.vocabulary",
    "load": "bylaw.hosts.python",
    "load_policies": "bylaw.hosts.policy_functions",
    "match_pattern": "bylaw.hosts.policy_functions",
    "pattern_to_regex": "bylaw.hosts.policy_functions",
    "resolve_pattern": "bylaw.hosts.policy_functions",
    "validate_pattern": "bylaw.hosts.policy_functions",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module `bylaw` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - not needed by `bylaw --version`

    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
