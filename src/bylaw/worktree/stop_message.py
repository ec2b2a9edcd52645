"""The messages to the agent when a stop is blocked: what it must do before it may stop.

File policies have their own form, batched or one message each:

    The following policies require attention:

    ## Source/Test Pairing
    src/auth/login.py → tests/auth/login_test.py

Sections of sets come first, then pairs, then all others, each sorted by identifier. Lines are
sorted by path (DW-A33). There is no decoration. Further lines are counted, and the last line names
the command that lists them.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from bylaw.languages.file_policies.evaluation import promise_tag
from bylaw.languages.file_policies.syntax import is_policy
from bylaw.model.decision import TraceResult
from bylaw.model.display import shown_path, visible
from bylaw.model.effects import PromptShow
from bylaw.model.vocabulary import Verdict
from bylaw.runtime.policy_settings import OutputMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bylaw.engine.index import RuleSet
    from bylaw.model.decision import Decision, Reason
    from bylaw.worktree.policies import FilePolicies

HEAD = "The following policies require attention:"
MAX_LINES = 20  # of one policy
# DW-A33; a mode that is not here comes last.
_ORDER = {"set": 0, "pair": 1}


def batch_message(shown: Iterable[PromptShow]) -> str:
    """Return one text for all policies, empty if no policy needs attention."""
    sections = [f"## {visible(one.title)}\n{_policy_lines(one)}" for one in sort_policies(shown)]
    return "\n\n".join([HEAD, *sections]) + "\n" if sections else ""


def individual_messages(shown: Iterable[PromptShow]) -> list[str]:
    """Return one text per policy, with its instructions (DW-A34)."""
    return [_single_message(one) for one in sort_policies(shown)]


def answer_instruction(policies: Iterable[str]) -> str:
    """Return the instruction how to confirm a policy. The document has no text for it."""
    said = ", ".join(promise_tag(policy) for policy in policies)
    return f"After you handle a policy, confirm it in your answer: {said}"


def sort_policies(shown: Iterable[PromptShow]) -> list[PromptShow]:
    """Sort policies in the order of the message."""
    return sorted(shown, key=lambda one: (_ORDER.get(one.mode, len(_ORDER)), one.policy))


def arrow_line(file: str, missing: str) -> str:
    """Return the line for a file that changed without its counterpart."""
    return f"{shown_path(file)} → {shown_path(missing)}"


def _single_message(one: PromptShow) -> str:
    parts = [_arrows(one), one.text.strip()] if one.arrows else [one.text.strip()]
    body = "\n\n".join(part for part in parts if part)
    return f"{HEAD}\n\n## {visible(one.title)}\n{body}\n"


def _policy_lines(one: PromptShow) -> str:
    """Return the arrows of a correspondence, else the instructions (DW-103)."""
    return _arrows(one) if one.arrows else _limit_lines(one, one.text.strip().split("\n"))


def _arrows(one: PromptShow) -> str:
    pairs = sorted(set(one.arrows))
    return _limit_lines(one, [arrow_line(*pair) for pair in pairs])


def _limit_lines(one: PromptShow, lines: Sequence[str]) -> str:
    if len(lines) <= MAX_LINES:
        return "\n".join(lines)
    more = len(lines) - MAX_LINES
    where = f"bylaw policies status {quote(one.policy)}"
    return "\n".join([*lines[:MAX_LINES], f"… and {more:,} more; `{where}` lists them"])


# For a policy that cannot be evaluated: the agent cannot solve this.
WAY_OUT = (
    "a person must fix this; files in `.deepwork/tmp` and `.bylaw/state` may be moved away, "
    "and `bylaw doctor --release 10` releases failed gates for ten minutes"
)


class StopDemand(NamedTuple):
    """A text for the model, and the rules that require it: their names for people, their uids."""

    text: str
    rule: str
    uids: tuple[str, ...]


def stop_demands(
    decision: Decision, shown: Sequence[PromptShow], policies: FilePolicies, rules: RuleSet
) -> Iterator[StopDemand]:
    """Yield each text with its rules. File policies have their own form of message.

    Policies that no longer block are left out. The output mode is read only if a policy has a
    message, because without one there may be no repository.
    """
    standing, others = split_reasons(decision, shown, rules)
    for reason in others:
        because = f"\n{policies.unknown}; {WAY_OUT}" if is_policy(reason.uid) else ""
        text = reason.text + (because if policies.unknown else "")
        yield StopDemand(text, reason.rule, (reason.uid,))
    if standing:
        uids = {one.rule: one.uid for one in decision.reasons if is_policy(one.uid)}
        for text, names in policy_texts(standing, policies.output_mode()):
            words = f"{text}\n{answer_instruction(names)}"
            yield StopDemand(words, ", ".join(names), tuple(uids[one] for one in names))


def split_reasons(
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
        standing += [_failed_message(one, about.get(one.uid, {})) for one in failed]
    told |= {one.rule for one in failed}
    others = [one for one in objecting if not (is_policy(one.uid) and one.rule in told)]
    return standing, others


def _failed_message(reason: Reason, about: Mapping[str, str]) -> PromptShow:
    """Make the message of a policy whose command failed."""
    title, mode = about.get("title", reason.rule), about.get("mode", "")
    return PromptShow(policy=reason.rule, title=title, mode=mode, text=reason.text)


def policy_texts(
    shown: Sequence[PromptShow], mode: OutputMode
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each message about policies, with the names of its policies."""
    policies = tuple(one.policy for one in sort_policies(shown))
    if mode is OutputMode.INDIVIDUAL:
        yield from zip(individual_messages(shown), ((one,) for one in policies), strict=True)
    elif shown:
        yield batch_message(shown), policies
