"""`<policy>` elements → constraints as written, each with its tool."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.elements import ANY_TOOL
from bylaw.dialects.chatmd.formulas import read_formula
from bylaw.dialects.chatmd.syntax.nodes import Element
from bylaw.dialects.chatmd.written import (
    Check,
    Cooldown,
    Level,
    Mode,
    Quota,
    Requires,
    Validate,
    WrittenConstraint,
)
from bylaw.model.codes import chatmd_rules as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.dialects.chatmd.elements import ElementReader
    from bylaw.dialects.chatmd.written import Constraint


def read_policies(blocks: Sequence[ElementReader]) -> Iterator[WrittenConstraint]:
    """Yield the constraints of all blocks, in source order. All of them apply (CM-A41)."""
    names: Counter[str] = Counter()
    for block in blocks:
        block.close(())
        for tool in block.elements():
            name, elements = _tool(tool), tool.elements()
            if not elements:
                _warn_empty(tool, "add a constraint, such as `<requires>` or `<quota>`")
            for one in elements:
                kind = f"policy:{name}/{one.name}"
                names[kind] += 1
                constraint_id = kind if names[kind] == 1 else f"{kind}.{names[kind]}"
                yield WrittenConstraint(one, constraint_id, name, _READERS[one.name](one))


def _tool(tool: ElementReader) -> str:
    tool.close(("name",))
    name = tool.tool_name("name")
    if name == ANY_TOOL:
        headline = "the wildcard `*` is not allowed in `<policy>`"
        help_ = 'name the tool, or write a rule on `event="pre_tool_call"`'
        tool.refuse(codes.WILDCARD_IN_POLICY, headline, tool.place("name"), help_)
    return name


def _warn_empty(reader: ElementReader, help_: str) -> None:
    holds_something = any(isinstance(node, Element) for node in reader.element.children)
    if not holds_something:  # otherwise its content was reported
        headline = f"this `<{reader.name}>` has no effect"
        reader.doubt(codes.RULE_WITHOUT_EFFECT, headline, help_=help_)


def _requires(reader: ElementReader) -> Constraint:
    reader.close(("tools", "mode"))
    reader.elements()
    tools = reader.listed("tools", ",") if reader.required("tools").strip() else []
    return Requires(tuple(tools), reader.choice("mode", Mode, Mode.ENFORCE))


def _validate(reader: ElementReader) -> Constraint:
    reader.close(("level",))
    checks = tuple(map(_check, reader.elements()))
    if not checks:
        _warn_empty(reader, "add a `<check>`")
    return Validate(reader.choice("level", Level, Level.ERROR), checks)


def _check(reader: ElementReader) -> Check:
    reader.close(("if", "message"))
    reader.elements()
    return Check(read_formula(reader, "if"), reader.required("message"))


def _quota(reader: ElementReader) -> Constraint:
    reader.close(("per_turn", "per_session"))
    reader.elements()
    if not reader.element.attributes:
        headline = "`<quota>` has neither `per_turn` nor `per_session`"
        help_ = 'add one of them, as in `per_turn="1"`'
        reader.refuse(codes.MISSING_ATTRIBUTE, headline, help_=help_)
    return Quota(_limit(reader, "per_turn"), _limit(reader, "per_session"))


def _limit(reader: ElementReader, name: str) -> int | None:
    return reader.integer(name, 0, least=0) if reader.has(name) else None


def _cooldown(reader: ElementReader) -> Constraint:
    reader.close(("turns",))
    reader.elements()
    is_there = reader.required("turns").strip()
    return Cooldown(reader.integer("turns", 0, least=0) if is_there else 0)


_READERS: dict[str, Callable[[ElementReader], Constraint]] = {
    "requires": _requires,
    "validate": _validate,
    "quota": _quota,
    "cooldown": _cooldown,
}
