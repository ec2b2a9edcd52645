"""Tree → checked tree: check names, calls and literals, and infer the type of every node.

A wrong name or number of arguments is an error. A certain type error is only a warning, because
the language defines what happens if a guard fails. Time may only be compared (CM-A25).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.limits import MAX_DEPTH, MAX_LOOPS, MAX_NODES
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
    children,
    dotted,
)
from bylaw.expr.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    TEXT,
    Type,
    binary_type,
    can_compare,
    describe_kinds,
    kind_type,
    optional,
    unary_type,
    union,
)
from bylaw.model.codes import expressions as codes
from bylaw.model.diagnostic import Diagnostic, Severity, error, warning
from bylaw.model.errors import LoadError, load_error
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bylaw.expr.types import Environment, Function, Parameter
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span

_TIME_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def check_call(checker: Checker, node: Call) -> Type:
    """Check a function call, and return its type."""
    function = checker.environment.functions.get(node.function)
    if function is None:
        _infer_all(checker, node)
        help_ = did_you_mean(node.function, checker.environment.functions)
        headline = f"`{node.function}` is not a function of this language"
        checker.error(codes.UNKNOWN_FUNCTION, headline, node.name_span, help_, "not defined")
        return ANY
    if function.reads_call and not checker.environment.has_call:
        headline = f"`{node.function}` reads a tool call, but this event never has one"
        checker.error(codes.NO_CALL_HERE, headline, node.span)
    _check_arguments(checker, node, node.function, function)
    return function.result


def check_method(checker: Checker, node: Method) -> Type:
    """Check a method call, and return its type."""
    owner = checker.infer(node.object)
    method = checker.environment.methods.get(node.name)
    if method is None:
        _infer_all(checker, node)
        help_ = did_you_mean(node.name, checker.environment.methods)
        headline = f"`{node.name}` is not a method of this language"
        checker.error(codes.UNKNOWN_METHOD, headline, node.name_span, help_)
        return ANY
    if owner.never(*method.owners):
        checker.warn(f"{describe_kinds(owner.kinds)} has no method `{node.name}`", node.span)
    _check_arguments(checker, node, node.name, method)
    return method.result


def _infer_all(checker: Checker, node: Call | Method) -> None:
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        checker.infer(argument)


def _check_arguments(checker: Checker, node: Call | Method, name: str, function: Function) -> None:
    by_position = [p for p in function.parameters if p.how != "keyword"]
    given = len(node.args)
    if function.many:
        by_position += [by_position[-1]] * (given - len(by_position))
    named = [_keyword_parameter(checker, keyword, name, function) for keyword in node.keywords]
    if not function.required <= given + _count_required(named) or given > len(by_position):
        headline = f"`{name}` does not take {given} argument{'' if given == 1 else 's'}"
        checker.error(codes.WRONG_ARGUMENTS, headline, node.span, _usage(name, function))
    for argument, parameter in zip(node.args, by_position, strict=False):
        _check_argument(checker, argument, parameter)
    for extra in node.args[len(by_position) :]:
        checker.infer(extra)
    _check_repeated(checker, node, by_position[:given], name, function)


def _count_required(parameters: list[Parameter | None]) -> int:
    return sum(1 for p in parameters if p is not None and p.required)


def _usage(name: str, function: Function) -> str:
    return f"write `{name}({', '.join(map(_parameter_text, function.parameters))})`"


def _parameter_text(parameter: Parameter) -> str:
    if parameter.how == "keyword":
        return f"{parameter.name}=…"
    return parameter.name if parameter.required else f"[{parameter.name}]"


def _keyword_parameter(
    checker: Checker, keyword: Keyword, name: str, function: Function
) -> Parameter | None:
    checker.types[id(keyword)] = ANY
    for parameter in function.parameters:
        if parameter.name == keyword.name and parameter.how != "position":
            _check_argument(checker, keyword.value, parameter)
            return parameter
    checker.infer(keyword.value)
    headline = f"unknown keyword argument `{keyword.name}`"
    checker.error(codes.WRONG_ARGUMENTS, headline, keyword.span, _usage(name, function))
    return None


def _check_repeated(
    checker: Checker,
    node: Call | Method,
    by_position: list[Parameter],
    name: str,
    function: Function,
) -> None:
    seen = {parameter.name for parameter in by_position}
    for keyword in node.keywords:
        if keyword.name in seen:
            headline = f"`{keyword.name}` is given twice"
            checker.error(codes.WRONG_ARGUMENTS, headline, keyword.span, _usage(name, function))
        seen.add(keyword.name)


def _check_argument(checker: Checker, argument: Node, parameter: Parameter) -> None:
    found = checker.infer(argument)
    if parameter.literal:
        _check_literal(checker, argument, parameter)
    elif parameter.kinds and found.never(*parameter.kinds):
        checker.warn(f"`{parameter.name}` must be {describe_kinds(parameter.kinds)}", argument.span)


def _check_literal(checker: Checker, argument: Node, parameter: Parameter) -> None:
    if not isinstance(argument, Const) or not isinstance(argument.value, str):
        known = f": one of {_quoted_list(parameter.choices)}" if parameter.choices else ""
        headline = f"`{parameter.name}` must be a text in quotes"
        help_ = f"write the text itself{known}"
        checker.error(codes.LITERAL_NEEDED, headline, argument.span, help_)
        return
    if parameter.choices and argument.value not in parameter.choices:
        headline = f"unknown {parameter.name} `{argument.value}`"
        help_ = f"use one of {_quoted_list(parameter.choices)}"
        checker.error(codes.UNKNOWN_CHOICE, headline, argument.span, help_)
    if parameter.problem is not None and (found := parameter.problem(argument.value)):
        checker.error(*found, argument.span)
    if parameter.names_rule:
        _check_rule_id(checker, argument.value, argument.span)


def _quoted_list(choices: tuple[str, ...]) -> str:
    return ", ".join(f'`"{choice}"`' for choice in choices)


def _check_rule_id(checker: Checker, rule_id: str, span: Span) -> None:
    ids = checker.environment.rule_ids
    if ids is not None and rule_id not in ids:
        headline = f"no rule of this file has the id `{rule_id}`"
        checker.error(codes.UNKNOWN_RULE, headline, span, did_you_mean(rule_id, ids))


def check_time(checker: Checker, nodes: Sequence[Node]) -> None:
    """Report time outside comparisons with numbers, `+` and `-` (CM-A25)."""
    times = [node for node in nodes if _reads_time(checker, node)]
    if not times:
        return
    allowed = {id(call) for node in nodes for call in _allowed_times(checker, node)}
    for node in times:
        if id(node) not in allowed:
            headline = "time may only be compared, with numbers, `+` and `-`"
            help_ = "for a cool-down: `since_ms('rule') >= 5000`"
            checker.error(codes.TIME_OUTSIDE_COMPARISON, headline, node.span, help_)


def _reads_time(checker: Checker, node: Node) -> bool:
    if not isinstance(node, Call):
        return False
    function = checker.environment.functions.get(node.function)
    return function is not None and function.reads_time


def _allowed_times(checker: Checker, node: Node) -> list[Node]:
    """Return the time calls that are allowed in this node, if it is a comparison."""
    if not isinstance(node, Compare) or not set(node.ops) <= _TIME_COMPARISONS:
        return []
    times: list[Node] = []
    for side in (node.first, *node.operands):
        parts = _summands(side)
        others = [part for part in parts if not _reads_time(checker, part)]
        if all(checker.types[id(part)].within("int", "float") for part in others):
            times.extend(part for part in parts if _reads_time(checker, part))
        elif all(checker.types[id(part)].never("int", "float") for part in parts):
            return []  # time is compared with something other than a number
    return times


def _summands(node: Node) -> list[Node]:
    if isinstance(node, Binary) and node.op in ("+", "-"):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]


_SPLIT_HELP = "split it into several rules"


class CheckedTree(Struct, frozen=True):
    """A tree that can be compiled: every name is known, and every node has a type."""

    source: SourceFile
    tree: Node
    environment: Environment
    types: dict[int, Type]  # by `id` of the node; the tree keeps its nodes alive
    warnings: list[Diagnostic]
    size: int  # in nodes

    def type_of(self, node: Node) -> Type:
        """Return the inferred type of a node."""
        return self.types[id(node)]


def check(source: SourceFile, tree: Node, environment: Environment) -> CheckedTree:
    """Check a tree; raise LoadError with all its errors."""
    nodes = _all_nodes(source, tree)
    checker = Checker(source, environment)
    checker.infer(tree)
    check_time(checker, nodes)
    errors = [d for d in checker.found if d.severity is Severity.ERROR]
    if errors:
        raise LoadError(errors)
    return CheckedTree(source, tree, environment, checker.types, checker.found, len(nodes))


def _all_nodes(source: SourceFile, tree: Node) -> list[Node]:
    """Return all nodes level by level; raise LoadError if the tree is too deep or too large."""
    nodes: list[Node] = []
    level = [tree]
    for _ in range(MAX_DEPTH):
        nodes += level
        level = [child for node in level for child in children(node)]
        if not level:
            break
    else:
        headline = f"nested more than {MAX_DEPTH:,} levels deep"
        raise load_error(
            codes.EXPRESSION_TOO_DEEP, headline, source, level[-1].span, help=_SPLIT_HELP
        )
    if len(nodes) > MAX_NODES:
        headline = f"the expression has more than {MAX_NODES:,} parts"
        raise load_error(codes.EXPRESSION_TOO_LONG, headline, source, tree.span, help=_SPLIT_HELP)
    return nodes


class Checker:
    """Infers types and collects findings in one walk over a tree."""

    def __init__(self, source: SourceFile, environment: Environment) -> None:
        self.source = source
        self.environment = environment
        self.types: dict[int, Type] = {}
        self.found: list[Diagnostic] = []
        self.scope: dict[str, Type] = {}
        self.loops = 0

    def infer(self, node: Node) -> Type:
        """Check a node and everything below it, and return its type."""
        handler: Callable[..., Type] = _HANDLERS[type(node)]
        found = handler(self, node)
        self.types[id(node)] = found
        return found

    def error(self, code: Code, headline: str, span: Span, help_: str = "", note: str = "") -> None:
        """Record an error."""
        self.found.append(error(code, headline, self.source, span, help=help_, note=note))

    def warn(self, headline: str, span: Span, help_: str = "") -> None:
        """Record a warning about an operation that fails whenever it is evaluated."""
        note = "this fails for every event"
        self.found.append(
            warning(codes.CERTAIN_TYPE_ERROR, headline, self.source, span, note=note, help=help_)
        )

    def join(self, nodes: Iterable[Node]) -> Type | None:
        joined: Type | None = None
        for node in nodes:
            found = self.infer(node)
            joined = found if joined is None else union(joined, found)
        return joined

    def const(self, node: Const) -> Type:
        return _CONST_TYPES[type(node.value)]

    def name(self, node: Name) -> Type:
        if node.id in self.scope:
            return self.scope[node.id]
        variable = self.environment.variables.get(node.id)
        if variable is not None:
            return variable.type
        self.unknown_name(node)
        return ANY

    def unknown_name(self, node: Name) -> None:
        below = self.environment.starts(node.id)
        if below:
            known = ", ".join(f"`{name}`" for name in below)
            headline = f"`{node.id}` is not a value by itself"
            self.error(codes.UNKNOWN_NAME, headline, node.span, f"read one of {known}")
            return
        if node.id in self.environment.functions:
            headline = f"`{node.id}` is a function"
            self.error(codes.UNKNOWN_NAME, headline, node.span, f"call it: `{node.id}(…)`")
            return
        known_names = {name.split(".")[0] for name in self.environment.variables}
        help_ = self.environment.spellings.get(node.id) or did_you_mean(
            node.id, {*known_names, *self.scope}
        )
        self.error(codes.UNKNOWN_NAME, f"`{node.id}` is not a known name", node.span, help_)

    def attribute(self, node: Attribute) -> Type:
        path = dotted(node)
        if path is not None and path.split(".")[0] not in self.scope:
            variable = self.environment.variables.get(path)
            if variable is not None:
                return variable.type
            root = path.split(".")[0]
            if root not in self.environment.variables and self.environment.starts(root):
                self.unknown_dotted(node, path)
                return ANY
        owner = self.infer(node.object)
        return self.field(owner, node.name, node.name_span, node)

    def unknown_dotted(self, node: Attribute, path: str) -> None:
        known = self.environment.starts(path.split(".", maxsplit=1)[0])
        help_ = did_you_mean(path, known)
        self.error(codes.UNKNOWN_ATTRIBUTE, f"unknown attribute `{path}`", node.span, help_)

    def field(self, owner: Type, name: str, span: Span, node: Node) -> Type:
        """Return the type of a named part of a map."""
        if owner.never("map"):
            self.warn(f"{describe_kinds(owner.kinds)} has no `{name}`", node.span)
            return ANY
        if owner.fields is not None:
            if name in owner.fields:
                return owner.fields[name]
            help_ = did_you_mean(name, owner.fields)
            self.error(codes.UNKNOWN_ATTRIBUTE, f"unknown attribute `{name}`", span, help_)
            return ANY
        if name in self.environment.methods and isinstance(node, Attribute):
            self.key_like_method(name, span)
        inside = owner.item or ANY
        return optional(inside) if owner.missing_is_null else inside

    def key_like_method(self, name: str, span: Span) -> None:
        self.found.append(
            warning(
                codes.KEY_LIKE_METHOD,
                f"`{name}` is read as a key here",
                self.source,
                span,
                help=f"write `.{name}()` for the method, or `['{name}']` for the key",
            )
        )

    def index(self, node: Index) -> Type:
        owner, key = self.infer(node.object), self.infer(node.key)
        if owner.never("map", "list", "tuple", "str"):
            self.warn(f"{describe_kinds(owner.kinds)} cannot be indexed", node.span)
            return ANY
        if isinstance(node.key, Const) and isinstance(node.key.value, str):
            if owner.fields is not None:
                return self.field(owner, node.key.value, node.key.span, node)
            if owner.never("map"):
                self.warn("an index must be a whole number", node.span)
        if owner.within("str"):
            return TEXT
        # In a union of kinds, `item` describes only one kind; the others are unknown.
        inside = owner.item if owner.within("list", "tuple") and key.within("int") else None
        return inside or ANY

    def slice(self, node: Slice) -> Type:
        owner = self.infer(node.object)
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                self.infer(bound)
        kinds = owner.kinds & {"str", "list", "tuple"}
        if not kinds:
            self.warn("only a text or list can be sliced", node.span)
        return Type(kinds or ANY.kinds, owner.item)

    def call(self, node: Call) -> Type:
        return check_call(self, node)

    def method(self, node: Method) -> Type:
        return check_method(self, node)

    def unary(self, node: Unary) -> Type:
        operand = self.infer(node.operand)
        found = unary_type(node.op, operand, strict=self.environment.strict)
        if found is None:
            needed = "a boolean" if node.op == "not" else "a number"
            self.warn(f"`{node.op}` needs {needed}", node.span)
            return ANY
        return found

    def binary(self, node: Binary) -> Type:
        left, right = self.infer(node.left), self.infer(node.right)
        found = binary_type(node.op, left, right, strict=self.environment.strict)
        if found is None:
            self.warn(f"`{node.op}` is not defined for these values", node.span)
            return ANY
        return found

    def compare(self, node: Compare) -> Type:
        sides = [node.first, *node.operands]
        types = [self.infer(side) for side in sides]
        for place, op in enumerate(node.ops):
            if not can_compare(op, types[place], types[place + 1], strict=self.environment.strict):
                span = sides[place].span.to(sides[place + 1].span)
                self.warn(f"`{op}` is not defined for these values", span)
        return BOOL

    def logic(self, node: Logic) -> Type:
        types = [self.infer(operand) for operand in node.operands]
        if not self.environment.strict:
            joined = types[0]
            for found in types[1:]:
                joined = union(joined, found)
            return joined
        for operand, found in zip(node.operands, types, strict=True):
            if found.never("bool"):
                self.warn(f"`{node.op}` needs booleans", operand.span, "compare it first")
        return BOOL

    def choice(self, node: Choice) -> Type:
        self.infer(node.test)
        return union(self.infer(node.then), self.infer(node.otherwise))

    def items(self, node: Items) -> Type:
        return Type(frozenset({node.kind}), self.join(node.items))

    def pairs(self, node: Pairs) -> Type:
        self.join(node.keys)
        return Type(frozenset({"map"}), self.join(node.values))

    def text(self, node: Text) -> Type:
        self.join(node.parts)
        return TEXT

    def comprehension(self, node: Comprehension) -> Type:
        outer = self.scope
        self.scope = dict(outer)
        self.loops += len(node.clauses)
        if self.loops > MAX_LOOPS:
            headline = f"more than {MAX_LOOPS:,} loops inside each other"
            self.error(codes.EXPRESSION_TOO_DEEP, headline, node.span, _SPLIT_HELP)
        for clause in node.clauses:
            self.clause(clause)
        element = self.infer(node.element)
        value = element if node.value is None else self.infer(node.value)
        self.scope = outer
        self.loops -= len(node.clauses)
        return Type(frozenset({node.kind}), value)

    def clause(self, node: Clause) -> Type:
        iterable = self.infer(node.iterable)
        if iterable.never("list", "tuple", "set", "map", "str"):
            self.warn("this has no elements", node.iterable.span)
        for name in node.names:
            self.scope[name] = ANY if node.unpacks else _element_type(iterable)
        for condition in node.conditions:
            self.infer(condition)
        self.types[id(node)] = ANY
        return ANY


def _element_type(iterable: Type) -> Type:
    if iterable.within("str"):
        return TEXT
    # A loop over a map gives its keys, so `item` is used only for lists, tuples and sets.
    return (iterable.item or ANY) if iterable.within("list", "tuple", "set") else ANY


_CONST_TYPES = {
    type(None): kind_type("null"),
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: TEXT,
}
_HANDLERS: dict[type[Node], Callable[..., Type]] = {
    Const: Checker.const,
    Name: Checker.name,
    Attribute: Checker.attribute,
    Index: Checker.index,
    Slice: Checker.slice,
    Call: Checker.call,
    Method: Checker.method,
    Unary: Checker.unary,
    Binary: Checker.binary,
    Compare: Checker.compare,
    Logic: Checker.logic,
    Choice: Checker.choice,
    Items: Checker.items,
    Pairs: Checker.pairs,
    Text: Checker.text,
    Comprehension: Checker.comprehension,
}
