"""`bylaw reject`: write the token that rejects a message or revokes an approval."""

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
    """Reject a message of the bus, or revoke an approval.

    ID is the id of the message, or of the approval request about it. Bylaw writes a token to
    runtime/approvals that overrides every approval of the same authority. A command that runs
    under such an approval is stopped.

    Needs a terminal, even with --yes, and refuses calls by a coding agent. Exit code 0 if the
    message is rejected, else 1.

    \b
    Examples:
      bylaw reject 20240116_120000_cursor_fix-lint
      bylaw reject 20240116_120000_cursor_fix-lint --note "not before the release"
    """
    return decided(chosen, granted=False)
