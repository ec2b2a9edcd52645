"""The text of a template → a function from plain values to text. Jinja2, hardened.

Only this package imports Jinja, which is slow: import this package only if there is a template.

Before a template is compiled, operations with limits replace those of Jinja, and a missing value
can become null.
"""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from jinja2 import TemplateSyntaxError, UndefinedError, nodes
from jinja2.visitor import NodeTransformer
from msgspec import Struct

from bylaw.expr.limits import (
    MAX_INT_BITS,
    MAX_OUTPUT_CHARS,
    Budget,
    Fault,
    OverBudget,
    arithmetic_message,
)
from bylaw.expr.template.check import (
    MISSING_TESTS,
    Checker,
    Path,
    Shape,
    TemplateText,
    children,
    find_too_deep,
    path_of,
)
from bylaw.expr.template.filters import FILTERS
from bylaw.expr.template.sandbox import (
    BUDGET,
    CHARGE_LOOP,
    CHARGE_OPERAND,
    CHARGE_SEARCHED,
    JOIN,
    OR_NULL,
    SANDBOX,
    SLICE,
    parse_tree,
    tokenize,
)
from bylaw.model.codes import expressions as guard_codes
from bylaw.model.codes import templates as codes
from bylaw.model.diagnostic import Diagnostic, error, sort_diagnostics
from bylaw.model.display import MAX_BRIEF, brief
from bylaw.model.errors import LoadError, RenderError
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from types import TracebackType

    from jinja2 import Template as CompiledTemplate

    from bylaw.model.codes import Code


class _Rewriter(NodeTransformer):
    """Wraps operations in our filters, where Jinja has no limit or reports a missing value."""

    def __init__(self, null_below: Collection[Path]) -> None:
        self.null_below = null_below

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:  # noqa: N802 - Jinja's name
        return self._or_null(node)

    def _or_null(self, node: nodes.Getattr | nodes.Getitem) -> nodes.Node:
        may_miss = path_of(node.node) in self.null_below
        self.generic_visit(node)
        if not may_miss or (isinstance(node, nodes.Getattr) and node.attr.startswith("_")):
            return node
        key = nodes.Const(node.attr) if isinstance(node, nodes.Getattr) else node.arg
        return _wrap_in_filter(node.node, OR_NULL, key)

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:  # noqa: N802 - Jinja's name
        return self._keep_missing(node, asks=FILTERS[node.name].takes_missing)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802 - Jinja's name
        return self._keep_missing(node, asks=node.name in MISSING_TESTS)

    def _keep_missing(self, node: nodes.Filter | nodes.Test, *, asks: bool) -> nodes.Node:
        """Keep a value missing for a test or filter that checks for it; for others it is null."""
        operand = node.node
        self.generic_visit(node)
        if asks and isinstance(node.node, nodes.Filter) and node.node.name == OR_NULL:
            node.node = operand
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        return _wrap_in_filter(nodes.List(node.nodes, lineno=node.lineno), JOIN)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - Jinja's name
        if not isinstance(node.arg, nodes.Slice):
            return self._or_null(node)
        self.generic_visit(node)
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        args = [bound or nodes.Const(None, lineno=node.lineno) for bound in bounds]
        return _wrap_in_filter(node.node, SLICE, *args)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - Jinja's name
        every_round = [*node.body, *([node.test] if node.test else [])]
        cost = 1 + sum(1 + sum(1 for _ in part.find_all(nodes.Node)) for part in every_round)
        self.generic_visit(node)
        assert isinstance(node.iter, nodes.Expr), "the checker requires a path"
        node.iter = _wrap_in_filter(node.iter, CHARGE_LOOP, nodes.Const(cost, lineno=node.lineno))
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802 - Jinja's name
        self.generic_visit(node)
        is_search = any(operand.op in ("in", "notin") for operand in node.ops)
        node.expr = _wrap_in_filter(node.expr, CHARGE_SEARCHED if is_search else CHARGE_OPERAND)
        for operand in node.ops:
            operand.expr = _wrap_in_filter(operand.expr, CHARGE_OPERAND)
        return node


def _wrap_in_filter(node: nodes.Expr, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


def rewrite_tree(tree: nodes.Template, null_below: Collection[Path]) -> nodes.Template:
    """Replace every operation without a limit by one with a limit, and return the template.

    A missing key directly below one of the paths `null_below` reads as null.
    """
    _Rewriter(null_below).visit(tree)
    tree.set_environment(SANDBOX)
    return tree


MAX_TEMPLATE_CHARS = 20_000
MAX_BRACKETS = 20
MAX_DIAGNOSTICS = 100
MAX_NUMBER_CHARS = 1_234  # enough for the longest number of MAX_INT_BITS
_TOO_DEEP = "this is nested too deeply for a template"
_MAX_PATHS_SHOWN = 5

_QUOTED = re.compile(r"'([^'`]*)'")
# Half a character (a lone surrogate), such as `\ud83d`, cannot be encoded.
_ESCAPE = re.compile(
    r"""\\(?:(?P<half>(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2})|[\n\\'"abfnrtvxuUN]"""
    r"""|[0-3][0-7]{2}|[0-7]{1,2}(?![0-7])|(?P<unknown>.))""",
    re.DOTALL,
)
_HALF = ("a character", "write the character itself")
_UNKNOWN = ("an escape", "write two backslashes for one")
_PATH_NODES = (nodes.Name, nodes.Getattr, nodes.Getitem)
# Operators that are shared with conditions fail with codes of guards.
_CODES = {
    guard_codes.GUARD_TYPE.name: codes.RENDER_TYPE,
    guard_codes.GUARD_ARITHMETIC.name: codes.RENDER_ARITHMETIC,
    guard_codes.GUARD_TOO_LARGE.name: codes.RENDER_TOO_LARGE,
}


class TemplateNames(Struct, frozen=True):
    """The names that a template may use, each with its known keys; None allows any key.

    A missing key directly below one of the paths `null_below` reads as null.
    """

    shapes: Mapping[str, Shape]
    null_below: frozenset[Path] = frozenset()


class Template(Struct, frozen=True, dict=True):
    """A loaded template; it is compiled when it is first rendered, because many never are."""

    warnings: tuple[Diagnostic, ...]
    _text: TemplateText
    _tree: nodes.Template
    _null_below: frozenset[Path]

    def render(self, values: Mapping[str, object], budget: Budget | None = None) -> str:
        """Render the template with plain values; the result is never parsed as a template.

        Templates that are rendered together share a budget.
        """
        compiled = self._compiled
        try:
            return _join_pieces(compiled.generate({**values, BUDGET: budget or Budget(0)}))
        except Exception as problem:  # noqa: BLE001 - any error of Jinja is an action error
            raise self._failure(problem, values) from None

    @cached_property
    def reads(self) -> frozenset[Path]:
        """The paths that it reads, each up to its last constant key."""
        return frozenset(_paths_read(self._tree))

    @cached_property
    def _compiled(self) -> CompiledTemplate:
        try:
            return SANDBOX.from_string(rewrite_tree(deepcopy(self._tree), self._null_below))
        except (TemplateSyntaxError, RecursionError, MemoryError, SyntaxError):
            raise RenderError(codes.RENDER_TOO_LARGE.name, _TOO_DEEP) from None

    @cached_property
    def _paths(self) -> tuple[tuple[int, Path], ...]:
        found = ((node.lineno, path_of(node)) for node in self._tree.find_all(_PATH_NODES))
        return tuple((at, path) for at, path in found if path)

    def _failure(self, problem: Exception, values: Mapping[str, object]) -> RenderError:
        code, reason = _reason(problem)
        offset = _offset_of(problem.__traceback__, self._compiled)
        if offset is None:
            return RenderError(code, reason)
        span = self._text.tag_span(offset)
        part = brief(self._text.source.slice(span))
        shown = ", ".join(self._values_at(span, values))
        return RenderError(code, f"`{part}`: {reason}" + (f" (with {shown})" if shown else ""))

    def _values_at(self, span: Span, values: Mapping[str, object]) -> Iterator[str]:
        placed = ((self._text.token_span(at), path) for at, path in self._paths)
        here = dict.fromkeys(path for at, path in placed if span.start <= at.start < span.end)
        whole = (path for path in here if not any(_is_longer_path(other, path) for other in here))
        for path in islice(whole, _MAX_PATHS_SHOWN):
            found = _look_up(values, path)
            if found is not None:
                yield f"`{'.'.join(map(str, path))}` = {found}"


def _join_pieces(pieces: Iterator[str]) -> str:
    found: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_OUTPUT_CHARS:
            reason = f"the text would have more than {MAX_OUTPUT_CHARS:,} characters"
            raise RenderError(codes.RENDER_TOO_LARGE.name, reason)
        found.append(piece)
    return "".join(found)


def load_template(source: SourceFile, span: Span, names: TemplateNames) -> Template:
    """Parse and check the template at a span of a source, or raise LoadError."""
    text = TemplateText(source, span)
    tree = _parse(text)
    checker = Checker(text, names.shapes)
    checker.check(tree)
    if checker.errors:
        raise LoadError(sort_diagnostics(checker.errors)[:MAX_DIAGNOSTICS])
    return Template(tuple(sort_diagnostics(checker.warnings)), text, tree, names.null_below)


def _paths_read(node: nodes.Node) -> Iterator[Path]:
    path = path_of(node) if isinstance(node, _PATH_NODES) else None
    if path:
        yield path
        return
    for child in children(node):
        yield from _paths_read(child)


def _parse(text: TemplateText) -> nodes.Template:
    size = text.span.end - text.span.start
    if size > MAX_TEMPLATE_CHARS:
        headline = f"{size:,} characters are too many for a template"
        line = text.source.slice(text.span).partition("\n")[0][:MAX_BRIEF]
        shown = Span(text.span.start, text.span.start + len(line))
        help_ = f"write at most {MAX_TEMPLATE_CHARS:,}"
        raise LoadError([error(codes.TEMPLATE_TOO_LONG, headline, text.source, shown, help=help_)])
    try:
        _check_tokens(text)
        tree = parse_tree(text.text)
    except TemplateSyntaxError as problem:
        raise _syntax_error(text, problem) from None
    except RecursionError:
        raise _token_error(text, codes.TEMPLATE_TOO_DEEP, _TOO_DEEP, 0) from None
    if (deep := find_too_deep(tree, len(tokenize(text.text)))) is not None:
        raise _token_error(text, codes.TEMPLATE_TOO_DEEP, _TOO_DEEP, deep)
    return tree


def _check_tokens(text: TemplateText) -> None:
    """Reject tokens that Jinja's parser or Python cannot handle."""
    depth = 0
    for start, kind, value in tokenize(text.text):
        if kind == "operator":
            depth += (value in "([{") - (value in ")]}")
            if depth > MAX_BRACKETS:
                raise _token_error(text, codes.TEMPLATE_TOO_DEEP, _TOO_DEEP, start)
        elif kind == "integer" and len(value) > MAX_NUMBER_CHARS:
            headline = "this number is too large"
            raise _token_error(text, codes.TEMPLATE_NUMBER, headline, start, "write a smaller one")
        elif kind == "string":
            _check_escapes(text, start, value)


def _check_escapes(text: TemplateText, start: int, literal: str) -> None:
    """Reject half characters, and unknown escapes, about which Python only warns."""
    for escape in _ESCAPE.finditer(literal):
        if escape["unknown"] or escape["half"]:
            span = text.in_file(start + escape.start(), start + escape.end())
            what, help_ = _HALF if escape["half"] else _UNKNOWN
            headline = f"`{escape[0]}` is not {what}"
            finding = error(codes.TEMPLATE_SYNTAX, headline, text.source, span, help=help_)
            raise LoadError([finding])


def _token_error(
    text: TemplateText, code: Code, headline: str, offset: int, help_: str = "make it simpler"
) -> LoadError:
    return LoadError([error(code, headline, text.source, text.token_span(offset), help=help_)])


def _syntax_error(text: TemplateText, problem: TemplateSyntaxError) -> LoadError:
    message = _QUOTED.sub(r"`\1`", problem.message or "not a template")
    headline = re.sub(r" at \d+$", "", message.partition(". ")[0].rstrip("."))
    headline = headline[:1].lower() + headline[1:]
    span = _error_span(text, problem.lineno, to_the_end="end of template" in headline)
    help_ = _syntax_help(message)
    return LoadError([error(codes.TEMPLATE_SYNTAX, headline, text.source, span, help=help_)])


def _syntax_help(message: str) -> str:
    if opened := re.search(r"needs to be closed is `(\w+)`", message):
        return f"close it with `{{% end{opened[1]} %}}`"
    if "unknown tag" in message:
        return "the tags are `if`, `elif`, `else`, `endif`, `for`, `endfor`"
    return "fix it here; `{% raw %}` … `{% endraw %}` keeps braces as text"


def _error_span(text: TemplateText, offset: int, *, to_the_end: bool) -> Span:
    try:
        return text.tag_span(offset) if to_the_end else text.token_span(offset)
    except TemplateSyntaxError:  # the tokens are not complete
        line_end = text.text.find("\n", offset)
        return text.in_file(offset, len(text.text) if line_end < 0 else line_end)


def _reason(problem: Exception) -> tuple[str, str]:
    match problem:
        case RenderError():
            return problem.code, problem.message
        case UndefinedError():
            return codes.RENDER_UNDEFINED.name, _QUOTED.sub(r"`\1`", str(problem.message))
        case OverBudget():
            return codes.RENDER_BUDGET.name, "this takes too many steps"
        case Fault():
            return _CODES[problem.code.name].name, problem.problem
        case ArithmeticError():
            return codes.RENDER_ARITHMETIC.name, arithmetic_message(problem)
        case RecursionError() | MemoryError():
            return codes.RENDER_TOO_LARGE.name, "a value is too large or too deep"
    return codes.RENDER_TYPE.name, "this operation does not support these values"


def _offset_of(traceback: TracebackType | None, compiled: CompiledTemplate) -> int | None:
    """Return the offset in the template of its innermost frame."""
    found = None
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__jinja_template__") is compiled:
            found = compiled.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _is_longer_path(longer: Path, path: Path) -> bool:
    return len(longer) > len(path) and longer[: len(path)] == path


def _look_up(values: object, path: Path) -> str | None:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return _describe(values)


def _describe(value: object) -> str:
    match value:
        case str():
            return repr(brief(value))
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            return f"a mapping of {len(value)}"
        case int() if value.bit_length() > MAX_INT_BITS:
            return "a huge number"
    return str(value)
