"""`bylaw hook`: an event of a coding agent → what its client is answered.

A client calls this with every call of every tool, so it does not come here: `main` hands it on at
once. What comes here are words that no client was told to use.
"""

from __future__ import annotations

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.hosts.hooks.front import main
from bylaw.runtime.effects import ABILITIES


@click.command(context_settings=HELP_OPTIONS)
@click.argument("host", type=click.Choice(list(ABILITIES)))
@click.argument("event", default="")
def command(host: str, event: str) -> int:
    """Answer one event of a coding agent; its client calls this, see `bylaw install`.

    HOST is the client, EVENT what it calls the event; the payload comes on standard input. The
    answer is in the client's own words: exit code 0 and nothing on standard output if no rule
    objects; where one does, the client's own JSON on standard output, the reason on standard error
    and exit code 2. Cursor takes JSON and no exit code: for it that is always 0. Cursor and
    OpenCode get {} if no rule objects. What rules log goes to standard error.

    If Bylaw itself fails, or what comes in cannot be read, gates stay closed: see [hooks] in
    bylaw.toml and `bylaw doctor`. After the first call a process stays for a while that answers
    the next ones sooner; the variable BYLAW_RESIDENT=0 forbids it.

    \b
    Example:
      echo '{"tool_name": "Bash", "tool_input": {"command": "ls"}}' |
        bylaw hook claude PreToolUse
    """
    return main([host, event] if event else [host])
