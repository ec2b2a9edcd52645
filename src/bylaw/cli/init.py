"""`bylaw init`: a root → the first rules laid out in it, and hooks, once a person agrees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from bylaw.cli.asking import agreed
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.output import emit, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.hooks.install.interpreter import interpreter, refuse_interpreter
from bylaw.hosts.hooks.install.offering import offers
from bylaw.hosts.laying_out import HOOKS, LAW, lay_out, starter_files
from bylaw.hosts.new_file import Standing
from bylaw.model.visible import visible
from bylaw.runtime.configuration import CONFIGURATION
from bylaw.tools.printers.table import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.install.offering import HookOffer
    from bylaw.hosts.laying_out import StarterFile

_STANDINGS = {
    Standing.NEW: "new",
    Standing.SAME: "is there",
    Standing.KEPT: "kept",
    Standing.BLOCKED: "not written",
}
_NEXT_LAW = (
    ("bylaw check", "the rules are in order"),
    ("bylaw trust", "look at what they can start, and allow it"),
    ("bylaw bus run", "watch files and the bus; Ctrl-C ends it"),
    ("bylaw bus new --title Hello --category A", "send a message"),
    ("bylaw bus status", "what waits, and for what"),
    ("bylaw approve MSG_ID", "let a message pass that waits for you"),
)
_NEXT = (
    ("bylaw check", "the rules are in order; change them as you like"),
    ("bylaw doctor", "the hooks are, too"),
    ("bylaw log", "what happened, once an agent was at work"),
)
_NO_HOOKS = ("bylaw install HOST", "hooks for a coding agent, without which no rule is enforced")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be laid out and installed, and what a person does afterwards."""

    root: str
    rules: list[StarterFile]
    after: tuple[tuple[str, str], ...]
    python: str = ""
    hooks: list[HookOffer] = field(default_factory=list)

    @property
    def new_files(self) -> int:
        return len(self._files(Standing.NEW))

    @property
    def new_hooks(self) -> list[HookOffer]:
        return [one for one in self.hooks if one.is_new]

    @property
    def failed_files(self) -> int:
        return len(self._files(Standing.BLOCKED))

    @property
    def failed_hooks(self) -> list[HookOffer]:
        return [one for one in self.hooks if one.problem]

    @property
    def code(self) -> int:
        return MISTAKE if self.failed_files or self.failed_hooks else 0

    def _files(self, standing: Standing) -> list[StarterFile]:
        return [one for one in self.rules if one.standing is standing]

    def carry_out(self) -> tuple[int, list[HookOffer]]:
        """How many files were written, and which hooks were installed."""
        wanted = self.new_hooks
        if wanted:
            refuse_interpreter(self.python)
        written = lay_out(self.root, self.rules)
        for one in wanted:
            one.accept()
        return written, [one for one in wanted if not one.problem]


@click.command(context_settings=HELP_OPTIONS)
@click.option("--law", is_flag=True, help="RULE_DSL: a bus, rules for it, and a small project.")
@click.option("--no-hooks", is_flag=True, help="Lay out files only.")
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
def command(*, law: bool, no_hooks: bool, root: str, dry_run: bool, yes: bool, form: str) -> int:
    """Set up a repository: rules to begin with, and hooks.

    Lays out bylaw.toml and two small rules in .bylaw/, one that denies a call and one that tells an
    agent something. Hooks are installed for each coding agent that has left files in the
    repository, or whose program is on the search path, as `bylaw install HOST` does it.

    With --law: rules in runtime/rules/ that lint and test what changes, take tasks, deploy what
    was approved and roll back in an emergency; SHARED_CONTEXT.md, in which people say the phase
    and approve; settings in bylaw.toml; and a folder demo/ with a small project, so that all of
    it runs. Replace demo/ by your own. No hooks are installed.

    Shows first what it would write, and asks once. A file that is there stays as it is. Wants a
    terminal or --yes. Exits 0 if everything is there in the end, else 1.

    \b
    Examples:
      bylaw init
      bylaw init --dry-run
      bylaw init --no-hooks --yes
      bylaw init --law
    """
    if dry_run and yes:
        raise click.UsageError("`--dry-run` writes nothing, so there is nothing to say yes to")
    plan = _planned(chosen_root(root), law=law, hooks=not (law or no_hooks))
    if form == "json":
        return _as_json(plan, yes=yes, dry_run=dry_run)
    return _as_text(plan, yes=yes, dry_run=dry_run)


def _planned(root: str, *, law: bool, hooks: bool) -> _Plan:
    rules = starter_files(root, LAW if law else HOOKS)
    if law:
        return _Plan(root, rules, _NEXT_LAW)
    python = interpreter() if hooks else ""
    found = offers(root, python) if hooks else []
    return _Plan(root, rules, _NEXT if found else (_NO_HOOKS, *_NEXT), python, found)


def _as_json(plan: _Plan, *, yes: bool, dry_run: bool) -> int:
    left = plan.new_files or plan.new_hooks
    written, installed = plan.carry_out() if yes else (0, [])
    files = [
        {"path": one.path, "standing": one.standing, "why": one.why or None} for one in plan.rules
    ]
    hooks = [
        {
            "host": one.client.host,
            "path": visible(one.path),
            "found": visible(one.found),
            "installed": one in installed or not (one.is_new or one.problem),
            "why": visible(one.problem) or None,
            "steps": one.steps(plan.root, plan.python),
        }
        for one in plan.hooks
    ]
    emit({"root": visible(plan.root), "files": files, "hooks": hooks, "written": written})
    return plan.code if yes or dry_run or not left else MISTAKE


def _as_text(plan: _Plan, *, yes: bool, dry_run: bool) -> int:
    rows = [*map(_file_row, plan.rules), *map(_hooks_row, plan.hooks)]
    write(f"in {visible(plan.root)}:\n{_lines(rows)}")
    if dry_run:
        return plan.code
    wanted = _told(plan.new_files, plan.new_hooks)
    if not wanted:
        return _ended(plan, "there is nothing to write")
    if not yes and not agreed(f"\nWrite {wanted}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    done = f"wrote {_told(*plan.carry_out())}"
    if plan.code:
        return _ended(plan, done)
    write(f"\n{done}; next, in that folder:\n{_lines([*_not_in_force(plan), *plan.after])}")
    write("".join(_steps(plan)))
    return 0


def _ended(plan: _Plan, words: str) -> int:
    """Whoever has only some of it is not told how to go on with all of it."""
    if not plan.code:
        write(f"\n{words}\n")
        return 0
    failed = _told(plan.failed_files, plan.failed_hooks)
    write(f"\n{words}; {failed} could not be written, see above\n")
    for one in plan.failed_hooks:
        write(f"`bylaw install {one.client.host}` shows what is wrong with {visible(one.path)}\n")
    return MISTAKE


def _not_in_force(plan: _Plan) -> Iterator[tuple[str, str]]:
    """Rules that only settings of ours would name."""
    kept = {one.path for one in plan.rules if one.standing is Standing.KEPT}
    chats = [one.path for one in plan.rules if one.path.endswith(".chatmd")]
    if CONFIGURATION in kept:
        for path in chats:
            yield f'[[book]] path = "{path}"', "in your settings puts these rules in force"


def _steps(plan: _Plan) -> Iterator[str]:
    for one in plan.hooks:
        yield f"\n{one.client.title}:\n"
        for number, step in enumerate(one.steps(plan.root, plan.python), 1):
            yield f"  {number}. {step}\n"


def _file_row(one: StarterFile) -> tuple[str, ...]:
    return _STANDINGS[one.standing], one.path, one.why


def _hooks_row(one: HookOffer) -> tuple[str, ...]:
    standing = Standing.BLOCKED if one.problem else Standing.NEW if one.is_new else Standing.SAME
    why = one.problem or f"{one.client.title}, because of `{one.found}`"
    return _STANDINGS[standing], visible(one.path), f"hooks: {visible(why)}"


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"  {line}\n" for line in aligned(list(rows)))


def _told(files: int, hooks: list[HookOffer]) -> str:
    """What is written, in words; empty if it is nothing."""
    words = [_counted(files)] if files else []
    titles = ", ".join(one.client.title for one in hooks)
    return " and ".join([*words, *([f"hooks for {titles}"] if titles else [])])


def _counted(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
