"""`bylaw reject`: a message → a token that beats every approval of the same authority."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from bylaw.cli.deciding import decided, parameters
from bylaw.cli.frame import HELP_OPTIONS

if TYPE_CHECKING:
    from bylaw.cli.deciding import Chosen


@click.command(context_settings=HELP_OPTIONS)
@parameters
def command(**chosen: Unpack[Chosen]) -> int:
    """Reject a message of the bus, or take an approval back.

    ID is that of the message, or of the request that asks about it. A token is written to
    runtime/approvals that beats every approval of the same authority. A command that runs under
    such an approval is ended.

    Wants a terminal, also with --yes, and refuses to be called by a coding agent. Exits 0 if it
    is rejected, else 1.

    \b
    Examples:
      bylaw reject 20240116_120000_cursor_fix-lint
      bylaw reject 20240116_120000_cursor_fix-lint --note "not before the release"
    """
    return decided(chosen, granted=False)
