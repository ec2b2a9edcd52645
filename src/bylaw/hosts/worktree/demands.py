"""A stop that was blocked → what the model is told to do before it may hand back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import uid_of
from bylaw.dialects.file_policies.lowering import NAME
from bylaw.model.verdict import Verdict
from bylaw.runtime.policy_settings import OutputMode
from bylaw.tools.printers.policies import batched, how_to_answer, in_order, individual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.model.decision import Decision, Reason
    from bylaw.model.effects import PromptShow


def demands(
    decision: Decision, shown: Sequence[PromptShow], output_mode: Callable[[], OutputMode]
) -> Iterator[tuple[str, str]]:
    """Each text with the rule that it comes from; policies are told in their own words.

    What is shown of a policy that does not object any more is left out. How they are told is asked
    only if they say something: elsewhere there may be no repository.
    """
    standing, others = unanswered(decision, shown)
    for reason in others:
        yield reason.text, reason.rule
    if standing:
        for text, policies in policy_texts(standing, output_mode()):
            yield f"{text}\n{how_to_answer(policies)}", ", ".join(policies)


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
    return reason.uid.startswith(uid_of(NAME, "", "").removesuffix("#"))
