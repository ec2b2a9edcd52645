"""`bylaw policies status`, `clear` and `baseline`: the state of policies → shown, or set anew."""

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
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.policies_shared import note, repository_root, tell
from bylaw.cli.progress import progress
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.expr.paths import pattern
from bylaw.hosts.worktree.baselines import read_baseline
from bylaw.hosts.worktree.policy_state import PATH as STATE_FILE
from bylaw.hosts.worktree.policy_state import summarise
from bylaw.hosts.worktree.queue.queue import Queue
from bylaw.hosts.worktree.work_tree import WorkTree
from bylaw.model.errors import BylawError, PatternError
from bylaw.model.vocabulary import EntryStatus
from bylaw.runtime.clock import now_ms
from bylaw.runtime.paths import as_bytes
from bylaw.tools.policies.known import known_policies
from bylaw.tools.policies.saying import lines_of
from bylaw.tools.printers import policy_queue as printer
from bylaw.tools.printers.table import aligned
from bylaw.tools.printers.wording import number_of, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.tools.policies.known import KnownPolicy

MAX_LIMIT = 100_000
_name = click.argument("name", default="", metavar="[NAME]")


@click.command(context_settings=HELP_OPTIONS)
@_name
@root_option
@click.option(
    "--limit",
    type=click.IntRange(0, MAX_LIMIT),
    metavar="N",
    default=10,
    show_default=True,
    help="How many entries of each state are shown as text.",
)
@text_or_json
def status(*, name: str, root: str, limit: int, form: str) -> int:
    """Show what policies wait for, and what became of them.

    An entry is one finding of a policy: queued until it is answered, failed if its command did,
    passed, or skipped because nothing has to be done. With the NAME of a policy, all of its files
    are shown, each run of its command, and everything that it says now. Nothing is run and nothing
    is decided. Exits 0.

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
        known = _checked(folder, name, entries)
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


@click.command(context_settings=HELP_OPTIONS)
@_name
@root_option
@text_or_json
def clear(*, name: str, root: str, form: str) -> int:
    """Forget the entries of all policies, or of the one with that NAME.

    What still applies is found again at the next check, also what was answered before. Baselines,
    the policies themselves and the journal stay. Prints how many entries were removed.

    \b
    Examples:
      bylaw policies clear
      bylaw policies clear source-test-pairing
    """
    folder = repository_root(root)
    queue = Queue(folder, note)
    entries = queue.all_entries()
    if name:
        _checked(folder, name, entries)
        entries = [one for one in entries if one.policy_name == name]
    for one in entries:
        queue.remove(one.trigger_hash)
    _summarise(folder, queue)
    if form == "json":
        emit({"removed": len(entries)})
    else:
        write("removed " + ("1 entry\n" if len(entries) == 1 else f"{len(entries):,} entries\n"))
    return 0


@click.command(context_settings=HELP_OPTIONS)
@root_option
@text_or_json
def baseline(*, root: str, form: str) -> int:
    """Keep the work tree as it is, as the baseline of a prompt.

    Policies with `compare_to: prompt` are about what changes from now on. Hosts do this whenever a
    prompt is submitted; this is for those that do not. Prints where the baseline is kept.

    \b
    Examples:
      bylaw policies baseline
      bylaw policies baseline --format json
    """
    tree = WorkTree(chosen_root(root))
    with progress() as show:
        show("asking git what is changed")
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
    write(f"{path}\n" + "".join(f"  {line}\n" for line in aligned(facts)))
    return 0


def _summarise(root: str, queue: Queue) -> None:
    """The summary must not tell of what is gone; where there is none, none is needed."""
    if os.path.lexists(as_bytes(f"{root}/{STATE_FILE}")):
        summarise(root, queue, lambda: _policies(root), now_ms(), note)


def _policies(root: str) -> list[str]:
    return [one.policy.id for one in known_policies(root).policies]


def _checked(root: str, name: str, entries: Sequence[QueueEntry]) -> KnownPolicy | None:
    """The policy of that name; BylawError if neither a policy nor an entry has it."""
    with progress() as show:
        known = known_policies(root, show)
    found = known.named(name)
    if found is None:
        tell(known.diagnostics)  # its file may be one that does not load
    known.refuse_unknown(name, (one.policy_name for one in entries))
    return found


def _says_now(root: str, known: KnownPolicy) -> list[str]:
    """Everything that the policy says about the work tree."""
    try:
        with progress() as show:
            show("asking git what changed")
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
    """What failed, or why nothing has to be done, line by line."""
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
    """Each run of its command, and how it ended."""
    found = []
    for run in entry.action_result.runs or ():
        argv, times = run.get("argv"), run.get("times")
        words = shown(join(map(str, argv))) if isinstance(argv, list) else ""
        ended = run.get("error") or f"exit code {run.get('exit_code')}"
        more = f", {times} times" if isinstance(times, int) and times > 1 else ""
        found.append(f"`{words}`{more}: {shown(' '.join(str(ended).split()))}")
    return tuple(found)


def _missing(entry: QueueEntry) -> tuple[str, ...]:
    """What was expected and did not change; a glob is there if any file matches it."""
    return tuple(one for one in entry.expected_files if not _is_there(one, entry.matched_files))


def _is_there(expected: str, matched: Sequence[str]) -> bool:
    if expected in matched:
        return True
    try:
        glob = pattern(expected)
    except PatternError:  # a path with signs in it that mean something in patterns
        return False
    return any(glob.match(path) is not None for path in matched)
