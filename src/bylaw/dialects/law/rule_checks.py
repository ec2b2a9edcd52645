"""Checks of one rule for parts that cannot be combined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.action_reader import AFTER_ERROR, ActionType
from bylaw.dialects.law.written import (
    ASKS_NOBODY,
    NEED_APPROVAL,
    Category,
    CommandType,
    RunCommand,
    TriggerKind,
)
from bylaw.model.codes import law as codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.dialects.law.action_reader import ReadAction
    from bylaw.dialects.law.parts_reader import Guards, ReadTrigger
    from bylaw.dialects.yaml.fields import Fields

_MAY_BRING_COMMANDS = frozenset({*NEED_APPROVAL, Category.D})


def check_rule(
    rule: Fields,
    trigger: ReadTrigger,
    guards: Guards,
    actions: Sequence[ReadAction],
    after_error: Sequence[ReadAction],
) -> None:
    """Report parts of a rule that cannot be combined."""
    _check_after_error(rule, after_error)
    _check_lock_first(rule, guards, actions)
    if CommandType.APPROVAL_REQUEST in trigger.command_types:
        _check_only_tells(rule, (*actions, *after_error))
    _check_run_of_message(rule, trigger, guards, actions)


def _check_after_error(rule: Fields, after_error: Sequence[ReadAction]) -> None:
    """LD-A27: actions after a failure cannot start anything."""
    for action in after_error:
        if action.type not in AFTER_ERROR:
            headline = f"`{action.type}` cannot be in `on_error`"
            help_ = "use only `write_bus` and `release_lock`"
            rule.findings.refuse(codes.LAW_MISPLACED_ACTION, headline, action.place, help_)


def _check_lock_first(rule: Fields, guards: Guards, actions: Sequence[ReadAction]) -> None:
    """LD-A24: without the lock as first action, `require_lock` would have no effect."""
    if guards.require_lock and actions and actions[0].type is not ActionType.TAKE_LOCK:
        headline = "the rule requires a lock, but does not take one first"
        help_ = "begin with `write_processing_lock`, or write `require_lock: false`"
        rule.findings.refuse(codes.LAW_LOCK_FIRST, headline, actions[0].place, help_)


def _check_only_tells(rule: Fields, actions: Iterable[ReadAction]) -> None:
    """LD-A16: an approval request must not start anything or cause another request."""
    for action in actions:
        if action.type is not ActionType.WRITE_BUS:
            headline = f"a rule on `approval_request` cannot have a `{action.type}`"
            help_ = "use only `write_bus`, or remove `approval_request` from `command_types`"
            rule.findings.refuse(codes.LAW_MISPLACED_ACTION, headline, action.place, help_)


def _check_run_of_message(
    rule: Fields, trigger: ReadTrigger, guards: Guards, actions: Sequence[ReadAction]
) -> None:
    """LD-A18: the commands of a message must not run without approval."""
    limited = guards.categories and _MAY_BRING_COMMANDS.issuperset(guards.categories)
    for action in actions:
        if not (isinstance(action.made, RunCommand) and action.made.of_message):
            continue
        if trigger.kind is TriggerKind.FS_EVENT:
            headline, help_ = "a file event has no commands to run", "write the full command"
            span = action.fields.span("cmd")
            rule.findings.refuse(codes.LAW_INTERPOLATION, headline, span, help_)
        elif not limited:
            headline = "`{{run}}` needs a `category_in` of B, C or D only"
            help_ = "write `category_in: [B]` with an approval: a message could claim category A"
            span = action.fields.span("cmd")
            rule.findings.refuse(codes.LAW_RUN_CATEGORY, headline, span, help_)


def check_approval(
    rule: Fields, trigger: ReadTrigger, guards: Guards, actions: Sequence[ReadAction]
) -> None:
    """Warn about a rule that runs commands for B or C without approval.

    It is not an error, because such messages are held (LD-069).
    """
    runs = any(action.type is ActionType.RUN for action in actions)
    if not runs or trigger.kind is not TriggerKind.BUS_INPUT or guards.mode not in ASKS_NOBODY:
        return
    admitted = guards.categories or tuple(Category)
    held = [one for one in NEED_APPROVAL if one in admitted]
    if held:
        listed = " and ".join(held)
        headline = f"messages of category {listed} need approval: without it they are held here"
        help_ = f"write `mode: single` with `authorities`, or a `category_in` without {listed}"
        span = guards.mode_place or rule.span("rule_id")
        rule.findings.doubt(codes.LAW_APPROVAL_NEEDED, headline, span, help_)
