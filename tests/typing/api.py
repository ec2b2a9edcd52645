"""The public names and their types: what `mypy` accepts here is the contract."""

from collections.abc import Mapping
from pathlib import Path
from typing import assert_type

import bylaw
from bylaw.model.decision import Plan, Reason, TraceLine
from bylaw.model.event import ToolBefore
from bylaw.model.values import JSON

assert_type(bylaw.__version__, str)


def a_program_loads_rules() -> bylaw.Engine:
    library = bylaw.load(["rules", Path("prompts/main.chatmd")])
    assert_type(library, bylaw.Library)
    assert_type(bylaw.load("rules"), bylaw.Library)
    assert_type(library.diagnostics, tuple[bylaw.Diagnostic, ...])
    try:
        return bylaw.Engine(library)
    except bylaw.LoadError as refused:
        assert_type(refused.diagnostics, list[bylaw.Diagnostic])
        raise


def a_program_decides_events(engine: bylaw.Engine, event: bylaw.Event) -> None:
    assert_type(engine.decide(event), bylaw.Decision)
    assert_type(engine.decide(ToolBefore(tool="shell")), bylaw.Decision)
    decision = engine.decide({"kind": "tool.before", "tool": "shell"})
    assert_type(decision.verdict >= bylaw.Verdict.DENY, bool)
    assert_type(decision.reasons, tuple[Reason, ...])
    assert_type(decision.plans, tuple[Plan, ...])
    assert_type(decision.trace, tuple[TraceLine, ...])


def a_program_looks_at_sessions(engine: bylaw.Engine) -> None:
    assert_type(engine.session, bylaw.Session)
    assert_type(engine.sessions, Mapping[str, bylaw.Session])
    assert_type(engine.state, dict[str, JSON])


def errors_have_one_base(error: bylaw.EventError) -> None:
    base: bylaw.BylawError = error
    assert_type(error.code, str)
    assert_type(error.message, str)
    del base
