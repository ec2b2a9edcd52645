"""Bucket of rules → one function that returns which of their guards hold, as bits.

Most events match no rule. The function reads the values that guards share once, and runs their
compiled code in a row. Rules whose guards hold are then decided as on the slow path. The others
only add a line to the trace, which is computed when it is needed. A guard that fails, and
everything that is not a plain guard, is left to the slow path.

Guards that begin with `x == "text"` are looked up by that text instead of being run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from bylaw.expr.compile import compile_source, runtime_names
from bylaw.expr.tree import Call, Compare, Const, Logic, Node, dotted
from bylaw.expr.views import ExpressionGuard
from bylaw.model.errors import LoadError
from bylaw.model.rule import ApprovalGate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.engine.index import Candidates
    from bylaw.model.event import Event
    from bylaw.model.rule import Rule
    from bylaw.model.session import Session
    from bylaw.model.vocabulary import Kind

# With fewer guards on the same value, running each of them is faster than a lookup.
MIN_LOOKUP = 4

# Session, event, time → bits in visiting order; negative if the slow path must decide.
Holding: TypeAlias = "Callable[[Session, Event, int], int]"


class GuardPiece(NamedTuple):
    """One guard as code: the definitions before it, the condition, and what it reads."""

    definitions: list[str]
    condition: str
    reads: dict[str, str]
    names: dict[str, Any]
    bit: int
    # The code of a value and the text it must equal for the guard to hold.
    looks_up: tuple[str, str] | None


def compile_bucket(groups: tuple[Candidates, ...], kind: Kind) -> Holding | None:
    """Compile the function for these candidates. None if they are not all plain guards."""
    if any(candidates.closing or candidates.group.procedure.split_lines for candidates in groups):
        return None
    rules = [rule for candidates in groups for rule in candidates.rules]
    pieces = _pieces(rules, kind)
    return None if pieces is None else _build_function(pieces)


def _pieces(rules: Iterable[Rule], kind: Kind) -> list[GuardPiece] | None:
    readers: dict[int, str] = {}
    pieces: list[GuardPiece] = []
    for number, rule in enumerate(rules):
        guard = rule.guard
        if not isinstance(guard, ExpressionGuard) or _asks_for_facts(rule):
            return None
        prefix = readers.setdefault(id(guard.reader), f"v{len(readers)}_")
        try:
            pieces.append(_piece(guard, prefix, kind, 1 << number))
        except LoadError:  # unexpected, since the rule did load: the slow path handles it
            return None
    return pieces


def _asks_for_facts(rule: Rule) -> bool:
    """Whether the rule may need facts, which only the slow path requests."""
    return bool(rule.needs) or any(isinstance(gate, ApprovalGate) for gate in rule.gates)


def _piece(guard: ExpressionGuard, prefix: str, kind: Kind, bit: int) -> GuardPiece:
    emitted = guard.expression.emit(prefix)
    code = "\n".join([*emitted.definitions, emitted.condition])
    fields = guard.reader.mentioned(code, prefix, kind)
    reads = {prefix + name: field for name, field in fields.items()}
    looks_up = _lookup(guard, prefix)
    names = dict(guard.reader.names)
    return GuardPiece(emitted.definitions, emitted.condition, reads, names, bit, looks_up)


def _lookup(guard: ExpressionGuard, prefix: str) -> tuple[str, str] | None:
    """Return `(code of x, text)` if the guard can hold only if x equals the text."""
    first = guard.expression.tree
    if isinstance(first, Logic) and first.op == "and":
        first = first.operands[0]
    if not isinstance(first, Compare) or first.ops != ("==",):
        return None
    for value, text in ((first.first, first.operands[0]), (first.operands[0], first.first)):
        if isinstance(text, Const) and isinstance(text.value, str) and _is_simple(value):
            return guard.expression.emit_part(value, prefix), text.value
    return None


def _is_simple(node: Node) -> bool:
    """Whether this is a name or a literal argument of the call.

    Reading such a value seldom fails and needs no budget.
    """
    if isinstance(node, Call):
        return node.function in ("arg", "jsonpath") and isinstance(node.args[0], Const)
    return dotted(node) is not None


def _build_function(pieces: list[GuardPiece]) -> Holding:
    tables, rest = _tables(pieces)
    names: dict[str, Any] = {"Exception": Exception, "isinstance": isinstance, "TEXT": str}
    reads: dict[str, str] = {}
    body: list[str] = []
    for number, (value, by_text) in enumerate(tables.items()):
        names[f"table{number}"] = {text: _build_function(few) for text, few in by_text.items()}
        reads |= _reads_of(value, pieces)
        # A value that is not a text equals no text, and may not be hashable.
        body += [f"found = table{number}.get(x) if isinstance(x := {value}, TEXT) else None"]
        body += ["if found is not None: held |= found(s, e, n)"]
    for piece in rest:
        reads |= piece.reads
        body += [*piece.definitions, f"if {piece.condition}: held |= {piece.bit}"]
    for piece in pieces:
        names |= piece.names
    return _compile_function(reads, body, names)


def _tables(
    pieces: list[GuardPiece],
) -> tuple[dict[str, dict[str, list[GuardPiece]]], list[GuardPiece]]:
    """Return the guards that can be looked up, by the value that they compare, and all others."""
    by_value: dict[str, list[GuardPiece]] = defaultdict(list)
    for piece in pieces:
        if piece.looks_up is not None:
            by_value[piece.looks_up[0]].append(piece)
    tables: dict[str, dict[str, list[GuardPiece]]] = {}
    for value, few in by_value.items():
        if len(few) >= MIN_LOOKUP:
            tables[value] = defaultdict(list)
            for piece in few:
                assert piece.looks_up is not None
                # Without its lookup, so that the function for this text runs the guard itself.
                tables[value][piece.looks_up[1]].append(piece._replace(looks_up=None))
    rest = [p for p in pieces if p.looks_up is None or p.looks_up[0] not in tables]
    return tables, rest


def _reads_of(value: str, pieces: list[GuardPiece]) -> dict[str, str]:
    wanted = set(re.findall(r"\bv\d+_\w+", value))
    return {name: code for piece in pieces for name, code in piece.reads.items() if name in wanted}


def _compile_function(reads: dict[str, str], body: list[str], names: dict[str, Any]) -> Holding:
    lines = ["l = s.slate"] if any("l." in code for code in reads.values()) else []
    lines += [f"{name} = {code}" for name, code in sorted(reads.items())]
    source = "\n".join(
        [
            "def holding(s, e, n):",
            "    held = 0",
            "    try:",
            *(f"        {line}" for line in (*lines, *body)),
            "        return held",
            "    except Exception:",
            "        return -1",
        ]
    )
    namespace = {**runtime_names(), **names}
    exec(compile_source(source, "<bucket>"), namespace)  # noqa: S102 - code that we generate, as for one expression
    return cast("Holding", namespace["holding"])
