"""A tool that a chat declares with `command="…"`: it runs that command with further arguments.

No shell is used. Nothing is started before a person has trusted the chat.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from bylaw.hosts.chat.tools.arguments import Arguments, CheckedTool
from bylaw.hosts.chat.tools.base import ToolError, ToolTimeoutError
from bylaw.hosts.chat.tools.files import shown
from bylaw.runtime.run_command import command_in, run_if_trusted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.chatmd.declarations import CommandTool as Declared
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust
    from bylaw.runtime.watched.cancellation import Cancellation
    from bylaw.runtime.watched.result import CommandResult

MAX_OUTPUT_BYTES = 64 * 1024  # of each stream


class CommandArguments(Arguments, frozen=True, kw_only=True):
    """The arguments of a command tool."""

    arguments: Annotated[
        tuple[str, ...], Meta(description="Arguments to add to the command, one string each.")
    ] = ()


class CommandTool(CheckedTool[CommandArguments]):
    """Runs one command in the root of the chat; see `run_if_trusted`."""

    also: tuple[str, ...] = ("shell",)

    def __init__(
        self,
        declared: Declared,
        root: str,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        cancellation: Cancellation | None = None,
    ) -> None:
        ours = f"Run `{declared.command}` with further arguments. No shell interprets them."
        super().__init__(declared.name, f"{ours} {declared.description}".rstrip(), CommandArguments)
        self._command = declared.command
        self._root = root
        self._settings = settings
        self._trust = trust
        self._cancellation = cancellation

    def act(self, args: CommandArguments) -> str:
        """Return what was printed. Raises ToolError also if the command reports a failure."""
        argv = (*self._declared(), *args.arguments)
        command = replace(command_in(self._root, self._settings, argv), max_output=MAX_OUTPUT_BYTES)
        result = run_if_trusted(command, self._trust, self._cancellation)
        printed = _printed(result)
        if result.ok:
            return printed
        failed = ToolTimeoutError if result.timed_out else ToolError
        said = f"`{shown(self._command)}`: {result.error}"
        raise failed(f"{said}\n{printed}" if printed else said)

    def _declared(self) -> list[str]:
        try:
            return shlex.split(self._command)
        except ValueError as wrong:
            why = str(wrong).lower()
            raise ToolError(f"`{shown(self._command)}` is not a valid command: {why}") from None


def _printed(result: CommandResult) -> str:
    """Return standard output, then standard error on a new line."""
    out, errors = result.stdout.text, result.stderr.text
    return f"{out}\n{errors}" if out and errors and not out.endswith("\n") else out + errors
