"""The events that the steps of a decision cause, each with its chain of rules.

The chain keeps everything finite: the steps of a rule are suppressed on events that it caused, and
no step may make a chain longer than `MAX_CHAIN`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.engine.outcome import StepOutcome, fill_text
from bylaw.model.effects import EventEmit, MessageInsert, ToolCall
from bylaw.model.event import UNSTAMPED, Custom, HistoryChanged, Message, ToolBefore
from bylaw.model.facts import Facts, LawFacts, WorkFacts
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import EffectStatus, Op, Role

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event

MAX_CHAIN = 8
# Chains are short, but many rules could make a wide tree of them.
MAX_CAUSED = 1_000

CAUSING = frozenset(
    {Op.MESSAGE_INSERT, Op.EVENT_EMIT, Op.TOOL_CALL, Op.AGENT_RUN, Op.HISTORY_COMPACT}
)

# The outcome of a step that is refused because of `too_deep`.
TOO_DEEP = StepOutcome(
    EffectStatus.REFUSED, {"error": f"a chain of rules has at most {MAX_CHAIN} links"}
)

# The outcome of a step that would cause one event too many.
TOO_MANY = StepOutcome(
    EffectStatus.REFUSED, {"error": f"one event causes at most {MAX_CAUSED:,} others"}
)

# Facts that a plan cannot change. All others are gathered again for the events that it causes.
_LASTING = ("token_budget", "context_window", "user", "project", "scripts", "disabled")

Caused = TypeVar("Caused", Message, Custom, ToolBefore, HistoryChanged)


def too_deep(event: Event, op: Op) -> bool:
    """Whether a step with this op, in a decision on this event, is refused."""
    return op in CAUSING and len(event.cause) >= MAX_CHAIN


class Causing:
    """Counts the steps that cause something after one event, over all chains."""

    def __init__(self) -> None:
        self._made = 0

    def refusal(self, event: Event, op: Op) -> StepOutcome | None:
        """Return the outcome of a refused step, or None. Counts steps that cause something."""
        if op not in CAUSING:
            return None
        if too_deep(event, op):
            return TOO_DEEP
        if self._made >= MAX_CAUSED:
            return TOO_MANY
        self._made += 1
        return None


def chain(event: Event, *uids: str) -> tuple[str, ...]:
    """Return the cause of an event that these rules caused in answer to another.

    Many rules may deny one call. Those that do not fit into the chain cannot act on its answer
    anyway, since no step is performed there.
    """
    return tuple(dict.fromkeys((*event.cause, *uids)))[:MAX_CHAIN]


def caused_event(event: Event, due: Due) -> Message | Custom | ToolBefore | None:
    """Return the event that a step causes; for a tool call, the one that is decided first.

    The host adds the other names of a tool, since it knows them. The `history` event of a
    compaction and the events of an agent come from outside, with `chain` as their cause.
    """
    uid, step = due.plan.uid, due.step
    match step:
        case MessageInsert():
            message = Message(role=step.role, text=fill_text(step.text, ()))
            return in_answer(message, event, uid)
        case EventEmit():
            return in_answer(Custom(type=step.type, payload=step.payload), event, uid)
        case ToolCall():
            call = f"rule-{event.seq}-{due.number}"
            return in_answer(ToolBefore(tool=step.tool, args=step.args, call=call), event, uid)
    return None


def denial_message(event: Event, decision: Decision) -> Message | None:
    """Return the tool's answer to a denied call. It is queued before what the plans cause.

    A halted call has none: the turn ends with the payload. The answer is not a step, so it is never
    too deep: every denied call is answered.
    """
    if not isinstance(event, ToolBefore) or decision.verdict is not Verdict.DENY:
        return None
    denials = [reason for reason in decision.reasons if reason.verdict is Verdict.DENY]
    text = "\n".join(reason.text for reason in denials)
    message = Message(role=Role.TOOL, text=text)
    return in_answer(message, event, *(reason.uid for reason in denials))


def second_round(event: Event, decision: Decision) -> Event | None:
    """Return the event to submit again after all plans, without facts that they may have changed.

    It is submitted even if plans failed, because the first round skipped rules of the last one.
    """
    if event.round > 1 or not decision.comes_again:
        return None
    return replace(event, round=2, seq=UNSTAMPED, at=UNSTAMPED, facts=_to_gather_anew(event.facts))


def in_answer(caused: Caused, event: Event, *uids: str) -> Caused:
    """Return an event as one that these rules caused in answer to another."""
    # The actor is not copied: a rule did this, and the cause names it.
    lasting = {name: getattr(event.facts, name) for name in _LASTING}
    return replace(
        caused,
        session=event.session,
        agent=event.agent,
        cause=chain(event, *uids),
        facts=replace(caused.facts, **lasting),
    )


def _to_gather_anew(facts: Facts) -> Facts:
    match facts:
        case WorkFacts():
            return replace(facts, unknown=(), changes=UNSET, entries=UNSET)
        case LawFacts():
            return replace(facts, unknown=(), approvals=UNSET)
    return replace(facts, unknown=())
