"""`bylaw policies explain`: show which policies check a file, and what they expect."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, in_color, screen_columns, text_or_json, write
from bylaw.cli.policies_shared import note, repository_root, tell
from bylaw.cli.progress import progress
from bylaw.cli.root_option import root_option
from bylaw.hosts.worktree.queue.queue import Queue
from bylaw.hosts.worktree.work_tree import WorkTree
from bylaw.model.errors import BylawError
from bylaw.model.fact_paths import fact_path
from bylaw.model.visible import visible
from bylaw.runtime.paths import folder_of, name_from, real_path
from bylaw.runtime.root import absolute
from bylaw.tools.policies.explaining import Explaining
from bylaw.tools.policies.known import known_policies
from bylaw.tools.printers import json
from bylaw.tools.printers import policy_explanations as printer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.dialects.file_policies.written import CompareTo
    from bylaw.model.facts import Changes, Entry


@click.command(context_settings=HELP_OPTIONS)
@click.argument("files", type=click.Path(), metavar="FILE…", nargs=-1, required=True)
@root_option
@text_or_json
def explain(*, files: tuple[str, ...], root: str, form: str) -> int:
    """Show which policies check a FILE, and what they expect.

    For each policy that checks FILE: the pattern that matches, what it captures, the files that
    must also change, and whether FILE makes the policy fire in the current work tree. For other
    policies: why not. FILE does not have to exist. Nothing is run or changed. Exit code 0 on
    success, 1 if a policy does not load.

    \b
    Examples:
      bylaw policies explain src/auth/login.py
      bylaw policies explain README.md docs/api.md --format json
    """
    folder = repository_root(root)
    paths = [_path(folder, file) for file in files]
    with progress() as show:
        known = known_policies(folder, show)
        show("reading changed files from git")
        changes = _changes(folder, {one.policy.compare_to for one in known.policies})
    explaining = Explaining(changes, _entries(folder))
    told = {path: [explaining.about(one, path) for one in known.policies] for path in paths}
    if form == "json":
        files_told = [printer.as_data(path, all_) for path, all_ in told.items()]
        emit({"files": files_told, "diagnostics": json.as_data(known.diagnostics)})
    else:
        tell(known.diagnostics)
        color = in_color(sys.stdout)
        each = (printer.render(*one, screen_columns(), color=color) for one in told.items())
        write("\n".join(each))
    return int(known.has_errors)


def _path(root: str, file: str) -> str:
    """Return the path relative to the root, as in facts. BylawError if it is outside."""
    location = absolute(file)
    # The root contains no links. The file itself may be one, so only its folder is resolved.
    name = name_from(root, f"{real_path(folder_of(location))}/{location.rpartition('/')[2]}")
    if not name:
        raise BylawError(f"`{visible(file)}` is outside of `{visible(root)}`")
    return fact_path(name)


def _changes(root: str, wanted: Iterable[CompareTo]) -> Changes | None:
    """Return what changed, or None if git fails."""
    tree = WorkTree(root)
    try:
        changes = tree.changes(frozenset(wanted))
    except BylawError as wrong:
        note(str(wrong))
        return None
    for one in tree.notes:
        note(one)
    return changes


def _entries(root: str) -> Callable[[str], Entry | None]:
    queue = Queue(root, note)

    def entry_of(hash_: str) -> Entry | None:
        found = queue.find(hash_)
        return found.fact if found else None

    return entry_of
