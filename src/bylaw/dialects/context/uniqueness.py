"""Names that are given twice where a document allows them once (AC-049 to AC-056, AC-A15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes.context import DUPLICATE_ID, SCHEMA_VIOLATION
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.dialects.context.declared import Command, Module, Name
    from bylaw.dialects.context.problems import Phase
    from bylaw.model.codes import Code


def check_uniqueness(modules: Sequence[Module], phase: Phase) -> None:
    """Note every name that was there before."""
    _once("module", (module.name for module in modules), phase)
    for module in modules:
        for what, named in (
            ("enum", module.enums),
            ("state", module.states),
            ("command", module.commands),
            ("response", module.responses),
            ("workflow", module.workflows),
            ("protocol", module.protocols),
        ):
            _once(f"{what} of `{module.name.text}`", (one.name for one in named), phase)
        for protocol in module.protocols:
            rules = (rule.name for rule in protocol.rules)
            _once(f"rule of `{protocol.name.text}`", rules, phase, DUPLICATE_ID)
        for command in module.commands:
            _check_effects(command, phase)


def _check_effects(command: Command, phase: Phase) -> None:
    for kind, names in command.enable.items():
        _once(f"entry of `{kind}`", names, phase, DUPLICATE_ID)
    sets = (assignment.name for assignment in command.assignments)
    _once("entry of `set_state`", sets, phase, DUPLICATE_ID)


def _once(what: str, names: Iterable[Name], phase: Phase, code: Code = SCHEMA_VIOLATION) -> None:
    seen: dict[str, int] = {}
    for name in names:
        if name.text in seen:
            message = f"`{brief(name.text)}` is already a {what}, in line {seen[name.text]}"
            phase.add(code, message, name.place, "rename or delete one of the two")
        seen.setdefault(name.text, name.place.line)
