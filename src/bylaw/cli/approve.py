"""`bylaw approve`: write the token that approves a waiting message."""

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

    ID is the id of the message, or of the approval request about it. Bylaw shows the message,
    the commands that it would run and the rule that holds it. After you confirm, it writes a
    token to runtime/approvals, and a running `bylaw bus run` continues with the message. The
    token is valid for exactly this message: if the message changes, it needs another token.

    Needs a terminal, even with --yes, and refuses calls by a coding agent. Exit code 0 if the
    message is approved, else 1.

    \b
    Examples:
      bylaw approve 20240116_120000_cursor_fix-lint
      bylaw approve 20240116_120000_cursor_fix-lint --note "only until Friday"
    """
    return decided(chosen, granted=True)
