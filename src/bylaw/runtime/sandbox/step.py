"""Perform a `command.run` step: run its command within the limits of its language.

The command runs only if a person trusts it. Facts that can have changed since the decision are
checked again right before the start: trust in this module, program and folder in `request`. If one
differs, the command is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field, structs
from msgspec.structs import replace

from bylaw.engine.plan import StepOutcome
from bylaw.expr.command_line import unsafe_name
from bylaw.model.display import file_path, visible
from bylaw.model.effects import CommandRun
from bylaw.model.rule import dialect_of
from bylaw.model.vocabulary import EffectStatus
from bylaw.runtime.sandbox.command import run
from bylaw.runtime.sandbox.request import CommandRequest, Refusal
from bylaw.runtime.sandbox.result import CommandEnd, CommandResult
from bylaw.runtime.trust import TrustState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.engine.plan import DueStep
    from bylaw.model.event import Event
    from bylaw.runtime.sandbox.client import Cancellation
    from bylaw.runtime.settings import CommandSettings
    from bylaw.runtime.trust import Trust

_STATUSES = {
    CommandEnd.REFUSED: EffectStatus.REFUSED,
    CommandEnd.TIMED_OUT: EffectStatus.TIMEOUT,
}


class CommandLimits(Struct, frozen=True):
    """What a language allows its commands: which programs (None: any), and where.

    With `in_roots`, commands run only in the folders of `[command] roots`, else anywhere in the
    root. With `scripts`, an executable file of the root is a program as well. With `tidy`, a
    command fails if it writes too much output or leaves processes behind.
    """

    programs: frozenset[str] | None = None
    scripts: bool = False
    in_roots: bool = False
    tidy: bool = False


NO_LIMITS = CommandLimits()
IN_PROGRAM_TEXT = (
    "the name `{}` would become part of the program text; pass it as an "
    """argument, as in `sh -c '… "$1"' sh {{file}}`, or rename the file"""
)


class CommandRunner(Struct, frozen=True):
    """Performs `command.run` in a root; `languages` are the limits of each language by name.

    `trust` determines whether a person trusts the active rules at that moment.
    """

    root: str
    settings: CommandSettings
    trust: Callable[[], Trust]
    languages: Mapping[str, CommandLimits] = field(default_factory=dict)
    cancellation: Cancellation | None = None

    def perform(self, due: DueStep, _event: Event) -> StepOutcome:
        """Run the command of a step once."""
        assert isinstance(due.step, CommandRun)
        result = self.run(due.step, due.plan.uid)
        return StepOutcome(effect_status(result), result.as_json())

    def run(
        self, step: CommandRun, uid: str, started: Callable[[], None] | None = None
    ) -> CommandResult:
        """Run the command of a step once, for the rule with that uid.

        `started` is called when the program runs.
        """
        command = self._command(step, uid)
        unsafe = unsafe_name(command.argv, [*map(file_path, step.files), self.root])
        if unsafe:
            why = IN_PROGRAM_TEXT.format(visible(unsafe))
            return CommandResult.refused(command, Refusal.UNSAFE_NAME, why)
        return run_if_trusted(command, self.trust, self.cancellation, started)

    def refusals(self, steps: Sequence[CommandRun], uid: str) -> list[CommandResult]:
        """Return the refusals of commands that are not trusted now; empty if they are trusted."""
        trust = self.trust()
        found = (trust_refusal(self._command(step, uid), trust) for step in steps)
        return [one for one in found if one is not None]

    def _command(self, step: CommandRun, uid: str) -> CommandRequest:
        bounds = self.languages.get(dialect_of(uid), NO_LIMITS)
        command = command_at_root(self.root, self.settings, with_root_path(step, self.root).argv)
        folders = [f"{self.root}/{one}" for one in self.settings.roots]
        return replace(
            command,
            # An absolute path is refused, wherever it leads.
            cwd="" if step.cwd.startswith("/") else f"{self.root}/{step.cwd}",
            roots=tuple(folders) if bounds.in_roots else command.roots,
            timeout_s=min(step.timeout_s or command.timeout_s, command.timeout_s),
            scripts=bounds.scripts,
            tidy=bounds.tidy,
            allow=_intersection(bounds.programs, command.allow),
        )


def with_root_path(step: CommandRun, root: str) -> CommandRun:
    """Return the step with the path of the root inserted where it belongs."""
    words = [*step.argv]
    for number, at in sorted(step.root_at, reverse=True):
        words[number] = f"{words[number][:at]}{root}{words[number][at + 1 :]}"
    return structs.replace(step, argv=tuple(words), root_at=()) if step.root_at else step


def command_at_root(root: str, settings: CommandSettings, argv: tuple[str, ...]) -> CommandRequest:
    """Return a command at the root with the limits of the settings."""
    return CommandRequest(
        argv=argv,
        cwd=root,
        roots=(root,),
        top=root,
        timeout_s=settings.timeout_s,
        allow=frozenset(settings.allow) or None,
        env=settings.env,
    )


def run_if_trusted(
    command: CommandRequest,
    trust: Callable[[], Trust],
    cancellation: Cancellation | None = None,
    started: Callable[[], None] | None = None,
) -> CommandResult:
    """Run a command if `trust` says that a person trusts it now."""
    return trust_refusal(command, trust()) or run(command, cancellation, started)


def trust_refusal(command: CommandRequest, trust: Trust) -> CommandResult | None:
    """Return the refusal of a command that is not trusted; None if it is."""
    if trust.given:
        return None
    nobody_asked = trust.state is TrustState.NOT_NEEDED
    why = "its book does not declare that it starts programs, so it cannot be trusted"
    return CommandResult.refused(command, Refusal.UNTRUSTED, why if nobody_asked else trust.why)


def effect_status(result: CommandResult) -> EffectStatus:
    """Return the status of a step from the result of its command."""
    return EffectStatus.OK if result.ok else _STATUSES.get(result.ending, EffectStatus.FAILED)


def _intersection(
    one: frozenset[str] | None, other: frozenset[str] | None
) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
