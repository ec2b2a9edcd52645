"""A TOML rule as written → the rule that the engine runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bylaw.dialects.toml_rules.actions import step_maker
from bylaw.dialects.toml_rules.script import ScriptGuard
from bylaw.dialects.toml_rules.written import Hook
from bylaw.expr.condition_reader import condition_reader
from bylaw.expr.expression import known_condition
from bylaw.expr.expression_guard import ExpressionGuard
from bylaw.model.procedure import Flow, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import NO_LIMITS, Limits, Origin, PlanForm, Rule, Trigger
from bylaw.model.slate import variable_space
from bylaw.model.source import SourceFile, Span
from bylaw.model.uid import uid_of
from bylaw.model.vocabulary import CallStatus, Kind

if TYPE_CHECKING:
    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.toml_rules.written import WrittenRule
    from bylaw.model.rule import Guard

PROCEDURE = Procedure(
    order=(SortKey.PRIORITY_DESCENDING, SortKey.ID),
    flow=Flow.ALL,
    guard_error=GuardFault.SKIP,
    failed_step=StepFault.RECORD,
)


TRIGGERS = {
    Hook.QUERY_START: Trigger.of_main_agent(Kind.PROMPT),
    Hook.TURN_START: Trigger.of_main_agent(Kind.TURN_START),
    Hook.TURN_END: Trigger.of_main_agent(Kind.TURN_END),
    Hook.TOOL_CALL: Trigger.once(Kind.TOOL_BEFORE),
    Hook.TOOL_COMPLETE: Trigger.once(Kind.TOOL_AFTER, CallStatus.OK),
    Hook.TOOL_FAILURE: Trigger.once(Kind.TOOL_AFTER, CallStatus.ERROR, CallStatus.TIMEOUT),
    Hook.SESSION_END: Trigger.of_main_agent(Kind.SESSION_END),
}
# A session may be closed twice, but it ends only once (TR-035).
_ONCE = Limits(once=True)
_reader = lru_cache(maxsize=64)(condition_reader)


def lowered(written: WrittenRule, file: RuleFile, dialect: str, script: str) -> Rule:
    """Lower a rule. `script` is the text of its script, if it has one."""
    space = variable_space(dialect, written.plugin_id)
    return Rule(
        uid=uid_of(dialect, file.path, written.id),
        id=written.id,
        origin=Origin(file.path, written.line, written.column, file.digest),
        on=TRIGGERS[written.trigger],
        limits=_ONCE if written.trigger is Hook.SESSION_END else NO_LIMITS,
        guard=_guard(written, file, script, space),
        plan=PlanForm(steps=(step_maker(written.action, space),)),
        priority=written.priority,
        enabled=written.enabled,
        core=written.core,
        about=_about(written),
    )


def _guard(written: WrittenRule, file: RuleFile, script: str, space: str) -> Guard:
    if written.script:
        return ScriptGuard(written.script, script, space)
    text = written.expression
    expression = known_condition(SourceFile(file.path, text), Span(0, len(text)))
    return ExpressionGuard(expression, _reader(space))


def _about(written: WrittenRule) -> dict[str, str]:
    about = {
        "name": written.name,
        "description": written.description,
        "version": written.version,
        "trigger": written.trigger.value,
        "plugin_id": written.plugin_id,
    }
    return {key: text for key, text in about.items() if text}
