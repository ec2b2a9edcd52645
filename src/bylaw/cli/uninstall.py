"""`bylaw uninstall HOST`: remove hooks of Bylaw from the configuration of a client."""

from __future__ import annotations

import click

from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.hook_change import (
    as_json,
    common_options,
    left_alone,
    refuse_both,
    shown_and_agreed,
)
from bylaw.cli.output import write
from bylaw.cli.root_option import chosen_root
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.installing import carry_out, to_remove
from bylaw.hosts.hooks.install.interpreter import interpreter
from bylaw.hosts.hooks.install.places import Scope
from bylaw.model.visible import visible
from bylaw.runtime.known_agents import refuse_agents


@click.command(context_settings=HELP_OPTIONS)
@common_options
def command(*, host: str, scope: str | None, root: str, dry_run: bool, yes: bool, form: str) -> int:
    """Remove hooks of Bylaw from a coding agent.

    If the configuration of the client has not changed since `bylaw install`, Bylaw restores it
    byte for byte, and removes a file or folder that was created for the hooks. Otherwise it
    removes only the installed hooks. Your own hooks are kept, even if they call Bylaw, and are
    listed. If there is no record of the installation, Bylaw removes a complete set of hooks as
    `bylaw install` writes it.

    Shows the change first. Needs a terminal or --yes, and refuses calls by a coding agent. Exit
    code 0 if no installed hook is left, else 1.

    \b
    Examples:
      bylaw uninstall claude
      bylaw uninstall codex --user --yes
    """
    refuse_both(dry_run=dry_run, yes=yes)
    where, folder = Scope(scope or Scope.PROJECT), chosen_root(root)
    change = to_remove(CLIENTS[host], where, folder, interpreter())
    if change.changed and not dry_run:
        refuse_agents("removing hooks")
    if form == "json":
        return as_json(change, [], yes=yes, dry_run=dry_run)
    hooks, shown = f"hooks for {change.client.title}", visible(change.file.shown)
    if not change.changed:
        which = f"{hooks} in {shown}{' that `bylaw install` wrote' if change.own else ''}"
        write(f"found no {which}\n{left_alone(change)}")
        return 0
    if not shown_and_agreed(change, f"Remove {hooks}?", yes=yes, dry_run=dry_run):
        return 0 if dry_run else MISTAKE
    carry_out(change)
    gone = "removed" if change.after is None else f"removed {hooks} from"
    write(f"{gone} {shown}\n")
    return 0
