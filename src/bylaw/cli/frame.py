"""The click group `bylaw` and the table of its commands.

The table has the module and the help line of each command, so that `bylaw --help` imports none of
the modules. The module of a command is imported when the command is called.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click
from click.shell_completion import (
    CompletionItem,
    shell_complete,
)

from bylaw.model.suggest import did_you_mean
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


class CommandEntry(NamedTuple):
    """Module of a command, and its help line."""

    module: str
    help: str


COMMANDS = {
    "demo": CommandEntry(
        "bylaw.cli.demo", "Watch a scripted agent work under rules of all languages."
    ),
    "init": CommandEntry("bylaw.cli.init", "Create starter rules."),
    "check": CommandEntry("bylaw.cli.check", "Load rule files and report errors."),
    "decide": CommandEntry(
        "bylaw.cli.decide", "Decide events under rules, without performing anything."
    ),
    "chat": CommandEntry(
        "bylaw.cli.chat", "Run the conversation of a ChatMD file under its rules."
    ),
    "context": CommandEntry("bylaw.cli.context", "Check, call and format context documents."),
    "rules": CommandEntry("bylaw.cli.rules", "List, show, disable and enable rules."),
    "install": CommandEntry("bylaw.cli.install", "Install hooks in a coding agent."),
    "uninstall": CommandEntry("bylaw.cli.install", "Remove hooks from a coding agent."),
    "doctor": CommandEntry("bylaw.cli.doctor", "Check that hooks and rules are set up correctly."),
    "trust": CommandEntry(
        "bylaw.cli.trust", "Review the commands that rules can run, and trust them."
    ),
    "bus": CommandEntry("bylaw.cli.bus", "Process messages and file changes under RULE_DSL rules."),
    "approve": CommandEntry("bylaw.cli.approve", "Approve a message that waits in the bus."),
    "reject": CommandEntry("bylaw.cli.approve", "Reject a message of the bus."),
    "policies": CommandEntry("bylaw.cli.policies", "Check changed files against file policies."),
    "hook": CommandEntry("bylaw.cli.hook", "Answer one hook event of a coding agent."),
    "log": CommandEntry("bylaw.cli.log", "Show the journal: events, decisions and their reasons."),
    "explain": CommandEntry("bylaw.cli.log", "Explain a decision: which rules fired, and why."),
    "verify": CommandEntry("bylaw.cli.log", "Verify a journal and replay its decisions."),
    "journal": CommandEntry(
        "bylaw.cli.journal", "Erase recorded payloads; the hash chain stays valid."
    ),
    "expr": CommandEntry("bylaw.cli.expr", "Evaluate an expression of a rule language on facts."),
    "match": CommandEntry("bylaw.cli.expr", "Match a path pattern against paths."),
    "completion": CommandEntry("bylaw.cli.completion", "Print a completion script for your shell."),
}


PROGRAM = "bylaw"
COMPLETION_VARIABLE = "_BYLAW_COMPLETE"
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class CommandGroup(click.Group):
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


class LazyCommandGroup(CommandGroup):
    """A group that knows names and help lines of its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the module of a command."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[cmd_name].module), f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands with the help lines of the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, or options of the group."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=verb.help)
            for name, verb in COMMANDS.items()
            if name.startswith(incomplete)
        ]


@click.command(
    cls=LazyCommandGroup,
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
