"""`bylaw policies`: check changed files against file policies."""

from __future__ import annotations

from importlib import import_module

import click

from bylaw.cli.frame import HELP_OPTIONS, Verbs

_VERBS = {
    "run": "policies_run",
    "status": "policies_status",
    "explain": "policies_explain",
    "new": "policies_new",
    "clear": "policies_clear",
    "baseline": "policies_baseline",
    "migrate": "policies_migrate",
}


class _PolicyVerbs(Verbs):
    """Imports only the called command, because an agent that stops waits for `run`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _VERBS:
            return None
        verb = getattr(import_module(f"bylaw.cli.{_VERBS[cmd_name]}"), cmd_name)
        assert isinstance(verb, click.Command)
        return verb


@click.group(
    cls=_PolicyVerbs,
    name="policies",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="COMMAND …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw policies new readme --trigger "src/**/*.py" --safety README.md
      bylaw policies run
      bylaw policies explain src/app/main.py
    """,
)
def command() -> None:
    """Check changed files against file policies.

    A file policy is a Markdown file in .deepwork/policies. It says which files must change
    together, what to tell an agent when files changed, or which command to run on them.
    """
