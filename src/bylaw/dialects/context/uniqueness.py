"""Check that names are unique where a document requires it (AC-049 to AC-056, AC-A15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.declared import Name
from bylaw.model.codes.context import DUPLICATE_ID, SCHEMA_VIOLATION
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.dialects.context.declared import Command, Module
    from bylaw.dialects.context.problems import Phase, Place
    from bylaw.model.codes import Code


def check_uniqueness(modules: Sequence[Module], phase: Phase) -> None:
    """Report every name that is used a second time."""
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
            _check_effects(command, module.name.text, phase)


def _check_effects(command: Command, module: str, phase: Phase) -> None:
    """`p1` and `m.p1` are the same in the module `m`."""
    for kind, names in command.enable.items():
        _once(f"entry of `{kind}`", _qualified(names, module), phase, DUPLICATE_ID)
    sets = (assignment.name for assignment in command.assignments)
    _once("entry of `set_state`", _qualified(sets, module), phase, DUPLICATE_ID)


def _qualified(names: Iterable[Name], module: str) -> Iterator[Name]:
    for name in names:
        yield name if "." in name.text else Name(f"{module}.{name.text}", name.place)


def _once(what: str, names: Iterable[Name], phase: Phase, code: Code = SCHEMA_VIOLATION) -> None:
    seen: dict[str, Place] = {}
    for name in names:
        first = seen.setdefault(name.text, name.place)
        if first is not name.place:
            where = f"in line {first.line}"
            if first.source is not name.place.source:
                where += f" of `{first.source.path}`"
            message = f"`{brief(name.text)}` is already a{_n(what)} {what}, {where}"
            phase.add(code, message, name.place, "rename or delete one of the two")


def _n(word: str) -> str:
    return "n" if word[0] in "aeiou" else ""
