"""`bylaw policies clear`: remove entries, so that the next run checks every policy again."""

from __future__ import annotations

import os

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.policies_shared import named_policy, note, policy_name, repository_root
from bylaw.cli.root_option import root_option
from bylaw.hosts.worktree.policy_state import PATH as STATE_FILE
from bylaw.hosts.worktree.policy_state import summarise
from bylaw.hosts.worktree.queue.queue import Queue
from bylaw.runtime.clock import now_ms
from bylaw.runtime.paths import as_bytes
from bylaw.tools.policies.known import known_policies


@click.command(context_settings=HELP_OPTIONS)
@policy_name
@root_option
@text_or_json
def clear(*, name: str, root: str, form: str) -> int:
    """Remove the entries of all policies, or of the policy NAME.

    The next check finds again what still applies, even if it was answered before. Baselines,
    policies and the journal are kept. Prints the number of removed entries.

    \b
    Examples:
      bylaw policies clear
      bylaw policies clear source-test-pairing
    """
    folder = repository_root(root)
    queue = Queue(folder, note)
    entries = queue.all_entries()
    if name:
        named_policy(folder, name, entries)
        entries = [one for one in entries if one.policy_name == name]
    for one in entries:
        queue.remove(one.trigger_hash)
    _summarise(folder, queue)
    if form == "json":
        emit({"removed": len(entries)})
    else:
        write("removed " + ("1 entry\n" if len(entries) == 1 else f"{len(entries):,} entries\n"))
    return 0


def _summarise(root: str, queue: Queue) -> None:
    """Update the summary if it exists, so that it does not list removed entries."""
    if os.path.lexists(as_bytes(f"{root}/{STATE_FILE}")):
        summarise(root, queue, lambda: _policies(root), now_ms(), note)


def _policies(root: str) -> list[str]:
    return [one.policy.id for one in known_policies(root).policies]
