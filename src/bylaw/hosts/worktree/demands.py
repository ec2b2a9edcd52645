"""The messages to the model when a stop is blocked: what it must do before it may stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.dialects.file_policies.names import is_policy
from bylaw.model.decision import TraceResult
from bylaw.model.effects import PromptShow
from bylaw.model.verdict import Verdict
from bylaw.runtime.policy_settings import OutputMode
from bylaw.tools.printers.policies import batched, how_to_answer, in_order, individual

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.engine.index import RuleSet
    from bylaw.hosts.worktree.policy_host import FilePolicies
    from bylaw.model.decision import Decision, Reason

# For a policy that cannot be evaluated: the agent cannot solve this.
WAY_OUT = (
    "a person must fix this; files in `.deepwork/tmp` and `.bylaw/state` may be moved away, "
    "and `bylaw doctor --release 10` releases failed gates for ten minutes"
)


class Demand(NamedTuple):
    """A text for the model, and the rules that require it: their names for people, their uids."""

    text: str
    rule: str
    uids: tuple[str, ...]


def demands(
    decision: Decision, shown: Sequence[PromptShow], policies: FilePolicies, rules: RuleSet
) -> Iterator[Demand]:
    """Yield each text with its rules. File policies have their own form of message.

    Policies that no longer block are left out. The output mode is read only if a policy has a
    message, because without one there may be no repository.
    """
    standing, others = unanswered(decision, shown, rules)
    for reason in others:
        because = f"\n{policies.unknown}; {WAY_OUT}" if is_policy(reason.uid) else ""
        text = reason.text + (because if policies.unknown else "")
        yield Demand(text, reason.rule, (reason.uid,))
    if standing:
        uids = {one.rule: one.uid for one in decision.reasons if is_policy(one.uid)}
        for text, names in policy_texts(standing, policies.output_mode()):
            words = f"{text}\n{how_to_answer(names)}"
            yield Demand(words, ", ".join(names), tuple(uids[one] for one in names))


def unanswered(
    decision: Decision, shown: Sequence[PromptShow], rules: RuleSet
) -> tuple[list[PromptShow], list[Reason]]:
    """Return the messages of policies that still block, and all other reasons that block.

    A policy whose command failed has no message yet, so one is made. A policy that could not be
    evaluated stays among the other reasons.
    """
    objecting = [one for one in decision.reasons if one.verdict >= Verdict.ASK]
    of_policies = [one for one in objecting if is_policy(one.uid)]
    policies = {one.rule for one in of_policies}
    standing = [one for one in shown if one.policy in policies]
    told = {one.policy for one in standing}
    not_judged = {one.uid for one in decision.trace if one.result is TraceResult.GUARD_ERROR}
    failed = [one for one in of_policies if one.rule not in told and one.uid not in not_judged]
    if failed:
        about = {rule.uid: rule.about for rule in rules.rules()}
        standing += [_failed(one, about.get(one.uid, {})) for one in failed]
    told |= {one.rule for one in failed}
    others = [one for one in objecting if not (is_policy(one.uid) and one.rule in told)]
    return standing, others


def _failed(reason: Reason, about: Mapping[str, str]) -> PromptShow:
    """Make the message of a policy whose command failed."""
    title, mode = about.get("title", reason.rule), about.get("mode", "")
    return PromptShow(policy=reason.rule, title=title, mode=mode, text=reason.text)


def policy_texts(
    shown: Sequence[PromptShow], mode: OutputMode
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each message about policies, with the names of its policies."""
    policies = tuple(one.policy for one in in_order(shown))
    if mode is OutputMode.INDIVIDUAL:
        yield from zip(individual(shown), ((one,) for one in policies), strict=True)
    elif shown:
        yield batched(shown), policies
