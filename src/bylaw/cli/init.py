"""`bylaw init`: create starter rules and install hooks, after a person confirms."""

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
    ("bylaw check", "validate your rules"),
    ("bylaw trust", "review the commands that they can run, and trust them"),
    ("bylaw bus run", "watch files and the bus until Ctrl-C"),
    ("bylaw bus new --title Hello --category A", "send a message"),
    ("bylaw bus status", "show waiting messages, and what they wait for"),
    ("bylaw approve MSG_ID", "approve a message that waits for you"),
)
_NEXT = (
    ("bylaw check", "validate your rules"),
    ("bylaw doctor", "check that hooks work"),
    ("bylaw log", "show events and decisions, after an agent has worked"),
)
_NO_HOOKS = ("bylaw install HOST", "install hooks; without hooks, no rule is enforced")


class InitPlan(Struct, frozen=True):
    """Files to create, hooks to install, and the next steps for a person."""

    root: str
    rules: list[StarterFile]
    after: tuple[tuple[str, str], ...]
    python: str = ""
    hooks: list[HookOffer] = field(default_factory=list)

    @property
    def new_files(self) -> int:
        """Number of files to write."""
        return len(self._files(InPlace.NEW))

    @property
    def new_hooks(self) -> list[HookOffer]:
        """Hooks to install."""
        return [one for one in self.hooks if one.is_new]

    @property
    def failed_files(self) -> int:
        """Number of files that cannot be written."""
        return len(self._files(InPlace.BLOCKED))

    @property
    def failed_hooks(self) -> list[HookOffer]:
        """Hooks that cannot be installed."""
        return [one for one in self.hooks if one.problem]

    @property
    def code(self) -> int:
        """Exit code: 1 if a file or a hook cannot be written."""
        return MISTAKE if self.failed_files or self.failed_hooks else 0

    def _files(self, standing: InPlace) -> list[StarterFile]:
        return [one for one in self.rules if one.standing is standing]

    def carry_out(self) -> tuple[int, list[HookOffer]]:
        """Write all. Return the number of written files, and the installed hooks."""
        wanted = self.new_hooks
        if wanted:
            refuse_interpreter(self.python)
        written = lay_out(self.root, self.rules)
        for one in wanted:
            one.accept()
        return written, [one for one in wanted if not one.problem]


@click.command(context_settings=HELP_OPTIONS)
@click.option(
    "--law", is_flag=True, help="Create a bus, RULE_DSL rules for it, and a small project."
)
@click.option("--no-hooks", is_flag=True, help="Create files only.")
@root_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: machine-readable; never prompts.",
)
def command(*, law: bool, no_hooks: bool, root: str, dry_run: bool, yes: bool, form: str) -> int:
    """Set up a repository: create starter rules and install hooks.

    Creates bylaw.toml and two small rules in .bylaw/: one denies a call, one sends a message to
    the agent. Installs hooks, as `bylaw install HOST` does, for each coding agent that has
    files in the repository or whose program is on the search path.

    With --law, creates rules in runtime/rules/ that lint and test changes, accept tasks, deploy
    what was approved and roll back in an emergency; SHARED_CONTEXT.md, where people set the
    phase and approve; settings in bylaw.toml; and a small project in demo/, so that everything
    runs. Replace demo/ with your own project. Installs no hooks.

    Shows what it would write and asks once. Existing files are kept. Needs a terminal or --yes.
    Exit code 0 on success, else 1.

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
        return _ended(plan, "nothing to write")
    if not yes and not agreed(f"\nWrite {wanted}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    done = f"wrote {told(*plan.carry_out())}"
    if plan.code:
        return _ended(plan, done)
    write(f"\n{done}; next, in that folder:\n{render_next(plan)}")
    return 0


def _ended(plan: InitPlan, words: str) -> int:
    """Print the result without next steps, and what could not be written."""
    if not plan.code:
        write(f"\n{words}\n")
        return 0
    failed = told(plan.failed_files, plan.failed_hooks)
    write(f"\n{words}; {failed} could not be written, see above\n")
    for one in plan.failed_hooks:
        write(f"`bylaw install {one.client.host}` shows what is wrong with {visible(one.path)}\n")
    return MISTAKE
