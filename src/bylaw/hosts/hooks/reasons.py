"""Reasons of a decision → the text for a model or a person, with the rule that gave each reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.verdict import Verdict
from bylaw.model.visible import visible, visible_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.decision import Reason

# The model reads this.
ASKED = (
    "a person must decide this, and this client cannot ask one: leave it to the person, who can "
    "do it without you or change the rule"
)


def objections(reasons: Iterable[Reason]) -> str:
    """Return the reasons that deny or ask, each with the place of its rule."""
    return "\n".join(with_place(one) for one in reasons if one.verdict >= Verdict.ASK)


def warnings(reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield the reasons that only warn, each with the place of its rule."""
    for one in reasons:
        if one.verdict is Verdict.WARN:
            yield with_place(one)


def with_place(reason: Reason) -> str:
    """Return the text of a reason with its rule, file and line."""
    return f"{shown(reason.text)}\n({_place(reason)})"


def places(reasons: Iterable[Reason]) -> str:
    """Return the rules that deny or ask, with file and line. Their texts are shown elsewhere."""
    found = dict.fromkeys(_place(one) for one in reasons if one.verdict >= Verdict.ASK)
    return f"({'; '.join(found)})"


def _place(reason: Reason) -> str:
    line = f":{reason.line}" if reason.line else ""
    where = f", {reason.file}{line}" if reason.file else ""
    return f"rule {visible(reason.rule)}{visible(where)}"


def shown(text: str) -> str:
    """Return a text of several lines with visible control characters."""
    return "\n".join(visible_once(line) for line in text.expandtabs(4).split("\n"))
