"""`bylaw init`: a root → the first rules laid out in it, and hooks, once a person agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import Struct, field

from bylaw.cli.asking import agreed
from bylaw.cli.failure import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.hook_change import refuse_both
from bylaw.cli.init_screen import plan_as_data, render_next, render_plan, told
from bylaw.cli.output import emit, write
from bylaw.cli.root_option import chosen_root, root_option
from bylaw.hosts.hooks.install.interpreter import interpreter, refuse_interpreter
from bylaw.hosts.hooks.install.offering import offers
from bylaw.hosts.laying_out import HOOKS, LAW_STARTER, lay_out, starter_files
from bylaw.hosts.new_file import InPlace
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from bylaw.hosts.hooks.install.offering import HookOffer
    from bylaw.hosts.laying_out import StarterFile

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


class InitPlan(Struct, frozen=True):
    """What is to be laid out and installed, and what a person does afterwards."""

    root: str
    rules: list[StarterFile]
    after: tuple[tuple[str, str], ...]
    python: str = ""
    hooks: list[HookOffer] = field(default_factory=list)

    @property
    def new_files(self) -> int:
        """How many files are still to be written."""
        return len(self._files(InPlace.NEW))

    @property
    def new_hooks(self) -> list[HookOffer]:
        """Hooks that are still to be installed."""
        return [one for one in self.hooks if one.is_new]

    @property
    def failed_files(self) -> int:
        """How many files cannot be written."""
        return len(self._files(InPlace.BLOCKED))

    @property
    def failed_hooks(self) -> list[HookOffer]:
        """Hooks that cannot be installed."""
        return [one for one in self.hooks if one.problem]

    @property
    def code(self) -> int:
        """The exit code: whether everything can be there."""
        return MISTAKE if self.failed_files or self.failed_hooks else 0

    def _files(self, standing: InPlace) -> list[StarterFile]:
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
    refuse_both(dry_run=dry_run, yes=yes)
    plan = _planned(chosen_root(root), law=law, hooks=not (law or no_hooks))
    if form == "json":
        return _as_json(plan, yes=yes, dry_run=dry_run)
    return _as_text(plan, yes=yes, dry_run=dry_run)


def _planned(root: str, *, law: bool, hooks: bool) -> InitPlan:
    rules = starter_files(root, LAW_STARTER if law else HOOKS)
    if law:
        return InitPlan(root, rules, _NEXT_LAW)
    python = interpreter() if hooks else ""
    found = offers(root, python) if hooks else []
    return InitPlan(root, rules, _NEXT if found else (_NO_HOOKS, *_NEXT), python, found)


def _as_json(plan: InitPlan, *, yes: bool, dry_run: bool) -> int:
    left = plan.new_files or plan.new_hooks
    written, installed = plan.carry_out() if yes else (0, [])
    emit(plan_as_data(plan, installed) | {"written": written})
    return plan.code if yes or dry_run or not left else MISTAKE


def _as_text(plan: InitPlan, *, yes: bool, dry_run: bool) -> int:
    write(render_plan(plan))
    if dry_run:
        return plan.code
    wanted = told(plan.new_files, plan.new_hooks)
    if not wanted:
        return _ended(plan, "there is nothing to write")
    if not yes and not agreed(f"\nWrite {wanted}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    done = f"wrote {told(*plan.carry_out())}"
    if plan.code:
        return _ended(plan, done)
    write(f"\n{done}; next, in that folder:\n{render_next(plan)}")
    return 0


def _ended(plan: InitPlan, words: str) -> int:
    """Whoever has only some of it is not told how to go on with all of it."""
    if not plan.code:
        write(f"\n{words}\n")
        return 0
    failed = told(plan.failed_files, plan.failed_hooks)
    write(f"\n{words}; {failed} could not be written, see above\n")
    for one in plan.failed_hooks:
        write(f"`bylaw install {one.client.host}` shows what is wrong with {visible(one.path)}\n")
    return MISTAKE
