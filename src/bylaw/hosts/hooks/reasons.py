"""Reasons of a decision → the text that a model or a person reads: what, and which rule says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.verdict import Verdict
from bylaw.model.visible import visible, visible_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.decision import Reason

# The model reads it, who is to leave it to a person.
ASKED = (
    "a person has to decide this, and this client cannot ask: leave it to a person, who can do it "
    "without you, or change the rule"
)


def objections(reasons: Iterable[Reason]) -> str:
    """What speaks against it, reason by reason, each with the place of its rule."""
    return "\n".join(with_place(one) for one in reasons if one.verdict >= Verdict.ASK)


def warnings(reasons: Iterable[Reason]) -> Iterator[str]:
    """What rules only warn of."""
    for one in reasons:
        if one.verdict is Verdict.WARN:
            yield with_place(one)


def with_place(reason: Reason) -> str:
    """A reason with its rule, file and line."""
    return f"{shown(reason.text)}\n({_place(reason)})"


def places(reasons: Iterable[Reason]) -> str:
    """The rules that object, each with its file and line, where their texts stand elsewhere."""
    found = dict.fromkeys(_place(one) for one in reasons if one.verdict >= Verdict.ASK)
    return f"({'; '.join(found)})"


def _place(reason: Reason) -> str:
    line = f":{reason.line}" if reason.line else ""
    where = f", {reason.file}{line}" if reason.file else ""
    return f"rule {visible(reason.rule)}{visible(where)}"


def shown(text: str) -> str:
    """A text of several lines with control characters made visible."""
    return "\n".join(visible_once(line) for line in text.expandtabs(4).split("\n"))
