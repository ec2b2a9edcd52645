"""Preview the commands that would run if an authority approved a message. Performs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.bus.events import SESSION, message_event
from bylaw.hosts.bus.in_force import LAWLESS
from bylaw.model.effects import CommandRun
from bylaw.model.facts import Approval
from bylaw.model.session import Session
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import ApprovalState, Authority
from bylaw.runtime.needs import decide_with_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.bus.in_force import InForce
    from bylaw.hosts.bus.messages.message_file import MessageFile
    from bylaw.model.decision import Decision
    from bylaw.model.event import Bus


class Command(Struct, frozen=True):
    """A command that a rule would start, and its folder."""

    rule: str
    argv: tuple[str, ...]
    cwd: str


class Outlook(Struct, frozen=True, kw_only=True):
    """Commands that would run at once, and `later`: after the other authorities approve as well.

    `why` has the reasons that prevent commands or make them fail.
    """

    commands: tuple[Command, ...] = ()
    later: tuple[Command, ...] = ()
    why: tuple[str, ...] = ()


class Rehearsals:
    """Decide messages under the active rules of a root, as if they were approved."""

    def __init__(self, root: str, in_force: InForce) -> None:
        self._root = root
        self._in_force = in_force

    def outlook(
        self,
        file: MessageFile,
        phase: int | None,
        approvals: tuple[Approval, ...],
        msg_id: str,
        authority: Authority,
    ) -> Outlook:
        """Decide a message with these approvals plus that of an authority."""
        if not self._in_force.has_law:
            return Outlook(why=(LAWLESS,))
        event = self._in_force.stamped(message_event(self._root, file), phase)
        alone, all_ = (
            self._decided(event, (*approvals, *_granted(msg_id, file.digest, by)))
            for by in ((authority,), tuple(Authority))
        )
        commands, later = _commands(alone), _commands(all_)
        why = [*_refusals(alone), *self._obstacles(alone, all_)]
        others = tuple(one for one in later if one not in commands)
        return Outlook(commands=commands, later=others, why=tuple(dict.fromkeys(why)))

    def _decided(self, event: Bus, approvals: tuple[Approval, ...]) -> Decision:
        known = replace(event, facts=replace(event.facts, approvals=approvals))
        return decide_with_facts(self._in_force.rules, Session(id=SESSION), known)[1]

    def _obstacles(self, *decisions: Decision) -> list[str]:
        plans = [plan for one in decisions for plan in one.plans]
        broken = [f"`{plan.rule}` fails: {plan.broken}" for plan in plans if plan.broken]
        trust = self._in_force.trust()
        runs = any(map(_commands, decisions))
        return broken if trust.given or not runs else [*broken, f"no command starts: {trust.why}"]


def _granted(msg_id: str, digest: str, by: Iterable[Authority]) -> list[Approval]:
    state = ApprovalState.GRANTED
    return [Approval(id=msg_id, authority=one, state=state, digest=digest) for one in by]


def _commands(decision: Decision) -> tuple[Command, ...]:
    return tuple(
        Command(plan.rule, step.argv, step.cwd)
        for plan in decision.plans
        for step in plan.steps
        if isinstance(step, CommandRun)
    )


def _refusals(decision: Decision) -> list[str]:
    """Why the message would be refused even then."""
    return [one.text for one in decision.reasons if one.verdict >= Verdict.DENY]
