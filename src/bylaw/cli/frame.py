"""The click group `bylaw`. The module of a command is imported when the command is called."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, shell_complete

from bylaw.cli.verbs import VERBS
from bylaw.model.suggest import did_you_mean
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "bylaw"
COMPLETION_VARIABLE = "_BYLAW_COMPLETE"
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class Verbs(click.Group):
    """A command group that suggests a name for an unknown command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. The usage error for an unknown command suggests a name."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            raise click.UsageError(f"unknown command `{name}`; {did_you_mean(name, known)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, one line each."""
        verbs = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, verb.get_short_help_str(100)) for name, verb in verbs if verb]
            )

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)


class LazyVerbs(Verbs):
    """A group that knows names and help lines of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the module of a command."""
        if cmd_name not in VERBS:
            return None
        command = import_module(VERBS[cmd_name].module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands with the help lines of the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in VERBS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, or options of the group."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=verb.help)
            for name, verb in VERBS.items()
            if name.startswith(incomplete)
        ]


@click.command(
    cls=LazyVerbs,
    name=PROGRAM,
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw expr "count_calls('shell') >= 3" --facts facts.json
      bylaw match "src/**/*.py" src/app/main.py
      bylaw match --help
    """,
)
@click.version_option(__version__, message="bylaw %(version)s")
def bylaw() -> None:
    """One deterministic rule engine for AI agents.

    Run `bylaw COMMAND --help` for help on a command. Exit codes: 0 success,
    1 findings, 2 wrong usage, 3 a bug in Bylaw, 130 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name. The exit code is its return value, or 0."""
    request = os.environ.get(COMPLETION_VARIABLE)
    if request:
        return shell_complete(bylaw, {}, PROGRAM, COMPLETION_VARIABLE, request)
    with bylaw.make_context(PROGRAM, [_as_utf8(word) for word in arguments]) as context:
        code = bylaw.invoke(context)
    return code if isinstance(code, int) else 0


def _as_utf8(word: str) -> str:
    # Python decodes arguments by the locale; Bylaw's texts are UTF-8 in every locale.
    return os.fsencode(word).decode("utf-8", "surrogateescape")
