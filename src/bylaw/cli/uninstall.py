"""`bylaw uninstall HOST`: a coding agent → its configuration without hooks of Bylaw."""

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
    """Take hooks of Bylaw out of a coding agent.

    If nobody else has changed the client's configuration since `bylaw install`, it is as it was
    before, to the byte; a file or folder that was made for the hooks is removed. Otherwise only
    the hooks that were installed are taken out of the text, and all else stays, also a hook that
    you wrote yourself and that calls Bylaw; it is named. Where nobody remembers what was installed,
    a whole set of hooks as `bylaw install` writes it is taken out.

    What would change is shown first. Wants a terminal or --yes, and refuses to be called by a
    coding agent. Exits 0 if no hook that was installed is there in the end, else 1.

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
        which = f"{hooks} in {shown}{' that were installed' if change.own else ''}"
        write(f"there are no {which}\n{left_alone(change)}")
        return 0
    if not shown_and_agreed(change, f"Take out {hooks}?", yes=yes, dry_run=dry_run):
        return 0 if dry_run else MISTAKE
    carry_out(change)
    gone = "removed" if change.after is None else f"took {hooks} out of"
    write(f"{gone} {shown}\n")
    return 0
