"""What the verbs of `bylaw policies` share: the repository that is meant, its settings, notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.output import in_color
from bylaw.cli.root_option import chosen_root
from bylaw.hosts.worktree.changes import WorkTree
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.policy_settings import CONFIG, PolicySettings, read_policy_settings
from bylaw.tools.printers import text
from bylaw.tools.printers.wording import shown_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.diagnostic import Diagnostic


def repository_root(given: str) -> str:
    """The top of the git repository (DW-A42); where there is none, the root as other verbs say."""
    folder = chosen_root(given)
    try:
        return WorkTree(folder).root
    except BylawError:
        return folder


def settings_to_write(root: str) -> PolicySettings:
    """Where policies lie; LoadError if that is not known, since nobody would find them."""
    settings = read_policy_settings(root)
    if has_errors(settings.findings):
        raise LoadError(list(settings.findings))
    if not settings.enabled:
        note(f"policies are switched off in {CONFIG}")
    return settings


def tell(findings: Sequence[Diagnostic]) -> None:
    """Show what was found on standard error."""
    click.echo(text.render(findings, color=in_color(sys.stderr)), nl=False, err=True)


def note(words: str) -> None:
    """Say something beside the answer."""
    click.echo(f"note: {shown_once(words)}", err=True)
