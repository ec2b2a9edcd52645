"""`bylaw hook`: answer one hook event of a coding agent.

Clients call this for every tool call, so `main` passes their calls directly to the entry point of
hooks. This command handles only other arguments, such as `--help`.
"""

from __future__ import annotations

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.hosts.hooks.entrypoint import main
from bylaw.runtime.effects import ABILITIES


@click.command(context_settings=HELP_OPTIONS)
@click.argument("host", type=click.Choice(list(ABILITIES)))
@click.argument("event", default="")
def hook_command(host: str, event: str) -> int:
    """Answer one hook event of a coding agent. Clients call this; see `bylaw install`.

    HOST is the client, EVENT its name for the event. The payload is read from standard input.
    Bylaw answers each client in its native hook format. If no rule objects: exit code 0 and no
    standard output. If a rule objects: JSON on standard output, the reason on standard error
    and exit code 2. Cursor reads only JSON, so its exit code is always 0. Cursor and OpenCode
    get {} if no rule objects. Log messages of rules go to standard error.

    If Bylaw itself fails or cannot read the payload, gates deny: see [hooks] in bylaw.toml and
    `bylaw doctor`. After the first call, a background process (resident) stays for a while and
    answers the next calls faster. Set BYLAW_RESIDENT=0 to disable it.

    \b
    Example:
      echo '{"tool_name": "Bash", "tool_input": {"command": "ls"}}' |
        bylaw hook claude PreToolUse
    """
    return main([host, event] if event else [host])
