"""The message to the agent about file policies that need attention: batched or individual.

    The following policies require attention:

    ## Source/Test Pairing
    src/auth/login.py → tests/auth/login_test.py

Sections of sets come first, then pairs, then all others, each sorted by identifier. Lines are
sorted by path (DW-A33). There is no decoration. Further lines are counted, and the last line names
the command that lists them.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.promises import promise_of
from bylaw.model.fact_paths import shown_path
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.model.effects import PromptShow

HEAD = "The following policies require attention:"
MAX_LINES = 20  # of one policy
# DW-A33; a mode that is not here comes last.
_ORDER = {"set": 0, "pair": 1}


def batched(shown: Iterable[PromptShow]) -> str:
    """Return one text for all policies, empty if no policy needs attention."""
    sections = [f"## {visible(one.title)}\n{_lines(one)}" for one in in_order(shown)]
    return "\n\n".join([HEAD, *sections]) + "\n" if sections else ""


def individual(shown: Iterable[PromptShow]) -> list[str]:
    """Return one text per policy, with its instructions (DW-A34)."""
    return [_alone(one) for one in in_order(shown)]


def how_to_answer(policies: Iterable[str]) -> str:
    """Return the instruction how to confirm a policy. The document has no text for it."""
    said = ", ".join(promise_of(policy) for policy in policies)
    return f"After you handle a policy, confirm it in your answer: {said}"


def in_order(shown: Iterable[PromptShow]) -> list[PromptShow]:
    """Sort policies in the order of the message."""
    return sorted(shown, key=lambda one: (_ORDER.get(one.mode, len(_ORDER)), one.policy))


def arrow(file: str, missing: str) -> str:
    """Return the line for a file that changed without its counterpart."""
    return f"{shown_path(file)} → {shown_path(missing)}"


def _alone(one: PromptShow) -> str:
    parts = [_arrows(one), one.text.strip()] if one.arrows else [one.text.strip()]
    body = "\n\n".join(part for part in parts if part)
    return f"{HEAD}\n\n## {visible(one.title)}\n{body}\n"


def _lines(one: PromptShow) -> str:
    """Return the arrows of a correspondence, else the instructions (DW-103)."""
    return _arrows(one) if one.arrows else _bounded(one, one.text.strip().split("\n"))


def _arrows(one: PromptShow) -> str:
    pairs = sorted(set(one.arrows))
    return _bounded(one, [arrow(*pair) for pair in pairs])


def _bounded(one: PromptShow, lines: Sequence[str]) -> str:
    if len(lines) <= MAX_LINES:
        return "\n".join(lines)
    more = len(lines) - MAX_LINES
    where = f"bylaw policies status {quote(one.policy)}"
    return "\n".join([*lines[:MAX_LINES], f"… and {more:,} more; `{where}` lists them"])
