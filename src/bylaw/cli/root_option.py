"""`--root` → the repository that is meant, for every verb that works in one."""

from __future__ import annotations

import click

from bylaw.runtime.root import absolute, find_root

root_option = click.option(
    "--root",
    metavar="DIR",
    default="",
    help="The repository; without it, the one around the current folder.",
)


def chosen_root(given: str) -> str:
    """The root that a person named, or the one around the current folder."""
    return absolute(given) if given else find_root()
