"""Shared by the commands of `bylaw policies`: repository root, settings and notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from bylaw.cli.output import in_color
from bylaw.cli.progress import progress
from bylaw.cli.root_option import chosen_root
from bylaw.hosts.worktree.work_tree import WorkTree
from bylaw.model.codes.books import NO_RULE_FILES
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.visible import visible
from bylaw.runtime.paths import is_folder
from bylaw.runtime.policy_settings import CONFIG, PolicySettings, read_policy_settings
from bylaw.tools.policies.known import known_policies
from bylaw.tools.printers import text
from bylaw.tools.printers.wording import shown_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.tools.policies.known import KnownPolicy

policy_name = click.argument("name", default="", metavar="[NAME]")


def repository_root(given: str) -> str:
    """Return the top of the git repository (DW-A42), else the root as in other commands.

    BylawError if the given folder does not exist.
    """
    folder = chosen_root(given)
    if not is_folder(folder):
        raise BylawError(f"folder not found: `{visible(given)}`")
    try:
        return WorkTree(folder).root
    except BylawError:
        return folder


def settings_to_write(root: str) -> PolicySettings:
    """Read the settings for writing a policy. LoadError if its folder is not known.

    A configured folder that does not exist yet is created with its first policy.
    """
    settings = read_policy_settings(root)
    wrong = [one for one in settings.findings if one.code != NO_RULE_FILES.name]
    if has_errors(wrong):
        raise LoadError(wrong)
    if settings.missing_dir:
        settings = replace(settings, policies_dir=settings.missing_dir)
    if not settings.enabled:
        note(f"policies are disabled in {CONFIG}")
    return settings


def tell(findings: Sequence[Diagnostic]) -> None:
    """Print diagnostics on standard error."""
    click.echo(text.render(findings, color=in_color(sys.stderr)), nl=False, err=True)


def note(words: str) -> None:
    """Print a note on standard error."""
    click.echo(f"note: {shown_once(words)}", err=True)


def named_policy(root: str, name: str, entries: Sequence[QueueEntry]) -> KnownPolicy | None:
    """Return the policy with this name. BylawError if neither a policy nor an entry has it."""
    with progress() as show:
        known = known_policies(root, show)
    found = known.named(name)
    if found is None:
        tell(known.diagnostics)  # perhaps its file does not load
    known.refuse_unknown(name, (one.policy_name for one in entries))
    return found
