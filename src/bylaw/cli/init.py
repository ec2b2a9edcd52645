"""`bylaw init`: a root → the first rules of a language laid out in it, once a person agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bylaw.cli.asking import agreed
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.bus.laying_out import lay_out, starter_files
from bylaw.hosts.new_file import Standing
from bylaw.model.visible import visible
from bylaw.tools.printers.table import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.hosts.bus.laying_out import StarterFile

_STANDINGS = {
    Standing.NEW: "new",
    Standing.SAME: "is there",
    Standing.KEPT: "kept",
    Standing.BLOCKED: "not written",
}
_NEXT = (
    ("bylaw check", "the rules are in order"),
    ("bylaw trust", "look at what they can start, and allow it"),
    ("bylaw bus run", "watch files and the bus; Ctrl-C ends it"),
    ("bylaw bus new --title Hello --category A", "send a message"),
    ("bylaw bus status", "what waits, and for what"),
    ("bylaw approve MSG_ID", "let a message pass that waits for you"),
)


@click.command(context_settings=HELP_OPTIONS)
@click.option("--law", is_flag=True, help="RULE_DSL: a bus, rules for it, and a small project.")
@root_option
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: for programs; nothing is asked.",
)
def command(*, law: bool, root: str, dry_run: bool, yes: bool, form: str) -> int:
    """Lay out rules to begin with.

    With --law: rules in runtime/rules/ that lint and test what changes, take tasks, deploy what
    was approved and roll back in an emergency; SHARED_CONTEXT.md, in which people say the phase
    and approve; settings in bylaw.toml; and a folder demo/ with a small project, so that all of
    it runs. Replace demo/ by your own.

    Shows first what it would write. A file that is there stays as it is. Wants a terminal or
    --yes. Exits 0 if everything is there in the end, else 1.

    \b
    Examples:
      bylaw init --law
      bylaw init --law --dry-run
      bylaw init --law --yes --root .
    """
    if not law:
        raise click.UsageError("say what to lay out: `--law`")
    if dry_run and yes:
        raise click.UsageError("`--dry-run` writes nothing, so there is nothing to say yes to")
    folder = chosen_root(root)
    laws = starter_files(folder)
    if form == "json":
        return _as_json(folder, laws, yes=yes, dry_run=dry_run)
    return _as_text(folder, laws, yes=yes, dry_run=dry_run)


def _as_json(root: str, laws: list[StarterFile], *, yes: bool, dry_run: bool) -> int:
    written = lay_out(root, laws) if yes else 0
    files = [{"path": one.path, "standing": one.standing, "why": one.why or None} for one in laws]
    emit({"root": visible(root), "files": files, "written": written})
    done = yes or dry_run or not _in(Standing.NEW, laws)
    return 0 if done and not _in(Standing.BLOCKED, laws) else MISTAKE


def _as_text(root: str, laws: list[StarterFile], *, yes: bool, dry_run: bool) -> int:
    write(f"in {visible(root)}:\n{_lines(_row(one) for one in laws)}")
    new, blocked = len(_in(Standing.NEW, laws)), len(_in(Standing.BLOCKED, laws))
    if dry_run:
        return MISTAKE if blocked else 0
    if not new:
        return _ended("there is nothing to write", blocked)
    if not yes and not agreed(f"\nWrite {_counted(new)}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    wrote = f"wrote {_counted(lay_out(root, laws))}"
    return _ended(wrote if blocked else f"{wrote}; next, in that folder:", blocked, _NEXT)


def _ended(words: str, blocked: int, more: Iterable[tuple[str, ...]] = ()) -> int:
    """Whoever has only some of the files is not told how to go on with all of them."""
    if blocked:
        write(f"\n{words}; {_counted(blocked)} could not be written, see above\n")
        return MISTAKE
    write(f"\n{words}\n{_lines(more)}")
    return 0


def _in(standing: Standing, laws: Iterable[StarterFile]) -> list[StarterFile]:
    return [one for one in laws if one.standing is standing]


def _row(one: StarterFile) -> tuple[str, ...]:
    return _STANDINGS[one.standing], one.path, one.why


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"  {line}\n" for line in aligned(list(rows)))


def _counted(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
