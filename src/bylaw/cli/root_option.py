"""The option `--root`, for every command that works in a repository."""

from __future__ import annotations

import click

from bylaw.runtime.root import absolute, find_root

root_option = click.option(
    "--root",
    metavar="DIR",
    default="",
    help="Repository root. Default: the one around the current folder.",
)


def chosen_root(given: str) -> str:
    """Return the given root, or the one around the current folder."""
    return absolute(given) if given else find_root()
