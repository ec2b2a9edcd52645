"""`bylaw init`: create starter rules and install hooks, after a person confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from msgspec import Struct, field

from bylaw.cli.errors import MISTAKE
from bylaw.cli.frame import HELP_OPTIONS
from bylaw.cli.install import number_steps, refuse_dry_run_with_yes
from bylaw.cli.terminal import confirm, emit, resolve_root, root_option, write
from bylaw.hosts.hooks.install.advice import find_offers
from bylaw.hosts.hooks.install.forms import check_interpreter, interpreter
from bylaw.hosts.starter import HOOKS, LAW_STARTER, TargetState, starter_files, write_starter_files
from bylaw.model.display import number_of, visible
from bylaw.report.printers.layout import align
from bylaw.runtime.root import CONFIGURATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.hosts.hooks.install.advice import HookOffer
    from bylaw.hosts.starter import StarterFile

_STATE_NAMES = {
    TargetState.NEW: "new",
    TargetState.SAME: "exists",
    TargetState.KEPT: "kept",
    TargetState.BLOCKED: "not written",
}


def plan_as_data(plan: InitPlan, installed: list[HookOffer]) -> dict[str, object]:
    """Return a plan as plain values for JSON. `installed` are the hooks that were installed."""
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
    return {"root": visible(plan.root), "files": files, "hooks": hooks}


def render_plan(plan: InitPlan) -> str:
    """Render the files and hooks to write, one per line."""
    rows = [*map(_file_row, plan.rules), *map(_hooks_row, plan.hooks)]
    return f"in {visible(plan.root)}:\n{_lines(rows)}"


def render_next(plan: InitPlan) -> str:
    """Render the next steps for a person, and what each client still needs."""
    steps = (
        f"\n{one.client.title}:\n{number_steps(one.steps(plan.root, plan.python))}"
        for one in plan.hooks
    )
    return _lines([*_settings_to_add(plan), *plan.after]) + "".join(steps)


def _settings_to_add(plan: InitPlan) -> Iterator[tuple[str, str]]:
    """Yield settings to add by hand for new ChatMD rules, if bylaw.toml existed and was kept."""
    kept = {one.path for one in plan.rules if one.standing is TargetState.KEPT}
    chats = [one.path for one in plan.rules if one.path.endswith(".chatmd")]
    if CONFIGURATION in kept:
        for path in chats:
            yield f'[[book]] path = "{path}"', "add this to bylaw.toml to activate these rules"


def _file_row(one: StarterFile) -> tuple[str, ...]:
    return _STATE_NAMES[one.standing], one.path, one.why


def _hooks_row(one: HookOffer) -> tuple[str, ...]:
    standing = (
        TargetState.BLOCKED if one.problem else TargetState.NEW if one.is_new else TargetState.SAME
    )
    why = one.problem or f"{one.client.title}, because of `{one.found}`"
    return _STATE_NAMES[standing], visible(one.path), f"hooks: {visible(why)}"


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"  {line}\n" for line in align(list(rows)))


def describe_written(files: int, hooks: list[HookOffer]) -> str:
    """Describe what is written. Empty if nothing is."""
    words = [number_of(files, "file")] if files else []
    titles = ", ".join(one.client.title for one in hooks)
    return " and ".join([*words, *([f"hooks for {titles}"] if titles else [])])


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
        return len(self._files(TargetState.NEW))

    @property
    def new_hooks(self) -> list[HookOffer]:
        """Hooks to install."""
        return [one for one in self.hooks if one.is_new]

    @property
    def failed_files(self) -> int:
        """Number of files that cannot be written."""
        return len(self._files(TargetState.BLOCKED))

    @property
    def failed_hooks(self) -> list[HookOffer]:
        """Hooks that cannot be installed."""
        return [one for one in self.hooks if one.problem]

    @property
    def code(self) -> int:
        """Exit code: 1 if a file or a hook cannot be written."""
        return MISTAKE if self.failed_files or self.failed_hooks else 0

    def _files(self, standing: TargetState) -> list[StarterFile]:
        return [one for one in self.rules if one.standing is standing]

    def carry_out(self) -> tuple[int, list[HookOffer]]:
        """Write all. Return the number of written files, and the installed hooks."""
        wanted = self.new_hooks
        if wanted:
            check_interpreter(self.python)
        written = write_starter_files(self.root, self.rules)
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
def init_command(
    *, law: bool, no_hooks: bool, root: str, dry_run: bool, yes: bool, form: str
) -> int:
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
    refuse_dry_run_with_yes(dry_run=dry_run, yes=yes)
    plan = _make_plan(resolve_root(root), law=law, hooks=not (law or no_hooks))
    if form == "json":
        return _as_json(plan, yes=yes, dry_run=dry_run)
    return _as_text(plan, yes=yes, dry_run=dry_run)


def _make_plan(root: str, *, law: bool, hooks: bool) -> InitPlan:
    rules = starter_files(root, LAW_STARTER if law else HOOKS)
    if law:
        return InitPlan(root, rules, _NEXT_LAW)
    python = interpreter() if hooks else ""
    found = find_offers(root, python) if hooks else []
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
    wanted = describe_written(plan.new_files, plan.new_hooks)
    if not wanted:
        return _print_end(plan, "nothing to write")
    if not yes and not confirm(f"\nWrite {wanted}? [y/N] "):
        write("nothing was written\n")
        return MISTAKE
    done = f"wrote {describe_written(*plan.carry_out())}"
    if plan.code:
        return _print_end(plan, done)
    write(f"\n{done}; next, in that folder:\n{render_next(plan)}")
    return 0


def _print_end(plan: InitPlan, words: str) -> int:
    """Print the result without next steps, and what could not be written."""
    if not plan.code:
        write(f"\n{words}\n")
        return 0
    failed = describe_written(plan.failed_files, plan.failed_hooks)
    write(f"\n{words}; {failed} could not be written, see above\n")
    for one in plan.failed_hooks:
        write(f"`bylaw install {one.client.host}` shows what is wrong with {visible(one.path)}\n")
    return MISTAKE
