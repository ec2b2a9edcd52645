"""`bylaw policies`: what changed in a repository → what its policies say about it."""

from __future__ import annotations

import click

from bylaw.cli.frame import HELP_OPTIONS, Verbs
from bylaw.cli.policies_explain import explain
from bylaw.cli.policies_migrate import migrate
from bylaw.cli.policies_new import new
from bylaw.cli.policies_run import run
from bylaw.cli.policies_status import baseline, clear, status


@click.group(
    cls=Verbs,
    name="policies",
    context_settings=HELP_OPTIONS,
    subcommand_metavar="VERB …",
    options_metavar="",
    epilog="""\b
    Examples:
      bylaw policies new readme-accuracy --trigger "src/**/*.py" --safety README.md
      bylaw policies run
      bylaw policies explain src/app/main.py
    """,
)
def command() -> None:
    """Check what changed in a repository against its policies.

    A policy is a Markdown file in .deepwork/policies that says which files must change together,
    what to tell an agent when some files changed, or which command to run on them.
    """


for _verb in (run, status, explain, new, clear, baseline, migrate):
    command.add_command(_verb)
