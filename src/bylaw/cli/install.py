"""`bylaw install` and `bylaw uninstall`: write or remove hooks in the configuration of a client.

Both show the change first and ask. `bylaw init` uses the same options and texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.terminal import confirm, emit, resolve_root, root_option, text_or_json, write
from bylaw.hosts.clients.caller import require_person
from bylaw.hosts.hooks.install.advice import remaining_steps
from bylaw.hosts.hooks.install.config_file import Scope
from bylaw.hosts.hooks.install.entries import own_hook_steps
from bylaw.hosts.hooks.install.forms import CLIENTS, check_interpreter, interpreter
from bylaw.hosts.hooks.install.install import carry_out, plan_install, plan_removal
from bylaw.model.display import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.hosts.hooks.install.install import ConfigChange

_COMMON_OPTIONS = (
    click.argument("host", type=click.Choice(list(CLIENTS)), metavar="HOST"),
    click.option("--project", "scope", flag_value="project", help="In this repository (default)."),
    click.option("--user", "scope", flag_value="user", help="For all your projects."),
    root_option,
    click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing."),
    click.option("--yes", is_flag=True, help="Skip the confirmation."),
    text_or_json,
)


def common_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the arguments and options of `install` and `uninstall`."""
    for one in reversed(_COMMON_OPTIONS):
        function = one(function)
    return function


def refuse_dry_run_with_yes(*, dry_run: bool, yes: bool) -> None:
    """UsageError if both options are given."""
    if dry_run and yes:
        raise click.UsageError("cannot combine `--dry-run` and `--yes`")


def print_change(change: ConfigChange, todo: Sequence[str], *, yes: bool, dry_run: bool) -> int:
    """Print a change as JSON, and perform it with `--yes`. Return the exit code."""
    if yes:
        carry_out(change)
    emit(change_as_data(change, todo) | {"written": yes and change.changed})
    return 0 if yes or dry_run or not change.changed else MISTAKE


def change_as_data(change: ConfigChange, todo: Sequence[str]) -> dict[str, object]:
    """Return a change as plain values for JSON."""
    return {
        "host": change.client.host,
        "scope": change.scope.value,
        "path": visible(change.file.shown),
        "changed": change.changed,
        "diff": change.diff,
        "left": [{"line": one.line, "command": one.command} for one in change.own],
        "steps": list(todo),
    }


def confirm_change(change: ConfigChange, question: str, *, yes: bool, dry_run: bool) -> bool:
    """Show the diff and the hooks that are kept. Return whether to write the change."""
    left = list_own_hooks(change)
    write(f"{change.diff}\n{left}\n" if left else f"{change.diff}\n")
    if dry_run:
        return False
    if yes or confirm(f"{question} [y/N] "):
        return True
    write("nothing was written\n")
    return False


def list_own_hooks(change: ConfigChange) -> str:
    """List the user's own hooks that call Bylaw, one per line."""
    lines = (f"  line {one.line}: {one.command}\n" for one in change.own)
    head = "kept, because `bylaw install` is not known to have written them:\n"
    return f"{head}{''.join(lines)}" if change.own else ""


def number_steps(steps: Sequence[str]) -> str:
    """Number the steps, one per line."""
    return "".join(f"  {number}. {step}\n" for number, step in enumerate(steps, 1))


@click.command(context_settings=HELP_OPTIONS)
@common_options
def install_command(
    *, host: str, scope: str | None, root: str, dry_run: bool, yes: bool, form: str
) -> int:
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
    refuse_dry_run_with_yes(dry_run=dry_run, yes=yes)
    client, where, folder = CLIENTS[host], Scope(scope or Scope.PROJECT), resolve_root(root)
    python = interpreter()
    change = plan_install(client, where, folder, python)
    if change.changed:
        check_interpreter(python)
    about_own = own_hook_steps(change.own, change.file.shown)
    todo = [*remaining_steps(client, where, folder, python), *about_own]
    if form == "json":
        return print_change(change, todo, yes=yes, dry_run=dry_run)
    shown = visible(change.file.shown)
    if not change.changed:
        if change.unnoted and not dry_run:
            carry_out(change)
        there = f"{_hooks_title(change)} are already installed in {shown}\n"
        write(f"{there}{list_own_hooks(change)}{_next_steps(todo)}")
        return 0
    if not confirm_change(change, f"Install {_hooks_title(change)}?", yes=yes, dry_run=dry_run):
        return 0 if dry_run else MISTAKE
    carry_out(change)
    write(f"installed {_hooks_title(change)} in {shown}\n{_backup_note(change)}{_next_steps(todo)}")
    return 0


def _hooks_title(change: ConfigChange) -> str:
    return f"hooks for {change.client.title}"


def _backup_note(change: ConfigChange) -> str:
    return "" if change.restored is None else f"the old file is kept in {change.memory.backup}\n"


def _next_steps(todo: Sequence[str]) -> str:
    return f"\nnext:\n{number_steps(todo)}" if todo else ""


@click.command(context_settings=HELP_OPTIONS)
@common_options
def uninstall_command(
    *, host: str, scope: str | None, root: str, dry_run: bool, yes: bool, form: str
) -> int:
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
    refuse_dry_run_with_yes(dry_run=dry_run, yes=yes)
    where, folder = Scope(scope or Scope.PROJECT), resolve_root(root)
    change = plan_removal(CLIENTS[host], where, folder, interpreter())
    if change.changed and not dry_run:
        require_person("removing hooks")
    if form == "json":
        return print_change(change, [], yes=yes, dry_run=dry_run)
    hooks, shown = f"hooks for {change.client.title}", visible(change.file.shown)
    if not change.changed:
        which = f"{hooks} in {shown}{' that `bylaw install` wrote' if change.own else ''}"
        write(f"found no {which}\n{list_own_hooks(change)}")
        return 0
    if not confirm_change(change, f"Remove {hooks}?", yes=yes, dry_run=dry_run):
        return 0 if dry_run else MISTAKE
    carry_out(change)
    gone = "removed" if change.after is None else f"removed {hooks} from"
    write(f"{gone} {shown}\n")
    return 0
