"""Jinja's sandbox with more restrictions: plain values, few filters, and limits for all growth.

A template cannot reach any attribute of a Python object: a dot and a subscript read only lists,
texts and mappings. A template cannot call anything. Filters and operators charge the budget of the
rendering.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import TemplateSyntaxError, nodes, pass_context
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bylaw.expr.template.filters import (
    FILTERS,
    TESTS,
    Filter,
    MissingValue,
    charge,
    charge_compared,
    charge_needle,
    fail,
    item,
    item_or_null,
    join_values,
    loop_items,
    operate,
    require_plain,
    slice_value,
    text_of,
)
from bylaw.model.codes import templates as codes

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2.runtime import Context

# Names that no template can write: the budget among the values, and our own filters.
BUDGET = " budget"
JOIN = "~"
CHARGE_OPERAND = "of a comparison"
CHARGE_SEARCHED = "sought in"
SLICE = "[:]"
CHARGE_LOOP = "for each"
OR_NULL = "or null"

LOOP_ATTRIBUTES = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of all templates; the line number of a token is its character offset."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=MissingValue,
            autoescape=False,
            keep_trailing_newline=True,
            finalize=_print_value,
            optimized=False,
        )
        self.globals.clear()
        self.filters = {
            **{name: _filter_with_budget(each) for name, each in FILTERS.items()},
            JOIN: _filter_with_budget(Filter(join_values, prints=True)),
            SLICE: _filter_with_budget(Filter(slice_value, prints=True)),
            OR_NULL: _filter_with_budget(Filter(item_or_null)),
            CHARGE_OPERAND: _charge_operand,
            CHARGE_SEARCHED: _charge_searched,
            CHARGE_LOOP: _charge_loop,
        }
        self.tests = {name: _test_with_budget(test) for name, test in TESTS.items()}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a key of a mapping, or an attribute of `loop`."""
        if isinstance(obj, LoopContext) and attribute in LOOP_ATTRIBUTES:
            return getattr(obj, attribute)
        if attribute.startswith("_"):
            fail(codes.RENDER_PRIVATE, f"`{attribute}` begins with an underscore")
        return item(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a key of a mapping or an element of a list or text; never an attribute."""
        return item(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Run arithmetic, and `+` and `*` of texts and lists, within the limits."""
        return operate(context.parent[BUDGET], operator, left, right)

    def handle_exception(self, source: str | None = None) -> NoReturn:  # noqa: ARG002 - Jinja's name
        """Keep the traceback unchanged: `Template` reads the place from it."""
        problem = sys.exc_info()[1]
        assert problem is not None, "called while an exception is handled"
        raise problem

    def _tokenize(
        self,
        source: str,
        name: str | None,
        filename: str | None = None,
        state: str | None = None,  # noqa: ARG002 - Jinja's signature
    ) -> TokenStream:
        # Jinja passes the line of a token to nodes, errors and compiled code. Here the "line" is
        # the offset of its first character, so that all of these have their exact place.
        return TokenStream(LEXER.wrap(tokenize(source)), name, filename)


# Each template is tokenized twice: by the check and by the parser.
@lru_cache(maxsize=1)
def tokenize(source: str) -> tuple[tuple[int, str, str], ...]:
    """Return all tokens but blanks, with the offset of each; lexer errors get an offset as well."""
    at, found = 0, []
    try:
        for _, kind, value in LEXER.tokeniter(source, None):
            start = source.index(value, at)  # only blanks were stripped between tokens
            at = start + len(value)
            if kind != "whitespace":
                found.append((start, kind, value))
    except TemplateSyntaxError as problem:
        problem.lineno = at
        raise
    return tuple(found)


def _filter_with_budget(filter_: Filter) -> Callable[..., Any]:
    @pass_context
    def run(context: Context, value: Any, *args: Any, **named: Any) -> Any:
        budget = context.parent[BUDGET]
        charge(budget, value)
        if not filter_.takes_missing:
            require_plain(value)
        for each in (*args, *named.values()):
            require_plain(each)
            charge_needle(budget, each)
        return filter_.apply(budget, value, *args, **named)

    return run


def _test_with_budget(test: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def run(context: Context, *values: Any, **named: Any) -> Any:
        for value in (*values, *named.values()):
            charge_compared(context.parent[BUDGET], value)
        return test(*values, **named)

    return run


@pass_context
def _print_value(context: Context, value: Any) -> str:
    return text_of(context.parent[BUDGET], value)


@pass_context
def _charge_operand(context: Context, value: Any) -> Any:
    require_plain(value)
    charge_compared(context.parent[BUDGET], value)
    return value


@pass_context
def _charge_searched(context: Context, value: Any) -> Any:
    charge_needle(context.parent[BUDGET], value)
    return _charge_operand(context, value)


@pass_context
def _charge_loop(context: Context, value: Any, cost: int) -> Any:
    return loop_items(context.parent[BUDGET], value, cost)


SANDBOX = Sandbox()
LEXER = SANDBOX.lexer  # kept, because each access looks it up by all settings


def parse_tree(text: str) -> nodes.Template:
    """Parse a template; rewrite its tree with `rewrite_tree` before you compile it.

    Until then its nodes have no environment, because setting it takes as long as a check.
    """
    return nodes.Template(Parser(SANDBOX, text).subparse(), lineno=1)
