"""A rule as written → adjacent rules with the same uid, each for its own messages.

The categories have different requirements: A runs freely, B and C need approval, D runs at once
and requests approval. So a written rule becomes one rule for each set of categories that it treats
alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.law.actions import (
    ApprovalRequestMaker,
    CommandMaker,
    EvidenceMaker,
    LockMaker,
    step_maker,
)
from bylaw.languages.law.syntax import (
    APPROVAL_CATEGORIES,
    MODES_WITHOUT_APPROVAL,
    NAME,
    PHASES,
    Category,
    CommandType,
    ReleaseLock,
    TakeLock,
    Template,
    TriggerKind,
    WriteBus,
    parse_template,
)
from bylaw.model.decision import OnFailure
from bylaw.model.rule import (
    ApprovalGate,
    ApprovalMode,
    CategoryGate,
    Filter,
    Origin,
    PhaseGate,
    PlanForm,
    Rule,
    Trigger,
    uid_of,
)
from bylaw.model.vocabulary import Authority, Channel, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.languages.base import RuleFile
    from bylaw.languages.law.syntax import Action, RuleSyntax
    from bylaw.model.rule import Gate, StepMaker

COMMANDS = (CommandType.TASK, CommandType.EXEC)
# LD-A15: the request in an emergency if the rule has none of its own.
EMERGENCY_REQUEST = parse_template(
    "emergency: `{{rule_id}}` runs {{msg_id}} ({{title}}) without approval; approve or reject it"
)
_DONE_TEMPLATE = parse_template("done by {{rule_id}}")
_FAILED_TEMPLATE = parse_template("{{rule_id}} failed: {{error}}")


class MessageClass(Struct, frozen=True):
    """A set of messages that a rule treats alike. Without categories: file changes."""

    categories: tuple[Category, ...] = ()
    types: tuple[CommandType, ...] = ()
    gate: ApprovalGate | None = None
    emergency: bool = False


def lower_rule(written: RuleSyntax, file: RuleFile) -> tuple[Rule, ...]:
    """Return the rules for one written rule. No message matches two of them."""
    return tuple(_rule(written, cell, file) for cell in message_classes(written))


def message_classes(written: RuleSyntax) -> Iterator[MessageClass]:
    """Yield the sets of messages that a rule treats differently."""
    if written.kind is TriggerKind.FS_EVENT:
        yield MessageClass()
        return
    admitted = written.categories or tuple(Category)
    types = _types(written)
    alike: dict[ApprovalGate | None, list[Category]] = {}
    for category in admitted:
        if category is not Category.D:
            alike.setdefault(_approval(written, category), []).append(category)
    for gate, categories in alike.items():
        yield MessageClass(tuple(categories), types, gate)
    if Category.D in admitted:
        yield from _emergency(types)


def _types(written: RuleSyntax) -> tuple[CommandType, ...]:
    """Return the command types of a rule.

    On an approval request a rule may only write evidence (LD-A16). So a rule that lists no types
    and does more than that applies to commands only.
    """
    if written.command_types:
        return written.command_types
    only_tells = all(isinstance(action, WriteBus) for action in written.actions)
    return tuple(CommandType) if only_tells else COMMANDS


def _approval(written: RuleSyntax, category: Category) -> ApprovalGate | None:
    """Return the approval that category A, B or C needs (LD-066 to LD-069, LD-A10 to LD-A12)."""
    mode = written.mode
    if mode in MODES_WITHOUT_APPROVAL:
        if not written.runs:
            return None
        # In category A, only the message itself can require approval.
        mode = ApprovalMode.SINGLE if category in APPROVAL_CATEGORIES else ApprovalMode.NONE
    return ApprovalGate(mode, written.authorities or tuple(Authority))


def _emergency(types: tuple[CommandType, ...]) -> Iterator[MessageClass]:
    """Yield the sets of category D: commands run at once and request approval (LD-074 to LD-077).

    An approval request of category D causes no further request.
    """
    commands = tuple(one for one in types if one in COMMANDS)
    if commands:
        yield MessageClass((Category.D,), commands, emergency=True)
    if CommandType.APPROVAL_REQUEST in types:
        yield MessageClass((Category.D,), (CommandType.APPROVAL_REQUEST,))


def _rule(written: RuleSyntax, cell: MessageClass, file: RuleFile) -> Rule:
    kind = Kind.FILE if written.kind is TriggerKind.FS_EVENT else Kind.BUS
    place = Origin(file.path, written.line, written.column, file.digest, written.last_line)
    return Rule(
        uid=uid_of(NAME, file.path, written.rule_id),
        id=written.rule_id,
        origin=place,
        on=Trigger(kinds=(kind,)),
        filter=Filter(
            paths=written.paths,
            changes=written.event_types,
            command_types=tuple(one.value for one in cell.types),
        ),
        gates=tuple(_gates(written, cell)),
        plan=_plan(written, cell),
        priority=written.priority,
        goes_on=written.goes_on,
        about=_about(written),
    )


def _gates(written: RuleSyntax, cell: MessageClass) -> Iterator[Gate]:
    # Even a rule for all phases must not run while the phase is unknown (LD-064).
    yield PhaseGate(written.phases or tuple(PHASES))
    if cell.categories:
        yield CategoryGate(tuple(one.value for one in cell.categories))
    if cell.gate is not None:
        yield cell.gate


def _plan(written: RuleSyntax, cell: MessageClass) -> PlanForm:
    actions: Sequence[Action] = written.actions
    steps = [step_maker(one, written.rule_id) for one in actions]
    if cell.emergency:
        steps = _move_requests_first(steps, written.rule_id)
    if _needs_evidence(steps):
        steps.append(EvidenceMaker(written.rule_id, Channel.OUTPUT, _DONE_TEMPLATE))
    return PlanForm(
        steps=(*steps, *_release_steps(_unreleased_locks(actions), written)),
        on_failure=OnFailure.ON_ERROR,
        ends_group_on_failure=True,
        on_error=tuple(_on_error(written)),
    )


def _move_requests_first(steps: Sequence[StepMaker], rule_id: str) -> list[StepMaker]:
    """Move the requests directly after the locks, before anything that could run (LD-A14)."""
    own = [replace(one, emergency=True) for one in steps if isinstance(one, ApprovalRequestMaker)]
    asks = own or [
        ApprovalRequestMaker(rule_id, Authority.HUMAN, EMERGENCY_REQUEST, emergency=True)
    ]
    others = [one for one in steps if not isinstance(one, ApprovalRequestMaker)]
    leading = next(
        (at for at, one in enumerate(others) if not isinstance(one, LockMaker)), len(others)
    )
    return [*others[:leading], *asks, *others[leading:]]


def _needs_evidence(steps: Sequence[StepMaker]) -> bool:
    """Return whether the last command has no evidence after it that holds its result (LD-104)."""
    last_run = max(
        (at for at, one in enumerate(steps) if isinstance(one, CommandMaker)), default=-1
    )
    return last_run >= 0 and not any(_is_evidence(one) for one in steps[last_run:])


def _is_evidence(maker: StepMaker) -> bool:
    return isinstance(maker, EvidenceMaker) and maker.is_evidence


def _on_error(written: RuleSyntax) -> Iterator[StepMaker]:
    """Yield `on_error` as written, plus evidence and lock releases if missing (LD-092)."""
    told = [one.channel for one in written.on_error if isinstance(one, WriteBus)]
    if Channel.ERROR not in told:
        yield EvidenceMaker(written.rule_id, Channel.ERROR, _FAILED_TEMPLATE)
    yield from (step_maker(one, written.rule_id) for one in written.on_error)
    released = {one.key for one in written.on_error if isinstance(one, ReleaseLock)}
    taken = dict.fromkeys(one.key for one in written.actions if isinstance(one, TakeLock))
    yield from _release_steps([key for key in taken if key not in released], written)


def _unreleased_locks(actions: Sequence[Action]) -> list[Template]:
    """Return the locks that the rule takes and does not release."""
    kept: dict[Template, None] = {}
    for action in actions:
        if isinstance(action, TakeLock):
            kept[action.key] = None
        elif isinstance(action, ReleaseLock):
            kept.pop(action.key, None)
    return list(kept)


def _release_steps(keys: Sequence[Template], written: RuleSyntax) -> Iterator[StepMaker]:
    return (step_maker(ReleaseLock(key), written.rule_id) for key in keys)


def _about(written: RuleSyntax) -> dict[str, str]:
    return {"trigger": written.kind.value, "approval": written.mode.value}
