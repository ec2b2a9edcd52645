"""`bylaw policies status`, `clear` and `baseline`: show or remove entries, save a baseline."""

from __future__ import annotations

import os
import sys
from collections import Counter
from datetime import datetime
from shlex import join
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.policies import find_policy, policy_name, print_note, repository_root
from bylaw.cli.terminal import (
    emit,
    progress,
    resolve_root,
    root_option,
    screen_columns,
    text_or_json,
    uses_color,
    write,
)
from bylaw.model.display import display_text, number_of
from bylaw.model.errors import BylawError, PatternError
from bylaw.model.vocabulary import EntryStatus
from bylaw.paths import pattern
from bylaw.report.policies import policy_message_lines
from bylaw.report.printers import policies as printer
from bylaw.report.printers.layout import align
from bylaw.store.paths import as_bytes
from bylaw.store.system import now_ms
from bylaw.worktree.baselines import read_baseline
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.folders import SUMMARY_PATH as STATE_FILE
from bylaw.worktree.folders import write_summary
from bylaw.worktree.queue import Queue
from bylaw.worktree.run import load_policies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.worktree.entry import QueueEntry
    from bylaw.worktree.run import PolicyEntry

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
    entries = Queue(folder, print_note).all_entries()
    lines: list[str] = []
    if name:
        known = find_policy(folder, name, entries)
        entries = [one for one in entries if one.policy_name == name]
        lines = _current_lines(folder, known) if known else []
    counts = Counter(one.status for one in entries)
    if form == "json":
        told: dict[str, Any] = {"entries": to_builtins(entries)}
        told["counts"] = {one.value: counts[one] for one in EntryStatus}
        emit(told | ({"lines": lines} if name else {}))
        return 0
    rows = sorted(map(_row, entries), key=lambda row: row.age)
    table = printer.QueueTable(rows, counts, limit, lines, all_files=bool(name))
    write(printer.render_queue(table, screen_columns(), color=uses_color(sys.stdout)))
    return 0


def _current_lines(root: str, known: PolicyEntry) -> list[str]:
    """Return everything that the policy reports about the work tree."""
    try:
        with progress() as show:
            show("reading changed files from git")
            changes = WorkTree(root).changes({known.policy.compare_to})
    except BylawError as wrong:
        print_note(str(wrong))
        return []
    found = getattr(changes, known.policy.compare_to.value)
    return policy_message_lines(known.policy, found)


def _row(entry: QueueEntry) -> printer.QueueRow:
    since = datetime.fromisoformat(entry.evaluated_at or entry.created_at)
    return printer.QueueRow(
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
    return tuple(display_text(" ".join(line.split())) for line in said.splitlines())


def _runs(entry: QueueEntry) -> tuple[str, ...]:
    """Each run of the command, and how it ended."""
    found = []
    for run in entry.action_result.runs or ():
        argv, times = run.get("argv"), run.get("times")
        words = display_text(join(map(str, argv))) if isinstance(argv, list) else ""
        ended = run.get("error") or f"exit code {run.get('exit_code')}"
        more = f", {times} times" if isinstance(times, int) and times > 1 else ""
        found.append(f"`{words}`{more}: {display_text(' '.join(str(ended).split()))}")
    return tuple(found)


def _missing(entry: QueueEntry) -> tuple[str, ...]:
    """Expected files that did not change. A glob needs one file that matches it."""
    return tuple(one for one in entry.expected_files if not _is_matched(one, entry.matched_files))


def _is_matched(expected: str, matched: Sequence[str]) -> bool:
    if expected in matched:
        return True
    try:
        glob = pattern(expected)
    except PatternError:  # a path that contains special characters of patterns
        return False
    return any(glob.match(path) is not None for path in matched)


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
    queue = Queue(folder, print_note)
    entries = queue.all_entries()
    if name:
        find_policy(folder, name, entries)
        entries = [one for one in entries if one.policy_name == name]
    for one in entries:
        queue.remove(one.trigger_hash)
    _update_summary(folder, queue)
    if form == "json":
        emit({"removed": len(entries)})
    else:
        write("removed " + ("1 entry\n" if len(entries) == 1 else f"{len(entries):,} entries\n"))
    return 0


def _update_summary(root: str, queue: Queue) -> None:
    """Update the summary if it exists, so that it does not list removed entries."""
    if os.path.lexists(as_bytes(f"{root}/{STATE_FILE}")):
        write_summary(root, queue, lambda: _policy_ids(root), now_ms(), print_note)


def _policy_ids(root: str) -> list[str]:
    return [one.policy.id for one in load_policies(root).policies]


@click.command(context_settings=HELP_OPTIONS)
@root_option
@text_or_json
def baseline(*, root: str, form: str) -> int:
    """Save the work tree as it is as the baseline of a prompt.

    Policies with `compare_to: prompt` then check what changes from now on. Hosts save a
    baseline at every prompt; use this command for hosts that do not. Prints the path of the
    baseline.

    \b
    Examples:
      bylaw policies baseline
      bylaw policies baseline --format json
    """
    tree = WorkTree(resolve_root(root))
    with progress() as show:
        show("reading changed files from git")
        path = tree.capture()
    kept = read_baseline(tree.root, path)
    if form == "json":
        emit({"baseline": to_builtins(kept), "path": path})
        return 0
    facts = (
        ("time", kept.timestamp),
        ("commit", kept.commit or "none yet"),
        ("staged", number_of(len(kept.staged_files), "file")),
        ("untracked", number_of(len(kept.untracked_files), "file")),
    )
    write(f"{path}\n" + "".join(f"  {line}\n" for line in align(facts)))
    return 0
