"""Tree → text in either grammar, with as few parentheses as possible.

Parsing the printed text gives the same tree again. A construct that a grammar does not have is
printed as in Python; the guard grammar then rejects it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.expr.tree import (
    Attribute,
    Binary,
    Call,
    Choice,
    Clause,
    Compare,
    Comprehension,
    Const,
    Index,
    Items,
    Keyword,
    Logic,
    Method,
    Name,
    Node,
    Pairs,
    Slice,
    Text,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# From loosest to tightest, the same in both grammars.
_CHOICE, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _POSTFIX = range(10)
_BINARY = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT}

_GUARD_ESCAPES = {
    **{code: f"\\u{code:04x}" for code in range(ord(" "))},
    **str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}),
}


def print_guard(tree: Node) -> str:
    """Return the tree in the syntax of ChatMD guards."""
    return _Printer(_guard_constant).node(tree)


def print_condition(tree: Node) -> str:
    """Return the tree in the syntax of TOML conditions."""
    return _Printer(_condition_constant).node(tree)


def _guard_constant(node: Const) -> str:
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    if isinstance(node.value, str):
        return f'"{node.value.translate(_GUARD_ESCAPES)}"'
    return repr(node.value)


def _condition_constant(node: Const) -> str:
    return repr(node.value)


class _Printer:
    def __init__(self, constant: Callable[[Const], str]) -> None:
        self.constant = constant

    def node(self, node: Node, needed: int = _CHOICE) -> str:
        """Return the text of a node, in parentheses if it binds looser than its place needs."""
        power, text = self.parts(node)
        return text if power >= needed else f"({text})"

    def parts(self, node: Node) -> tuple[int, str]:
        match node:
            case Const():
                # `1.x` is not an attribute of a number in Python, so print `(1).x`.
                return (_SIGN if isinstance(node.value, int | float) else _POSTFIX), self.constant(
                    node
                )
            case Name(id=name):
                return _POSTFIX, name
            case Attribute() | Index() | Slice() | Call() | Method():
                return _POSTFIX, self.postfix(node)
            case Unary() | Binary() | Compare() | Logic() | Choice():
                return self.operation(node)
            case _:
                return _POSTFIX, self.collection(node)

    def operation(self, node: Node) -> tuple[int, str]:
        match node:
            case Unary(op="not", operand=operand):
                return _NOT, f"not {self.node(operand, _NOT)}"
            case Unary(op=op, operand=operand):
                return _SIGN, f"{op}{self.node(operand, _SIGN)}"
            case Binary(op="**", left=left, right=right):
                return _POWER, f"{self.node(left, _POSTFIX)} ** {self.node(right, _SIGN)}"
            case Binary(op=op, left=left, right=right):
                power = _BINARY[op]
                return power, f"{self.node(left, power)} {op} {self.node(right, power + 1)}"
            case Compare(first=first, ops=ops, operands=operands):
                rest = (f" {o} {self.node(n, _SUM)}" for o, n in zip(ops, operands, strict=True))
                return _COMPARE, self.node(first, _SUM) + "".join(rest)
            case Logic(op=op, operands=operands):
                power = _AND if op == "and" else _OR
                return power, f" {op} ".join(self.node(n, power + 1) for n in operands)
            case Choice(test=test, then=then, otherwise=otherwise):
                text = f"{self.node(then, _OR)} if {self.node(test, _OR)} else "
                return _CHOICE, text + self.node(otherwise)
        raise AssertionError(node)

    def postfix(self, node: Node) -> str:
        match node:
            case Attribute(object=owner, name=name):
                return f"{self.node(owner, _POSTFIX)}.{name}"
            case Index(object=owner, key=key):
                return f"{self.node(owner, _POSTFIX)}[{self.node(key)}]"
            case Slice(object=owner, lower=lower, upper=upper, step=step):
                bounds = ":".join("" if b is None else self.node(b) for b in (lower, upper, step))
                return f"{self.node(owner, _POSTFIX)}[{bounds}]"
            case Call(function=name, args=args, keywords=keywords):
                return f"{name}({self.arguments(args, keywords)})"
            case Method(object=owner, name=name, args=args, keywords=keywords):
                return f"{self.node(owner, _POSTFIX)}.{name}({self.arguments(args, keywords)})"
        raise AssertionError(node)

    def arguments(self, args: tuple[Node, ...], keywords: tuple[Keyword, ...]) -> str:
        named = (f"{keyword.name}={self.node(keyword.value)}" for keyword in keywords)
        return ", ".join([*map(self.node, args), *named])

    def collection(self, node: Node) -> str:
        match node:
            case Items(kind="list", items=items):
                return f"[{', '.join(map(self.node, items))}]"
            case Items(kind="set", items=items):
                return f"{{{', '.join(map(self.node, items))}}}"
            case Items(items=items):
                return f"({', '.join(map(self.node, items))}{',' if len(items) == 1 else ''})"
            case Pairs(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return f"{{{', '.join(f'{self.node(k)}: {self.node(v)}' for k, v in pairs)}}}"
            case Text():
                return self.text(node)
            case Comprehension():
                return self.comprehension(node)
        raise AssertionError(node)

    def text(self, node: Text) -> str:
        pieces = []
        for part in node.parts:
            if isinstance(part, Const) and isinstance(part.value, str):
                pieces.append(_quoted_for_fstring(part.value))
            else:
                pieces.append(f"{{{self.node(part)}}}")
        return f'f"""{"".join(pieces)}"""'

    def comprehension(self, node: Comprehension) -> str:
        element = self.node(node.element)
        if node.value is not None:
            element += f": {self.node(node.value)}"
        inside = element + "".join(map(self.clause, node.clauses))
        return f"[{inside}]" if node.kind == "list" else f"{{{inside}}}"

    def clause(self, clause: Clause) -> str:
        names = ", ".join(clause.names) + ("," if clause.unpacks and len(clause.names) == 1 else "")
        tests = "".join(f" if {self.node(test, _OR)}" for test in clause.conditions)
        return f" for {names} in {self.node(clause.iterable, _OR)}{tests}"


def _quoted_for_fstring(text: str) -> str:
    escaped = "".join(
        char if char.isprintable() and char not in '\\"' else f"\\U{ord(char):08x}" for char in text
    )
    return escaped.replace("{", "{{").replace("}", "}}")
