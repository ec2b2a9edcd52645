"""Checked tree → Python source → function over a view.

`emit` writes the source. Compiled code can use only the names of `_RUNTIME`.

Only loops, texts and collections charge the budget during an evaluation. Without them an
evaluation is short, because an expression has at most MAX_NODES parts.
"""

from __future__ import annotations

import re
import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bylaw.expr import (
    builtins,
    condition_operators,
    guard_environment,
    guard_operators,
)
from bylaw.expr.emit import Emitter, FailurePlace
from bylaw.expr.limits import Budget
from bylaw.model.history import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

    from bylaw.expr.check import CheckedTree

_NO_NAMES: Mapping[str, Any] = MappingProxyType({})
_READS_BUDGET = re.compile(r"\bB\b")
_RUNTIME: dict[str, Any] = {
    "__builtins__": {},
    "Budget": Budget,
    "NUMBERS": guard_operators.NUMBERS,
    "INT": int,
    "FLOAT": float,
    "NEVER_CALLED": guard_environment.NEVER_CALLED,
    "elapsed": guard_environment.elapsed,
    "count_tokens": count_tokens,
    "dig": guard_environment.dig,
    "follow": guard_environment.follow,
    "split_path": guard_environment.split_path,
    "truth": guard_operators.truth,
    "same": guard_operators.same,
    "member": guard_operators.member,
    "has_kind": guard_operators.has_kind,
    **{
        f"{prefix}_{name}": getattr(module, name)
        for prefix, module in (("strict", guard_operators), ("lenient", condition_operators))
        for name in ("add", "subtract", "multiply", "divide", "remainder", "negate",
                     "less", "less_equal", "greater", "greater_equal")
    },
    **{
        name: getattr(condition_operators, name)
        for name in ("floor_divide", "power", "positive", "equal", "contains", "key", "attribute",
                     "attribute_or_null", "index", "cut", "each", "unpack", "present")
    },
    **{
        name: getattr(builtins, name)
        for name in ("to_int", "to_float", "to_text", "to_bool", "length", "absolute", "rounded",
                     "total", "any_of", "all_of", "in_sequence", "least", "greatest", "method",
                     "joined", "finished")
    },
}  # fmt: skip


def runtime_names() -> dict[str, Any]:
    """Return the names that compiled code can use, for a caller that combines several guards."""
    return dict(_RUNTIME)


def compile_source(code: str, name: str) -> CodeType:
    """Compile emitted source without Python's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns about code such as `0 is None`
        return compile(code, name, "exec")


class CompiledExpression:
    """A function over a view, its Python source, and the places that can fail."""

    __slots__ = ("code", "function", "sites")

    def __init__(self, code: str, sites: list[FailurePlace], names: Mapping[str, Any]) -> None:
        self.code = code
        self.sites = sites
        namespace = {**_RUNTIME, **names}
        # The source contains only constants, declared names and the operators above.
        exec(compile_source(code, "<expression>"), namespace)  # noqa: S102
        self.function: Callable[[Any], Any] = namespace["expression"]


class GuardCode(NamedTuple):
    """A guard as code for another function: definitions that come first, and a condition."""

    definitions: list[str]
    condition: str


def emit_condition(checked: CheckedTree, view: str) -> GuardCode:
    """Return the code of an expression that must be a boolean; `view` is the prefix of fields."""
    emitter = Emitter(checked, view)
    condition = emitter.boolean(checked.tree)
    lines = [*emitter.definitions, condition]
    if any(_READS_BUDGET.search(line) for line in lines):
        emitter.definitions.insert(0, _new_budget(checked))
    return GuardCode(emitter.definitions, condition)


def _new_budget(checked: CheckedTree) -> str:
    return f"B = Budget({checked.size})"


def compile_checked(
    checked: CheckedTree, emitter: Emitter | None = None, names: Mapping[str, Any] = _NO_NAMES
) -> CompiledExpression:
    """Compile a checked tree; `names` are additional names that the code of `emitter` calls."""
    emitter = emitter or Emitter(checked)
    value = emitter.emit(checked.tree)
    if not checked.environment.strict and not checked.type_of(checked.tree).within(
        "null", "bool", "int", "float", "str"
    ):
        site = emitter.site(checked.tree)
        value = f"finished({value}, B, {site})"
    body = [*emitter.definitions, f"return {value}"]
    if any(_READS_BUDGET.search(line) for line in body):
        body.insert(0, _new_budget(checked))
    code = "def expression(v):\n" + "\n".join("    " + line for line in body) + "\n"
    return CompiledExpression(code, emitter.sites, names)
