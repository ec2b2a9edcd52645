"""A stop that was blocked → what the model is told to do before it may hand back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bylaw.dialects.file_policies.lowering import NAME
from bylaw.model.uid import dialect_of
from bylaw.model.verdict import Verdict
from bylaw.runtime.policy_settings import OutputMode
from bylaw.tools.printers.policies import batched, how_to_answer, in_order, individual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.model.decision import Decision, Reason
    from bylaw.model.effects import PromptShow


class Demand(NamedTuple):
    """What is demanded, and the rules that demand it: as a person reads them, and their uids."""

    text: str
    rule: str
    uids: tuple[str, ...]


def demands(
    decision: Decision, shown: Sequence[PromptShow], output_mode: Callable[[], OutputMode]
) -> Iterator[Demand]:
    """Each text with the rules that it comes from; policies are told in their own words.

    What is shown of a policy that does not object any more is left out. How they are told is asked
    only if they say something: elsewhere there may be no repository.
    """
    standing, others = unanswered(decision, shown)
    for reason in others:
        yield Demand(reason.text, reason.rule, (reason.uid,))
    if standing:
        uids = {one.rule: one.uid for one in decision.reasons if _is_of_policy(one)}
        for text, policies in policy_texts(standing, output_mode()):
            words = f"{text}\n{how_to_answer(policies)}"
            yield Demand(words, ", ".join(policies), tuple(uids[one] for one in policies))


def unanswered(
    decision: Decision, shown: Sequence[PromptShow]
) -> tuple[list[PromptShow], list[Reason]]:
    """What is shown of policies that object by now, and the objections that are not among it."""
    objecting = [one for one in decision.reasons if one.verdict >= Verdict.ASK]
    policies = {one.rule for one in objecting if _is_of_policy(one)}
    standing = [one for one in shown if one.policy in policies]
    told = {one.policy for one in standing}
    others = [one for one in objecting if not (_is_of_policy(one) and one.rule in told)]
    return standing, others


def policy_texts(
    shown: Sequence[PromptShow], mode: OutputMode
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each text that tells of policies, and of which."""
    policies = tuple(one.policy for one in in_order(shown))
    if mode is OutputMode.INDIVIDUAL:
        yield from zip(individual(shown), ((one,) for one in policies), strict=True)
    elif shown:
        yield batched(shown), policies


def _is_of_policy(reason: Reason) -> bool:
    return dialect_of(reason.uid) == NAME
