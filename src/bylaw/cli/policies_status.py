"""`bylaw policies status`: show the entries of policies, open and finished."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime
from shlex import join
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.policies_shared import named_policy, note, policy_name, repository_root
from bylaw.cli.progress import progress
from bylaw.cli.root_option import root_option
from bylaw.expr.paths import pattern
from bylaw.hosts.worktree.queue.queue import Queue
from bylaw.hosts.worktree.work_tree import WorkTree
from bylaw.model.errors import BylawError, PatternError
from bylaw.model.vocabulary import EntryStatus
from bylaw.runtime.clock import now_ms
from bylaw.tools.policies.saying import lines_of
from bylaw.tools.printers import policy_queue as printer
from bylaw.tools.printers.wording import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.tools.policies.known import KnownPolicy

MAX_LIMIT = 100_000


@click.command(context_settings=HELP_OPTIONS)
@policy_name
@root_option
@click.option(
    "--limit",
    type=click.IntRange(0, MAX_LIMIT),
    metavar="N",
    default=10,
    show_default=True,
    help="Show at most N entries of each state, as text only.",
)
@text_or_json
def status(*, name: str, root: str, limit: int, form: str) -> int:
    """Show the entries of policies: queued, failed, passed and skipped.

    An entry is one match of a policy: queued until it is answered, failed if its command
    failed, passed, or skipped because nothing has to be done. With the NAME of a policy, shows
    all of its files, each run of its command, and everything that it reports now. Nothing is
    run or decided. Exit code 0.

    \b
    Examples:
      bylaw policies status
      bylaw policies status source-test-pairing
      bylaw policies status --format json
    """
    folder = repository_root(root)
    entries = Queue(folder, note).all_entries()
    lines: list[str] = []
    if name:
        known = named_policy(folder, name, entries)
        entries = [one for one in entries if one.policy_name == name]
        lines = _says_now(folder, known) if known else []
    counts = Counter(one.status for one in entries)
    if form == "json":
        told: dict[str, Any] = {"entries": to_builtins(entries)}
        told["counts"] = {one.value: counts[one] for one in EntryStatus}
        emit(told | ({"lines": lines} if name else {}))
        return 0
    rows = sorted(map(_row, entries), key=lambda row: row.age)
    table = printer.Table(rows, counts, limit, lines, all_files=bool(name))
    write(printer.render(table, screen_columns(), color=in_color(sys.stdout)))
    return 0


def _says_now(root: str, known: KnownPolicy) -> list[str]:
    """Return everything that the policy reports about the work tree."""
    try:
        with progress() as show:
            show("reading changed files from git")
            changes = WorkTree(root).changes({known.policy.compare_to})
    except BylawError as wrong:
        note(str(wrong))
        return []
    found = getattr(changes, known.policy.compare_to.value)
    return lines_of(known.policy, found)


def _row(entry: QueueEntry) -> printer.Row:
    since = datetime.fromisoformat(entry.evaluated_at or entry.created_at)
    return printer.Row(
        policy=entry.policy_name,
        hash=entry.trigger_hash,
        status=entry.status,
        age=max(now_ms() / 1_000 - since.timestamp(), 0.0),
        shown=entry.shown,
        files=entry.trigger_files,
        missing=_missing(entry) if entry.status is EntryStatus.QUEUED else (),
        why=_why(entry),
        runs=_runs(entry),
    )


def _why(entry: QueueEntry) -> tuple[str, ...]:
    """What failed, or why nothing has to be done, as lines."""
    result = entry.action_result
    match entry.status:
        case EntryStatus.FAILED:
            said = result.failure
        case EntryStatus.SKIPPED:
            said = result.output or ""
        case _:
            said = ""
    return tuple(shown(" ".join(line.split())) for line in said.splitlines())


def _runs(entry: QueueEntry) -> tuple[str, ...]:
    """Each run of the command, and how it ended."""
    found = []
    for run in entry.action_result.runs or ():
        argv, times = run.get("argv"), run.get("times")
        words = shown(join(map(str, argv))) if isinstance(argv, list) else ""
        ended = run.get("error") or f"exit code {run.get('exit_code')}"
        more = f", {times} times" if isinstance(times, int) and times > 1 else ""
        found.append(f"`{words}`{more}: {shown(' '.join(str(ended).split()))}")
    return tuple(found)


def _missing(entry: QueueEntry) -> tuple[str, ...]:
    """Expected files that did not change. A glob needs one file that matches it."""
    return tuple(one for one in entry.expected_files if not _is_there(one, entry.matched_files))


def _is_there(expected: str, matched: Sequence[str]) -> bool:
    if expected in matched:
        return True
    try:
        glob = pattern(expected)
    except PatternError:  # a path that contains special characters of patterns
        return False
    return any(glob.match(path) is not None for path in matched)
