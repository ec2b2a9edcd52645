"""The Bylaw side: the guards loaded as rule files load them, over the views that decisions use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bucket import Contender, together

from bylaw.expr.condition_environment import ConditionView
from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import CallCount, GuardView, guard_environment
from bylaw.expr.limits import Fault
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from bucket import Bucket, Facts


def contender(bucket: Bucket) -> Contender:
    """Three compiled guards, budgets in."""
    guards = together(tuple(_LOAD[bucket.name](text) for text in bucket.guards), Fault)
    return Contender("bylaw", "three compiled guards, budgets in", VIEW_OF[bucket.name], guards)


def _load_guard(text: str) -> Callable[[Any], Any]:
    span = Span(0, len(text))
    return load_guard(SourceFile("guard", text), span, guard_environment()).function


def _load_condition(text: str) -> Callable[[Any], Any]:
    return load_condition(SourceFile("condition", text), Span(0, len(text))).function


def _guard_view(facts: Facts) -> GuardView:
    return GuardView(
        turn_index=facts["turn_index"],
        context_tokens=facts["context_tokens"],
        last_role=facts["last_role"],
        tool_name=facts["event"]["tool"]["name"],
        calls={name: CallCount(1, 1) for name in facts["called"]},
    )


def _condition_view(facts: Facts) -> ConditionView:
    return ConditionView(
        turn_token_usage=facts["turn"]["token_usage"],
        history_total_tool_calls=facts["history"]["total_tool_calls"],
        result=facts["result"],
    )


_LOAD = {"chat": _load_guard, "toml": _load_condition}
VIEW_OF = {"chat": _guard_view, "toml": _condition_view}
