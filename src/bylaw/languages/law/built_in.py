"""The built-in rules of RULE_DSL, before and after all written rules, and the group procedure.

Each rule is one check of the event. Before: the first rule that matches ends the group, so no
written rule gets a message that is invalid, a duplicate or not a command. After: held, no match,
and evidence for every message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.base import AnswerReason, BuiltInCheck, answer_text
from bylaw.languages.law.actions import EvidenceMaker, is_approval_request
from bylaw.languages.law.messages import EVIDENCE, check_message, is_decision
from bylaw.languages.law.syntax import NAME
from bylaw.model.decision import Match
from bylaw.model.display import brief, file_path, visible
from bylaw.model.effects import BusWrite
from bylaw.model.event import Bus, File
from bylaw.model.procedure import Flow, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import (
    BUILT_IN,
    ApprovalGate,
    Origin,
    PlanForm,
    Rule,
    RuleVerdict,
    Trigger,
    built_in_uid,
    granting_authorities,
    message_field,
    needed_approvals,
)
from bylaw.model.vocabulary import ApprovalState, Authority, Channel, Kind, Op, Verdict
from bylaw.paths import normalise_event_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.model.effects import Step
    from bylaw.model.facts import Approval
    from bylaw.model.rule import RuleVisit, View

NO_DECISIONS = "decisions are forbidden in the bus"
DUPLICATE = "duplicate msg_id"
_DECISION_WORDS = {ApprovalState.GRANTED: "approved", ApprovalState.REVOKED: "rejected"}


class AnswerEvidence(Struct, frozen=True):
    """Write the text of a built-in check as evidence."""

    channel: Channel
    op: Op = Op.BUS_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return the step."""
        return (BusWrite(channel=self.channel, text=answer_text(match)),)


def built_in_rule(
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
        guard=BuiltInCheck(ask),
        judgement=None if verdict is None else RuleVerdict(verdict, AnswerReason()),
        plan=PlanForm(steps=() if channel is None else (AnswerEvidence(channel),)),
        rank=rank,
        goes_on=goes_on,
        free=True,
        core=True,
    )


def _check_decision(view: View) -> str:
    """LD-026"""
    if not isinstance(view.event, Bus) or not is_decision(view.event.message):
        return ""
    where = "`SHARED_CONTEXT.md` or `TO_HUMAN.md`"
    return f"`msg_type` is a decision, and {NO_DECISIONS}: write it to {where}"


def _check_message(view: View) -> str:
    """LD-022 to LD-038"""
    event = view.event
    if not isinstance(event, Bus):
        return ""
    try:
        problems = check_message(event.message, event.facts).refused
    except Exception as broken:  # noqa: BLE001 - fail closed: a failed check denies the message
        problems = (f"it cannot be checked: {type(broken).__name__}: {broken}",)
    return f"invalid message: {'; '.join(problems)}" if problems else ""


def _check_duplicate(view: View) -> str:
    """LD-024, LD-A07"""
    earlier = view.event.facts.duplicate if isinstance(view.event, Bus) else ""
    return f"{DUPLICATE} `{_msg_id(view)}`: {visible(earlier)}" if earlier else ""


def _check_evidence(view: View) -> str:
    """LD-A17"""
    return "archived" if message_field(view.event, "msg_type") == EVIDENCE else ""


def _check_answered(view: View) -> str:
    """LD-A39"""
    event = view.event
    if not isinstance(event, Bus) or not is_approval_request(view):
        return ""
    about = str(message_field(event, "origin_ref"))
    if event.facts.withdrawn:
        return f"withdrawn: `{visible(brief(about))}` is gone"
    approvals = event.facts.approvals or ()
    given = [
        one for one in approvals if _is_answer(one, about, message_field(event, "approval_by"))
    ]
    if not given:
        return ""
    return f"answered: `{given[0].authority}` {_DECISION_WORDS[given[0].state]} `{about}`"


def _is_answer(approval: Approval, about: str, asked: object) -> bool:
    authority = approval.authority.lower()
    listed = asked if isinstance(asked, list) and asked else list(Authority)
    return approval.id == about and authority in listed and approval.state in _DECISION_WORDS


def _check_relaxed(view: View) -> str:
    """LD-A02"""
    event = view.event
    forgiven = check_message(event.message, event.facts).forgiven if isinstance(event, Bus) else ()
    return f"allowed in relaxed mode: {'; '.join(forgiven)}" if forgiven else ""


def _check_path(view: View) -> str:
    """LD-012"""
    event = view.event
    if not isinstance(event, File):
        return ""
    shown, facts = f"`{visible(brief(file_path(event.path)))}`", event.facts
    if event.path in facts.outside:
        return f"{shown} is outside the root: no rule applies to it"
    if normalise_event_path(event.path, literal=facts.literal) is not None:
        return ""
    # A literal name belongs to a file inside the root, so the path is too long for patterns.
    why = "is longer than any pattern" if facts.literal else "is outside the root"
    return f"{shown} {why}: no rule applies to it"


def _msg_id(view: View) -> str:
    return visible(brief(str(message_field(view.event, "msg_id"))))


# In this order, before all written rules: those have rank 0.
_LAST = -1
LEADING_RULES: tuple[Rule, ...] = (
    built_in_rule(
        "decision", _check_decision, verdict=Verdict.DENY, channel=Channel.ERROR, rank=_LAST - 5
    ),
    built_in_rule(
        "message", _check_message, verdict=Verdict.DENY, channel=Channel.ERROR, rank=_LAST - 4
    ),
    built_in_rule(
        "duplicate", _check_duplicate, verdict=Verdict.DENY, channel=Channel.ERROR, rank=_LAST - 3
    ),
    built_in_rule("evidence", _check_evidence, channel=Channel.OUTPUT, rank=_LAST - 2),
    built_in_rule("answered", _check_answered, channel=Channel.OUTPUT, rank=_LAST - 1),
    built_in_rule("relaxed", _check_relaxed, verdict=Verdict.WARN, rank=_LAST, goes_on=True),
    built_in_rule(
        "path", _check_path, verdict=Verdict.WARN, channel=Channel.ERROR, kind=Kind.FILE, rank=_LAST
    ),
)


NO_MATCH = "no matching rule"
_UNKNOWN_PHASE = (
    f"{NO_MATCH}: the phase is unknown; write `Active Phase: N` once in `SHARED_CONTEXT.md`"
)
_MAX_NAMED = 5


def _check_held(view: View) -> str:
    """Return which rules lack only approvals, which approvals exist, and what to do (LD-067)."""
    lacking = _rules_lacking_approval(view)
    if not lacking:
        return ""
    told = [_missing_approval_text(entry, gate, view) for entry, gate in lacking[:_MAX_NAMED]]
    unused = [f"; {one}" for one in [*dict.fromkeys(_unused_approvals(view))][:_MAX_NAMED]]
    way_out = f"approve it with `bylaw approve {message_field(view.event, 'msg_id')}`"
    return f"held: {', and '.join(told)}{''.join(unused)}; {way_out}"


def _check_no_match(view: View) -> str:
    """LD-089. An approval request stays open even if no rule matches (LD-A39)."""
    if (
        is_approval_request(view)
        or _rules_lacking_approval(view)
        or any(map(_has_matched, view.visited))
    ):
        return ""
    known = isinstance(view.event, Bus) and isinstance(view.event.facts.phase, int)
    return NO_MATCH if known else _UNKNOWN_PHASE


def _check_done(view: View) -> str:
    """LD-003: a handled message leaves evidence, even if no rule writes any."""
    acted = [entry.rule for entry in view.visited if entry.fired and not entry.rule.core]
    if not acted or is_approval_request(view) or _rules_lacking_approval(view):
        return ""
    makers = [maker for rule in acted for maker in rule.plan.steps]
    if any(isinstance(maker, EvidenceMaker) and maker.is_evidence for maker in makers):
        return ""
    return "done by " + ", ".join(f"`{rule.id}`" for rule in acted[:_MAX_NAMED])


def _check_not_loaded(view: View) -> str:
    """Return the reason of a file that does not load; its stand-in rule writes no evidence."""
    for entry in view.visited:
        judgement = entry.rule.judgement
        if entry.fired and judgement and judgement.verdict is Verdict.DENY and not entry.ops:
            return judgement.reason.make(view, Match())
    return ""


def _has_matched(entry: RuleVisit) -> bool:
    """Return whether the rule handled the message; the warning of relaxed mode does not."""
    return entry.fired and not (entry.rule.core and entry.rule.goes_on)


def _rules_lacking_approval(view: View) -> list[tuple[RuleVisit, ApprovalGate]]:
    """Return the rules that lack only approvals; none if a command ran, so it cannot run twice."""
    if is_approval_request(view) or any(
        entry.fired and _has_command(entry) for entry in view.visited
    ):
        return []
    return [
        (entry, entry.closed[0])
        for entry in view.visited
        if len(entry.closed) == 1 and isinstance(entry.closed[0], ApprovalGate)
    ]


def _has_command(entry: RuleVisit) -> bool:
    return any(maker.op is Op.COMMAND_RUN for maker in entry.rule.plan.steps)


def _missing_approval_text(entry: RuleVisit, gate: ApprovalGate, view: View) -> str:
    needed = needed_approvals(gate, view.event)
    whose = (" and " if needed > 1 else " or ").join(f"`{one.value}`" for one in gate.authorities)
    given = sorted(granting_authorities(gate, view.event, _approvals(view)))
    has = " and ".join(f"`{one}`" for one in given)
    there = f"only {has} approved" if given else "not approved yet"
    return f"`{entry.rule.id}` needs approval by {whose} ({there})"


def _unused_approvals(view: View) -> Iterator[str]:
    """Yield why approvals of this message are not used."""
    event = view.event
    digest = event.digest if isinstance(event, Bus) else ""
    category = message_field(event, "category")
    for one in _approvals(view):
        if one.id != message_field(event, "msg_id"):
            continue
        if one.state is not ApprovalState.GRANTED:
            yield f"the approval by `{one.authority}` is {one.state.value}"
        elif one.category not in ("", category):
            yield f"the approval by `{one.authority}` is for category {one.category}"
        elif one.digest not in ("", digest):
            yield f"the approval by `{one.authority}` is for another text of the message"


def _approvals(view: View) -> tuple[Approval, ...]:
    return (view.event.facts.approvals or ()) if isinstance(view.event, Bus) else ()


PROCEDURE = Procedure(
    # The built-in rules have ranks before those of written rules.
    order=(SortKey.RANK, SortKey.PRIORITY_ASCENDING, SortKey.FILE, SortKey.SOURCE),
    flow=Flow.FIRST,
    guard_error=GuardFault.NOT_SATISFIED,
    failed_step=StepFault.ON_ERROR,
    closing=(
        built_in_rule("held", _check_held, verdict=Verdict.ASK, channel=Channel.ERROR),
        built_in_rule("no-match", _check_no_match, verdict=Verdict.DENY, channel=Channel.ERROR),
        built_in_rule("done", _check_done, channel=Channel.OUTPUT),
        built_in_rule("not-loaded", _check_not_loaded, channel=Channel.ERROR),
    ),
)
