"""Check calls against their declarations: arguments, keywords, literals, and the use of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.expr.tree import Binary, Call, Compare, Const, Keyword, Method, Node
from bylaw.expr.types import ANY, Type, in_words
from bylaw.model.codes import expressions as codes
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.expr.check import Checker
    from bylaw.expr.environment import Function, Parameter
    from bylaw.model.source import Span

_TIME_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def call_type(checker: Checker, node: Call) -> Type:
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


def method_type(checker: Checker, node: Method) -> Type:
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
        checker.doubt(f"{in_words(owner.kinds)} has no method `{node.name}`", node.span)
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
    named = [_named(checker, keyword, name, function) for keyword in node.keywords]
    if not function.required <= given + _required(named) or given > len(by_position):
        headline = f"`{name}` does not take {given} argument{'' if given == 1 else 's'}"
        checker.error(codes.WRONG_ARGUMENTS, headline, node.span, _usage(name, function))
    for argument, parameter in zip(node.args, by_position, strict=False):
        _check_argument(checker, argument, parameter)
    for extra in node.args[len(by_position) :]:
        checker.infer(extra)
    _check_twice(checker, node, by_position[:given], name, function)


def _required(parameters: list[Parameter | None]) -> int:
    return sum(1 for p in parameters if p is not None and p.required)


def _usage(name: str, function: Function) -> str:
    return f"write `{name}({', '.join(map(_shown, function.parameters))})`"


def _shown(parameter: Parameter) -> str:
    if parameter.how == "keyword":
        return f"{parameter.name}=…"
    return parameter.name if parameter.required else f"[{parameter.name}]"


def _named(checker: Checker, keyword: Keyword, name: str, function: Function) -> Parameter | None:
    checker.types[id(keyword)] = ANY
    for parameter in function.parameters:
        if parameter.name == keyword.name and parameter.how != "position":
            _check_argument(checker, keyword.value, parameter)
            return parameter
    checker.infer(keyword.value)
    headline = f"unknown keyword argument `{keyword.name}`"
    checker.error(codes.WRONG_ARGUMENTS, headline, keyword.span, _usage(name, function))
    return None


def _check_twice(
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
        checker.doubt(f"`{parameter.name}` must be {in_words(parameter.kinds)}", argument.span)


def _check_literal(checker: Checker, argument: Node, parameter: Parameter) -> None:
    if not isinstance(argument, Const) or not isinstance(argument.value, str):
        known = f": one of {_listed(parameter.choices)}" if parameter.choices else ""
        headline = f"`{parameter.name}` must be a text in quotes"
        help_ = f"write the text itself{known}"
        checker.error(codes.LITERAL_NEEDED, headline, argument.span, help_)
        return
    if parameter.choices and argument.value not in parameter.choices:
        headline = f"unknown {parameter.name} `{argument.value}`"
        help_ = f"use one of {_listed(parameter.choices)}"
        checker.error(codes.UNKNOWN_CHOICE, headline, argument.span, help_)
    if parameter.problem is not None and (found := parameter.problem(argument.value)):
        checker.error(*found, argument.span)
    if parameter.names_rule:
        _check_rule_id(checker, argument.value, argument.span)


def _listed(choices: tuple[str, ...]) -> str:
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
    allowed = {id(call) for node in nodes for call in _compared_times(checker, node)}
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


def _compared_times(checker: Checker, node: Node) -> list[Node]:
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
