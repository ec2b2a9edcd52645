"""`bylaw policies baseline`: save the work tree as the baseline of a prompt."""

from __future__ import annotations

import click
from msgspec import to_builtins

from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.progress import progress
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.worktree.baselines import read_baseline
from bylaw.hosts.worktree.work_tree import WorkTree
from bylaw.tools.printers.table import aligned
from bylaw.tools.printers.wording import number_of


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
    tree = WorkTree(chosen_root(root))
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
    write(f"{path}\n" + "".join(f"  {line}\n" for line in aligned(facts)))
    return 0
