"""`bylaw policies migrate`: convert the old single-file format to one file per policy."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from bylaw.cli.asking import agreed
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, text_or_json, write
from bylaw.cli.policies_shared import repository_root, settings_to_write, tell
from bylaw.cli.reading import read_source
from bylaw.cli.root_option import root_option
from bylaw.hosts.new_file import InPlace, standing, write_new_file
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.visible import visible
from bylaw.runtime.policy_settings import LEGACY
from bylaw.runtime.reading import read_beneath
from bylaw.tools.policies.legacy import read_legacy
from bylaw.tools.policies.policy_text import checked, policy_text
from bylaw.tools.printers import json
from bylaw.tools.printers.wording import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.diagnostic import Diagnostic


class _NewFile(Struct, frozen=True):
    path: str
    text: str
    standing: InPlace
    why: str


@click.command(context_settings=HELP_OPTIONS)
@click.argument("file", type=click.Path(), default="", metavar="[FILE]")
@root_option
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@text_or_json
def migrate(*, file: str, root: str, yes: bool, dry_run: bool, form: str) -> int:
    """Convert the old single-file format to one file per policy.

    FILE defaults to .deepwork.policy.yml of the repository. The name of each policy becomes the
    name of its file, in lower case with hyphens. Its instructions become the text. Shows the
    new files as a diff first. Needs a terminal or --yes.

    If one policy cannot be converted, or another file is in its place, nothing is written. The
    old file stays, but Bylaw no longer reads it. Exit code 0 on success, else 1.

    \b
    Examples:
      bylaw policies migrate
      bylaw policies migrate --dry-run
      bylaw policies migrate old/.deepwork.policy.yml --yes
    """
    if dry_run and yes:
        raise click.UsageError("cannot combine `--dry-run` and `--yes`")
    folder = repository_root(root)
    files, findings = _converted(folder, file)
    new = [one for one in files if one.standing is InPlace.NEW]
    if form == "json":
        written = _written(folder, new) if yes else 0
        emit({"files": list(map(_as_data, files)), "written": written} | _told(findings))
        return 0 if yes or dry_run or not new else MISTAKE
    tell(findings)
    return _as_text(folder, new, yes=yes, dry_run=dry_run)


def _as_text(root: str, new: Sequence[_NewFile], *, yes: bool, dry_run: bool) -> int:
    if not new:
        write("all policies already exist; nothing to write\n")
        return 0
    write("\n".join(line for one in new for line in _diff(one)) + "\n")
    if dry_run:
        return 0
    if not yes and not agreed(f"\nWrite {number_of(len(new), 'file')}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    written = number_of(_written(root, new), "file")
    write(f"\nwrote {written}; the old file is kept and is not read any more: remove it\n")
    return 0


def _converted(root: str, file: str) -> tuple[list[_NewFile], Sequence[Diagnostic]]:
    """Return the new files, and warnings. LoadError or BylawError if one cannot be written."""
    folder = settings_to_write(root).policies_dir
    source = read_source(file) if file else read_beneath(root, LEGACY)
    legacy = read_legacy(source, lambda path: read_beneath(root, path).text)
    if has_errors(legacy.findings):
        raise LoadError(list(legacy.findings))
    texts = {f"{folder}/{one.id}.md": policy_text(one) for one in legacy.policies}
    warnings = [one for path, text in texts.items() for one in checked(path, text)[1]]
    files = [
        _NewFile(path, text, *standing(root, path, text.encode())) for path, text in texts.items()
    ]
    _refuse_taken(files)
    return files, [*legacy.findings, *warnings]


def _refuse_taken(files: Sequence[_NewFile]) -> None:
    kept = [f"`{visible(one.path)}`" for one in files if one.standing is InPlace.KEPT]
    words = "another file is in its place" if len(kept) == 1 else "other files are in their place"
    taken = [f"{', '.join(kept)}: {words}"] if kept else []
    blocked = (one for one in files if one.standing is InPlace.BLOCKED)
    taken += [f"`{visible(one.path)}`: {one.why}" for one in blocked]
    if taken:
        raise BylawError(f"{'; '.join(taken)}; nothing was written")


def _written(root: str, new: Sequence[_NewFile]) -> int:
    for one in new:
        write_new_file(root, one.path, one.text.encode())
    return len(new)


def _diff(one: _NewFile) -> Iterator[str]:
    lines = one.text.removesuffix("\n").split("\n")
    return map(visible, unified_diff([], lines, "/dev/null", one.path, lineterm=""))


def _as_data(one: _NewFile) -> dict[str, object]:
    return {"path": one.path, "standing": one.standing.value, "text": one.text}


def _told(findings: Sequence[Diagnostic]) -> dict[str, object]:
    return {"diagnostics": json.as_data(findings)}
