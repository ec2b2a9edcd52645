"""Comprehensions → local functions, defined before the expression and called in it.

A loop reads outer names by closure. Each element charges the cost of the loop body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.expr.tree import Clause, Comprehension, walk

if TYPE_CHECKING:
    from bylaw.expr.emit import Emitter

_EMPTY = {"list": "[]", "map": "{}", "set": "{*()}"}
_INDENT = "    "


def emit_comprehension(emitter: Emitter, node: Comprehension) -> str:
    """Define the loop and return the code of its call."""
    outer_scope, outer_definitions = emitter.scope, emitter.definitions
    emitter.scope, emitter.definitions = dict(outer_scope), []
    name, made = emitter.fresh(), emitter.fresh()
    lines = [f"def {name}():", f"{_INDENT}{made} = {_EMPTY[node.kind]}"]
    cost = sum(1 for _ in walk(node))
    indent = _INDENT
    for clause in node.clauses:
        lines += _loop(emitter, clause, cost, indent)
        indent += _INDENT * (1 + bool(clause.conditions))
    kept = _kept(emitter, node, made)
    lines += [indent + line for line in (*_taken(emitter), kept)]
    lines.append(f"{_INDENT}return {made}")
    emitter.scope, emitter.definitions = outer_scope, outer_definitions
    emitter.definitions += lines
    return f"{name}()"


def _loop(emitter: Emitter, clause: Clause, cost: int, indent: str) -> list[str]:
    iterable = emitter.emit(clause.iterable)
    lines = [indent + line for line in _taken(emitter)]
    site = emitter.site(clause.iterable, clause.iterable)
    names = [emitter.fresh() for _ in clause.names]
    element = emitter.fresh() if clause.unpacks else names[0]
    lines.append(f"{indent}for {element} in each({iterable}, B, {cost}, {site}):")
    inner = indent + _INDENT
    if clause.unpacks:
        targets = "".join(f"{name}, " for name in names)
        lines.append(f"{inner}{targets}= unpack({element}, {len(names)}, {site})")
    emitter.scope.update(zip(clause.names, names, strict=True))
    if clause.conditions:
        tests = " and ".join(emitter.emit(condition) for condition in clause.conditions)
        lines += [inner + line for line in _taken(emitter)]
        lines.append(f"{inner}if {tests}:")
    return lines


def _taken(emitter: Emitter) -> list[str]:
    """Remove and return the pending definitions: inner loops, to be defined inside this one."""
    taken, emitter.definitions = emitter.definitions, []
    return taken


def _kept(emitter: Emitter, node: Comprehension, made: str) -> str:
    element = emitter.emit(node.element)
    if node.kind == "list":
        return f"{made}.append({element})"
    element = emitter.key(node.element, element)
    if node.value is None:
        return f"{made}.add({element})"
    return f"{made}[{element}] = {emitter.emit(node.value)}"
