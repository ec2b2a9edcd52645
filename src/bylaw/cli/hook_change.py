"""Shared by `install`, `uninstall` and `init`: options, confirmation and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.asking import agreed
from bylaw.cli.failure import MISTAKE
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.root_option import root_option
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.installing import carry_out
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.hosts.hooks.install.installing import ConfigChange

_COMMON = (
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
    for one in reversed(_COMMON):
        function = one(function)
    return function


def refuse_both(*, dry_run: bool, yes: bool) -> None:
    """UsageError if both options are given."""
    if dry_run and yes:
        raise click.UsageError("cannot combine `--dry-run` and `--yes`")


def as_json(change: ConfigChange, todo: Sequence[str], *, yes: bool, dry_run: bool) -> int:
    """Print a change as JSON, and perform it with `--yes`. Return the exit code."""
    if yes:
        carry_out(change)
    emit(as_data(change, todo) | {"written": yes and change.changed})
    return 0 if yes or dry_run or not change.changed else MISTAKE


def as_data(change: ConfigChange, todo: Sequence[str]) -> dict[str, object]:
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


def shown_and_agreed(change: ConfigChange, question: str, *, yes: bool, dry_run: bool) -> bool:
    """Show the diff and the hooks that are kept. Return whether to write the change."""
    left = left_alone(change)
    write(f"{change.diff}\n{left}\n" if left else f"{change.diff}\n")
    if dry_run:
        return False
    if yes or agreed(f"{question} [y/N] "):
        return True
    write("nothing was written\n")
    return False


def left_alone(change: ConfigChange) -> str:
    """List the user's own hooks that call Bylaw, one per line."""
    lines = (f"  line {one.line}: {one.command}\n" for one in change.own)
    head = "kept, because `bylaw install` is not known to have written them:\n"
    return f"{head}{''.join(lines)}" if change.own else ""


def numbered(steps: Sequence[str]) -> str:
    """Number the steps, one per line."""
    return "".join(f"  {number}. {step}\n" for number, step in enumerate(steps, 1))
