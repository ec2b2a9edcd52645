"""`bylaw install HOST`: a coding agent → hooks in its configuration, once a person agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.asking import agreed
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.installing import carry_out, to_install
from bylaw.hosts.hooks.install.interpreter import interpreter, refuse_interpreter
from bylaw.hosts.hooks.install.places import Scope
from bylaw.hosts.hooks.install.steps import steps
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.hosts.hooks.install.installing import ConfigChange


_COMMON = (
    click.argument("host", type=click.Choice(list(CLIENTS)), metavar="HOST"),
    click.option("--project", "scope", flag_value="project", help="In this repository (default)."),
    click.option("--user", "scope", flag_value="user", help="For whatever you do."),
    root_option,
    click.option("--dry-run", is_flag=True, help="Only show what would change."),
    click.option("--yes", is_flag=True, help="Do not ask: write what is shown."),
    text_or_json,
)


def common_options(function: Callable[..., int]) -> Callable[..., int]:
    """What `install` and `uninstall` have in common."""
    for one in reversed(_COMMON):
        function = one(function)
    return function


@click.command(context_settings=HELP_OPTIONS)
@common_options
def command(*, host: str, scope: str | None, root: str, dry_run: bool, yes: bool, form: str) -> int:
    """Install hooks of Bylaw in a coding agent.

    HOST is claude, codex, gemini, qwen, copilot, droid, opencode or cursor. The hooks are put into
    the text of the client's own configuration: whatever else is there, comments included, stays as
    it is. A file that the client could not read itself is left alone. What would change is shown
    first; a copy of what was there is kept in your state folder ($XDG_STATE_HOME or
    ~/.local/state), and `bylaw uninstall` brings it back.

    Each event gets one entry, which names client, event and the interpreter that runs Bylaw now.
    Hooks of an older Bylaw are replaced. Clients that can are told to refuse when a hook fails.

    \b
    Where                --project                   --user
    claude               .claude/settings.json       ~/.claude/settings.json
    codex                .codex/hooks.json           ~/.codex/hooks.json
    gemini               .gemini/settings.json       ~/.gemini/settings.json
    qwen                 .qwen/settings.json         ~/.qwen/settings.json
    copilot              .github/hooks/bylaw.json    ~/.copilot/hooks/bylaw.json
    droid                .factory/settings.json      ~/.factory/settings.json
    opencode             opencode.json               ~/.config/opencode/opencode.json
    cursor               .cursor/hooks.json          ~/.cursor/hooks.json

    Says what the client still needs from you, such as trust in the folder or in the hooks. Wants a
    terminal or --yes. Exits 0 if the hooks are there in the end, else 1.

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
    todo = steps(client, where, folder, python)
    if form == "json":
        return as_json(change, todo, yes=yes, dry_run=dry_run)
    shown = visible(change.file.shown)
    if not change.changed:
        write(f"{_hooks(change)} are already installed in {shown}\n{_steps(todo)}")
        return 0
    if not shown_and_agreed(change, f"Install {_hooks(change)}?", yes=yes, dry_run=dry_run):
        return 0 if dry_run else MISTAKE
    carry_out(change)
    write(f"installed {_hooks(change)} in {shown}\n{_kept(change)}{_steps(todo)}")
    return 0


def refuse_both(*, dry_run: bool, yes: bool) -> None:
    """Usage that contradicts itself."""
    if dry_run and yes:
        raise click.UsageError("`--dry-run` writes nothing, so there is nothing to say yes to")


def as_json(change: ConfigChange, todo: Sequence[str], *, yes: bool, dry_run: bool) -> int:
    """Print a change, and carry it out if a person said so before."""
    if yes:
        carry_out(change)
    emit(as_data(change, todo) | {"written": yes and change.changed})
    return 0 if yes or dry_run or not change.changed else MISTAKE


def as_data(change: ConfigChange, todo: Sequence[str]) -> dict[str, object]:
    """A change for programs."""
    return {
        "host": change.client.host,
        "scope": change.scope.value,
        "path": visible(change.file.shown),
        "changed": change.changed,
        "diff": change.diff,
        "steps": list(todo),
    }


def shown_and_agreed(change: ConfigChange, question: str, *, yes: bool, dry_run: bool) -> bool:
    """Show the difference, and ask unless that was answered."""
    write(f"{change.diff}\n")
    if dry_run:
        return False
    if yes or agreed(f"{question} [y/N] "):
        return True
    write("nothing was written\n")
    return False


def _hooks(change: ConfigChange) -> str:
    return f"hooks for {change.client.title}"


def _kept(change: ConfigChange) -> str:
    return "" if change.restored is None else f"what was there is kept in {change.memory.backup}\n"


def _steps(todo: Sequence[str]) -> str:
    lines = [f"  {number}. {step}\n" for number, step in enumerate(todo, 1)]
    return f"\nnext:\n{''.join(lines)}" if lines else ""
