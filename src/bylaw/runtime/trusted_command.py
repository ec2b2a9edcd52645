"""A command line → a command within the settings of its root, run only if a person trusts it.

What can have changed since it was asked for is looked at again right before the start: trust here,
the program and the folder in `command.run`. A difference is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.runtime.command import run
from bylaw.runtime.trust import TrustState
from bylaw.runtime.watched.order import Command, Refusal
from bylaw.runtime.watched.result import CommandResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust
    from bylaw.runtime.watched.cancellation import Cancellation


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
    command: Command, trust: Callable[[], Trust], cancellation: Cancellation | None = None
) -> CommandResult:
    """Run a command to its end; `trust` finds out whether a person trusts it, as of now."""
    return refusal(command, trust()) or run(command, cancellation)


def refusal(command: Command, trust: Trust) -> CommandResult | None:
    """Why a command is not run, if nobody trusts it."""
    if trust.state is TrustState.NOT_NEEDED:
        why = "no book said that it starts programs, so nobody could trust it"
        return CommandResult.refused(command, Refusal.UNTRUSTED, why)
    return None if trust else CommandResult.refused(command, Refusal.UNTRUSTED, trust.why)
