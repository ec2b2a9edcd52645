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
    objecting = [one for one in decision.reasons if one.verdict >= Verdict.ASK]
    policies_objecting = {one.rule: one.uid for one in objecting if _is_of_policy(one)}
    shown = [one for one in shown if one.policy in policies_objecting]
    in_words = {one.policy for one in shown}
    for reason in objecting:
        if not (_is_of_policy(reason) and reason.rule in in_words):
            yield Demand(reason.text, reason.rule, (reason.uid,))
    if not shown:
        return
    policies = [one.policy for one in in_order(shown)]
    if output_mode() is OutputMode.INDIVIDUAL:
        for text, policy in zip(individual(shown), policies, strict=True):
            words = f"{text}\n{how_to_answer([policy])}"
            yield Demand(words, policy, (policies_objecting[policy],))
    else:
        uids = tuple(policies_objecting[policy] for policy in policies)
        text = f"{batched(shown)}\n{how_to_answer(policies)}"
        yield Demand(text, ", ".join(policies), uids)


def _is_of_policy(reason: Reason) -> bool:
    return dialect_of(reason.uid) == NAME
