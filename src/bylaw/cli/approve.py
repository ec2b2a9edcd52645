"""`bylaw approve`: a message that waits → a token that lets it go on."""

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
    """Approve a message that waits in the bus.

    ID is that of the message, or of the request that asks about it. What would be approved is
    shown: what it is, what it would run, which rule holds it. After your yes a token is written
    to runtime/approvals, and a running `bylaw bus run` goes on with the message. The token is
    for exactly what was shown: a message that changes needs another one.

    Wants a terminal, also with --yes, and refuses to be called by a coding agent. Exits 0 if it
    is approved, else 1.

    \b
    Examples:
      bylaw approve 20240116_120000_cursor_fix-lint
      bylaw approve 20240116_120000_cursor_fix-lint --note "only until Friday"
    """
    return decided(chosen, granted=True)
