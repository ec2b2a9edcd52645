"""The plan of `bylaw init` and its result, as lines for people and as values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.cli.hook_change import numbered
from bylaw.hosts.new_file import InPlace
from bylaw.model.visible import visible
from bylaw.runtime.configuration import CONFIGURATION
from bylaw.tools.printers.table import aligned
from bylaw.tools.printers.wording import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.cli.init import InitPlan
    from bylaw.hosts.hooks.install.offering import HookOffer
    from bylaw.hosts.laying_out import StarterFile

_STANDINGS = {
    InPlace.NEW: "new",
    InPlace.SAME: "exists",
    InPlace.KEPT: "kept",
    InPlace.BLOCKED: "not written",
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
        f"\n{one.client.title}:\n{numbered(one.steps(plan.root, plan.python))}"
        for one in plan.hooks
    )
    return _lines([*_not_in_force(plan), *plan.after]) + "".join(steps)


def _not_in_force(plan: InitPlan) -> Iterator[tuple[str, str]]:
    """Yield settings to add by hand for new ChatMD rules, if bylaw.toml existed and was kept."""
    kept = {one.path for one in plan.rules if one.standing is InPlace.KEPT}
    chats = [one.path for one in plan.rules if one.path.endswith(".chatmd")]
    if CONFIGURATION in kept:
        for path in chats:
            yield f'[[book]] path = "{path}"', "add this to bylaw.toml to activate these rules"


def _file_row(one: StarterFile) -> tuple[str, ...]:
    return _STANDINGS[one.standing], one.path, one.why


def _hooks_row(one: HookOffer) -> tuple[str, ...]:
    standing = InPlace.BLOCKED if one.problem else InPlace.NEW if one.is_new else InPlace.SAME
    why = one.problem or f"{one.client.title}, because of `{one.found}`"
    return _STANDINGS[standing], visible(one.path), f"hooks: {visible(why)}"


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"  {line}\n" for line in aligned(list(rows)))


def told(files: int, hooks: list[HookOffer]) -> str:
    """Describe what is written. Empty if nothing is."""
    words = [number_of(files, "file")] if files else []
    titles = ", ".join(one.client.title for one in hooks)
    return " and ".join([*words, *([f"hooks for {titles}"] if titles else [])])
