"""A stop that was blocked → what the model is told to do before it may hand back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.tools.printers.policies import batched, how_to_answer, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.decision import Decision
    from bylaw.model.effects import PromptShow


def demands(decision: Decision, shown: Sequence[PromptShow]) -> Iterator[tuple[str, str]]:
    """Each text with the rule that it comes from; policies are told together, in their words."""
    in_words = {one.policy for one in shown}
    for reason in decision.reasons:
        if reason.rule not in in_words:
            yield reason.text, reason.rule
    if shown:
        policies = [one.policy for one in in_order(shown)]
        yield f"{batched(shown)}\n{how_to_answer(policies)}", ", ".join(policies)
