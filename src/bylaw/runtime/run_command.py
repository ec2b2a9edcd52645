"""A `command.run` step → a command within the bounds of its language, and what became of it.

It is run only if a person trusts it. What can have changed since it was asked for is looked at
again right before the start: trust here, the program and the folder in `command.run`. A difference
is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field, structs
from msgspec.structs import replace

from bylaw.engine.outcome import StepOutcome
from bylaw.expr.program_words import unsafe_name
from bylaw.model.effects import CommandRun
from bylaw.model.fact_paths import file_path
from bylaw.model.uid import dialect_of
from bylaw.model.visible import visible
from bylaw.model.vocabulary import EffectStatus
from bylaw.runtime.command import run
from bylaw.runtime.trust import TrustState
from bylaw.runtime.watched.order import Command, Refusal
from bylaw.runtime.watched.result import CommandResult, Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.engine.plan import Due
    from bylaw.model.event import Event
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust
    from bylaw.runtime.watched.cancellation import Cancellation

_STATUSES = {
    Ending.REFUSED: EffectStatus.REFUSED,
    Ending.TIMED_OUT: EffectStatus.TIMEOUT,
}


class Bounds(Struct, frozen=True):
    """What a language lets its commands do: which programs (None: any), and where.

    In the folders that `[command] roots` names, or anywhere in the root. With `scripts` an
    executable file of the root is a program, too. With `tidy` a command that floods, or leaves
    processes behind, has failed.
    """

    programs: frozenset[str] | None = None
    scripts: bool = False
    in_roots: bool = False
    tidy: bool = False


NO_BOUNDS = Bounds()
IN_PROGRAM_TEXT = (
    "the name `{}` would be a part of the program that it reads; let it take the file as an "
    """argument, as `sh -c '… "$1"' sh {{file}}` does, or rename the file"""
)


class CommandRunner(Struct, frozen=True):
    """Carries out `command.run` in a root; `languages` are the bounds of each by its name.

    `trust` finds out whether a person trusts the rules in force, as of now.
    """

    root: str
    settings: CommandSettings
    trust: Callable[[], Trust]
    languages: Mapping[str, Bounds] = field(default_factory=dict)
    cancellation: Cancellation | None = None

    def perform(self, due: Due, _event: Event) -> StepOutcome:
        """Run the command of a step once."""
        assert isinstance(due.step, CommandRun)
        result = self.run(due.step, due.plan.uid)
        return StepOutcome(effect_status(result), result.as_json())

    def run(
        self, step: CommandRun, uid: str, started: Callable[[], None] | None = None
    ) -> CommandResult:
        """What becomes of the command of a step when it is run once, for the rule of that uid.

        `started` is called when its program runs.
        """
        command = self._command(step, uid)
        unsafe = unsafe_name(command.argv, [*map(file_path, step.files), self.root])
        if unsafe:
            why = IN_PROGRAM_TEXT.format(visible(unsafe))
            return CommandResult.refused(command, Refusal.UNSAFE_NAME, why)
        return run_if_trusted(command, self.trust, self.cancellation, started)

    def refusals(self, steps: Sequence[CommandRun], uid: str) -> list[CommandResult]:
        """What becomes of commands if nobody trusts them now; nothing if somebody does."""
        trust = self.trust()
        found = (refusal(self._command(step, uid), trust) for step in steps)
        return [one for one in found if one is not None]

    def _command(self, step: CommandRun, uid: str) -> Command:
        bounds = self.languages.get(dialect_of(uid), NO_BOUNDS)
        command = command_in(self.root, self.settings, at_root(step, self.root).argv)
        folders = [f"{self.root}/{one}" for one in self.settings.roots]
        return replace(
            command,
            # An absolute path is none, wherever it leads.
            cwd="" if step.cwd.startswith("/") else f"{self.root}/{step.cwd}",
            roots=tuple(folders) if bounds.in_roots else command.roots,
            timeout_s=min(step.timeout_s or command.timeout_s, command.timeout_s),
            scripts=bounds.scripts,
            tidy=bounds.tidy,
            allow=_both(bounds.programs, command.allow),
        )


def at_root(step: CommandRun, root: str) -> CommandRun:
    """The step with the path of the root where it belongs."""
    words = [*step.argv]
    for number, at in sorted(step.root_at, reverse=True):
        words[number] = f"{words[number][:at]}{root}{words[number][at + 1 :]}"
    return structs.replace(step, argv=tuple(words), root_at=()) if step.root_at else step


def command_in(root: str, settings: CommandSettings, argv: tuple[str, ...]) -> Command:
    """A command at the root, as far as the settings go."""
    return Command(
        argv=argv,
        cwd=root,
        roots=(root,),
        top=root,
        timeout_s=settings.timeout_s,
        allow=frozenset(settings.allow) or None,
        env=settings.env,
    )


def run_if_trusted(
    command: Command,
    trust: Callable[[], Trust],
    cancellation: Cancellation | None = None,
    started: Callable[[], None] | None = None,
) -> CommandResult:
    """Run a command to its end; `trust` finds out whether a person trusts it, as of now."""
    return refusal(command, trust()) or run(command, cancellation, started)


def refusal(command: Command, trust: Trust) -> CommandResult | None:
    """Why a command is not run, if nobody trusts it."""
    if trust.given:
        return None
    nobody_asked = trust.state is TrustState.NOT_NEEDED
    why = "no book said that it starts programs, so nobody could trust it"
    return CommandResult.refused(command, Refusal.UNTRUSTED, why if nobody_asked else trust.why)


def effect_status(result: CommandResult) -> EffectStatus:
    """How a step ended whose command ended so."""
    return EffectStatus.OK if result.ok else _STATUSES.get(result.ending, EffectStatus.FAILED)


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
