"""`bylaw install HOST`: write hooks into the configuration of a client, after confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.hook_change import (
    as_json,
    common_options,
    left_alone,
    numbered,
    refuse_both,
    shown_and_agreed,
)
from bylaw.cli.output import write
from bylaw.cli.root_option import chosen_root
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.installing import carry_out, to_install
from bylaw.hosts.hooks.install.interpreter import interpreter, refuse_interpreter
from bylaw.hosts.hooks.install.own_hooks import own_hook_steps
from bylaw.hosts.hooks.install.places import Scope
from bylaw.hosts.hooks.install.steps import steps
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.hooks.install.installing import ConfigChange


@click.command(context_settings=HELP_OPTIONS)
@common_options
def command(*, host: str, scope: str | None, root: str, dry_run: bool, yes: bool, form: str) -> int:
    """Install hooks of Bylaw in a coding agent.

    HOST is claude, codex, gemini, qwen, copilot, droid, opencode or cursor. Bylaw adds hooks to
    the configuration file of the client and keeps everything else in it, comments included. A
    file that the client itself could not read is not changed. Bylaw shows the change first. It
    keeps a copy of the old file in your state folder ($XDG_STATE_HOME or ~/.local/state), and
    `bylaw uninstall` restores it.

    Each event gets one entry with the client, the event and the current Python interpreter.
    Hooks of an earlier installation are replaced. Your own hooks are kept, even if they call
    Bylaw, and are listed. Clients that support it deny if a hook fails.

    \b
    Where      --project                   --user
    claude     .claude/settings.json       ~/.claude/settings.json
    codex      .codex/hooks.json           ~/.codex/hooks.json
    gemini     .gemini/settings.json       ~/.gemini/settings.json
    qwen       .qwen/settings.json         ~/.qwen/settings.json
    copilot    .github/hooks/bylaw.json    ~/.copilot/hooks/bylaw.json
    droid      .factory/settings.json      ~/.factory/settings.json
    opencode   opencode.json               ~/.config/opencode/opencode.json
    cursor     .cursor/hooks.json          ~/.cursor/hooks.json

    Shows what the client still needs from you, such as trust in the folder or in the hooks.
    Needs a terminal or --yes. Exit code 0 on success, else 1.

    \b
    Examples:
      bylaw install claude
      bylaw install codex --user --yes
      bylaw install gemini --dry-run
    """
    refuse_both(dry_run=dry_run, yes=yes)
    client, where, folder = CLIENTS[host], Scope(scope or Scope.PROJECT), chosen_root(root)
    python = interpreter()
    change = to_install(client, where, folder, python)
    if change.changed:
        refuse_interpreter(python)
    about_own = own_hook_steps(change.own, change.file.shown)
    todo = [*steps(client, where, folder, python), *about_own]
    if form == "json":
        return as_json(change, todo, yes=yes, dry_run=dry_run)
    shown = visible(change.file.shown)
    if not change.changed:
        if change.unnoted and not dry_run:
            carry_out(change)
        there = f"{_hooks(change)} are already installed in {shown}\n"
        write(f"{there}{left_alone(change)}{_steps(todo)}")
        return 0
    if not shown_and_agreed(change, f"Install {_hooks(change)}?", yes=yes, dry_run=dry_run):
        return 0 if dry_run else MISTAKE
    carry_out(change)
    write(f"installed {_hooks(change)} in {shown}\n{_kept(change)}{_steps(todo)}")
    return 0


def _hooks(change: ConfigChange) -> str:
    return f"hooks for {change.client.title}"


def _kept(change: ConfigChange) -> str:
    return "" if change.restored is None else f"the old file is kept in {change.memory.backup}\n"


def _steps(todo: Sequence[str]) -> str:
    return f"\nnext:\n{numbered(todo)}" if todo else ""
