"""The checks that RULE_DSL makes before any written rule, as built-in rules.

Each rule is one check of the event. The first rule that matches ends the group. So no written rule
gets a message that is invalid, a duplicate or not a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.law.actions import asks
from bylaw.dialects.law.messages import EVIDENCE, is_decision, judge_message
from bylaw.dialects.law.names import NAME
from bylaw.dialects.questions import Question, Said, said
from bylaw.expr.paths import normalise_named
from bylaw.model.approvals import message_field
from bylaw.model.effects import BusWrite
from bylaw.model.event import Bus, File
from bylaw.model.fact_paths import file_path
from bylaw.model.rule import Judgement, Origin, PlanForm, Rule, Trigger
from bylaw.model.uid import BUILT_IN, built_in_uid
from bylaw.model.verdict import Verdict
from bylaw.model.visible import brief, visible
from bylaw.model.vocabulary import ApprovalState, Authority, Channel, Kind, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.facts import Approval
    from bylaw.model.rule import View

NO_DECISIONS = "decisions are forbidden in the bus"
DUPLICATE = "duplicate msg_id"
_DECIDED = {ApprovalState.GRANTED: "approved", ApprovalState.REVOKED: "rejected"}


class Recorded(Struct, frozen=True):
    """Write the text of a built-in check as evidence."""

    channel: Channel
    op: Op = Op.BUS_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step."""
        return (BusWrite(channel=self.channel, text=said(match)),)


def built_in(
    rule_id: str,
    ask: Callable[[View], str],
    *,
    verdict: Verdict | None = None,
    channel: Channel | None = None,
    kind: Kind = Kind.BUS,
    rank: int = 0,
    goes_on: bool = False,
) -> Rule:
    """Return a rule of the language itself. It cannot be disabled."""
    return Rule(
        uid=built_in_uid(NAME, rule_id),
        id=rule_id,
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=Trigger(kinds=(kind,)),
        guard=Question(ask),
        judgement=None if verdict is None else Judgement(verdict, Said()),
        plan=PlanForm(steps=() if channel is None else (Recorded(channel),)),
        rank=rank,
        goes_on=goes_on,
        free=True,
        core=True,
    )


def _decision(view: View) -> str:
    """LD-026"""
    if not isinstance(view.event, Bus) or not is_decision(view.event.message):
        return ""
    where = "`SHARED_CONTEXT.md` or `TO_HUMAN.md`"
    return f"`msg_type` is a decision, and {NO_DECISIONS}: write it to {where}"


def _refusal(view: View) -> str:
    """LD-022 to LD-038"""
    event = view.event
    if not isinstance(event, Bus):
        return ""
    try:
        problems = judge_message(event.message, event.facts).refused
    except Exception as broken:  # noqa: BLE001 - fail closed: a failed check denies the message
        problems = (f"it cannot be checked: {type(broken).__name__}: {broken}",)
    return f"invalid message: {'; '.join(problems)}" if problems else ""


def _duplicate(view: View) -> str:
    """LD-024, LD-A07"""
    earlier = view.event.facts.duplicate if isinstance(view.event, Bus) else ""
    return f"{DUPLICATE} `{_msg_id(view)}`: {visible(earlier)}" if earlier else ""


def _evidence(view: View) -> str:
    """LD-A17"""
    return "archived" if message_field(view.event, "msg_type") == EVIDENCE else ""


def _answered(view: View) -> str:
    """LD-A39"""
    event = view.event
    if not isinstance(event, Bus) or not asks(view):
        return ""
    about = str(message_field(event, "origin_ref"))
    if event.facts.withdrawn:
        return f"withdrawn: `{visible(brief(about))}` is gone"
    approvals = event.facts.approvals or ()
    given = [one for one in approvals if _answers(one, about, message_field(event, "approval_by"))]
    if not given:
        return ""
    return f"answered: `{given[0].authority}` {_DECIDED[given[0].state]} `{about}`"


def _answers(approval: Approval, about: str, asked: object) -> bool:
    authority = approval.authority.lower()
    listed = asked if isinstance(asked, list) and asked else list(Authority)
    return approval.id == about and authority in listed and approval.state in _DECIDED


def _forgiven(view: View) -> str:
    """LD-A02"""
    event = view.event
    forgiven = judge_message(event.message, event.facts).forgiven if isinstance(event, Bus) else ()
    return f"allowed in relaxed mode: {'; '.join(forgiven)}" if forgiven else ""


def _outside(view: View) -> str:
    """LD-012"""
    event = view.event
    if not isinstance(event, File):
        return ""
    shown, facts = f"`{visible(brief(file_path(event.path)))}`", event.facts
    if event.path in facts.outside:
        return f"{shown} is outside the root: no rule applies to it"
    if normalise_named(event.path, literal=facts.literal) is not None:
        return ""
    # A literal name belongs to a file inside the root, so the path is too long for patterns.
    why = "is longer than any pattern" if facts.literal else "is outside the root"
    return f"{shown} {why}: no rule applies to it"


def _msg_id(view: View) -> str:
    return visible(brief(str(message_field(view.event, "msg_id"))))


# In this order, before all written rules: those have rank 0.
_LAST = -1
BEFORE: tuple[Rule, ...] = (
    built_in("decision", _decision, verdict=Verdict.DENY, channel=Channel.ERROR, rank=_LAST - 5),
    built_in("message", _refusal, verdict=Verdict.DENY, channel=Channel.ERROR, rank=_LAST - 4),
    built_in("duplicate", _duplicate, verdict=Verdict.DENY, channel=Channel.ERROR, rank=_LAST - 3),
    built_in("evidence", _evidence, channel=Channel.OUTPUT, rank=_LAST - 2),
    built_in("answered", _answered, channel=Channel.OUTPUT, rank=_LAST - 1),
    built_in("relaxed", _forgiven, verdict=Verdict.WARN, rank=_LAST, goes_on=True),
    built_in(
        "path", _outside, verdict=Verdict.WARN, channel=Channel.ERROR, kind=Kind.FILE, rank=_LAST
    ),
)
