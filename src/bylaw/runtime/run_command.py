"""A `command.run` step → a command within the bounds of its language, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from bylaw.engine.outcome import StepOutcome
from bylaw.model.effects import CommandRun
from bylaw.model.vocabulary import EffectStatus
from bylaw.runtime.file_digests import digest_of_all, file_digests
from bylaw.runtime.trusted_command import command_in, run_if_trusted
from bylaw.runtime.watched.result import Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.engine.plan import Due
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust
    from bylaw.runtime.watched.result import Cancellation, Command, CommandResult

MAX_NAMED = 100  # changed files in a result

_STATUSES = {
    Ending.REFUSED: EffectStatus.REFUSED,
    Ending.TIMED_OUT: EffectStatus.TIMEOUT,
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a language lets its commands do: which programs (None: any), and where.

    In the folders that `[command] roots` names, or anywhere in the root.
    """

    programs: frozenset[str] | None = None
    in_roots: bool = False


NO_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """Carries out `command.run` in a root; `languages` are the bounds of each by its name.

    `trust` finds out whether a person trusts the rules in force, as of now.
    """

    root: str
    settings: CommandSettings
    trust: Callable[[], Trust]
    languages: Mapping[str, Bounds] = field(default_factory=dict)
    cancellation: Cancellation | None = None

    def perform(self, due: Due, _event: Event) -> StepOutcome:
        """Run the command of a step, twice if it must show that it changes nothing more."""
        step = due.step
        assert isinstance(step, CommandRun)
        command = self._command(step, due.plan.uid)
        if step.check_idempotent:
            return self._run_until_stable(command, step.files)
        result = self._run(command)
        return StepOutcome(_status(result), result.as_json())

    def _command(self, step: CommandRun, uid: str) -> Command:
        bounds = self.languages.get(uid.partition(":")[0], NO_BOUNDS)
        command = command_in(self.root, self.settings, step.argv)
        folders = [f"{self.root}/{one}" for one in self.settings.roots]
        return replace(
            command,
            # An absolute path is none, wherever it leads.
            cwd="" if step.cwd.startswith("/") else f"{self.root}/{step.cwd}",
            roots=tuple(folders) if bounds.in_roots else command.roots,
            timeout_s=min(step.timeout_s or command.timeout_s, command.timeout_s),
            allow=_both(bounds.programs, command.allow),
        )

    def _run(self, command: Command) -> CommandResult:
        return run_if_trusted(command, self.trust, self.cancellation)

    def _run_until_stable(self, command: Command, files: tuple[str, ...]) -> StepOutcome:
        """DW-A22, DW-A24: the second run is there only to change nothing again."""
        states = [file_digests(self.root, files)]
        runs: list[CommandResult] = []
        while not runs or (runs[-1].ok and len(runs) == 1 and states[-1] != states[-2]):
            runs.append(self._run(command))
            states.append(file_digests(self.root, files))
        return _judged(runs, states)


def _judged(runs: list[CommandResult], states: list[dict[str, str]]) -> StepOutcome:
    last = runs[-1]
    changed, *again = [_changed(before, after) for before, after in pairwise(states)]
    changed_again = again[0] if again else []
    result = last.as_json() | {
        "runs": len(runs),
        "digests": _named([digest_of_all(state) for state in states]),
        "changed": _some(changed),
        "changed_again": _some(changed_again),
    }
    if again:
        result["first"] = runs[0].as_json()
    if not last.ok or not changed_again:
        return StepOutcome(_status(last), result)
    more = f" and {len(changed_again) - 1} more" if len(changed_again) > 1 else ""
    error = f"`{changed_again[0]}`{more} changed again when the command ran a second time"
    return StepOutcome(EffectStatus.FAILED, result | {"error": error})


def _named(digests: Sequence[str]) -> dict[str, JSON]:
    return dict(zip(("before", "between", "after"), digests, strict=False))


def _some(paths: Sequence[str]) -> list[JSON]:
    return [*paths[:MAX_NAMED]]


def _changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [path for path, digest in after.items() if before[path] != digest]


def _status(result: CommandResult) -> EffectStatus:
    return EffectStatus.OK if result.ok else _STATUSES.get(result.ending, EffectStatus.FAILED)


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
