"""The text of a template → a function from plain values to text. Jinja2, hardened.

Only this package imports Jinja, which is slow: import this package only if there is a template.
"""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from jinja2 import TemplateSyntaxError, UndefinedError, nodes
from msgspec import Struct

from bylaw.expr.arithmetic import reason_of
from bylaw.expr.faults import Fault
from bylaw.expr.limits import MAX_INT_BITS, MAX_OUTPUT_CHARS, Budget, OverBudget
from bylaw.expr.template.check import Checker, Path, Shape, children, path_of, too_deep
from bylaw.expr.template.rewrite import rewritten
from bylaw.expr.template.sandbox import BUDGET, SANDBOX, located, parsed
from bylaw.expr.template.tokens import TemplateText
from bylaw.model.codes import expressions as guard_codes
from bylaw.model.codes import templates as codes
from bylaw.model.diagnostic import Diagnostic, error, in_order
from bylaw.model.errors import LoadError, RenderError
from bylaw.model.source import SourceFile, Span
from bylaw.model.visible import MAX_BRIEF, brief

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from jinja2 import Template as CompiledTemplate

    from bylaw.model.codes import Code

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
            return _collected(compiled.generate({**values, BUDGET: budget or Budget(0)}))
        except Exception as problem:  # noqa: BLE001 - any error of Jinja is an action error
            raise self._failure(problem, values) from None

    @cached_property
    def reads(self) -> frozenset[Path]:
        """The paths that it reads, each up to its last constant key."""
        return frozenset(_read_by(self._tree))

    @cached_property
    def _compiled(self) -> CompiledTemplate:
        try:
            return SANDBOX.from_string(rewritten(deepcopy(self._tree), self._null_below))
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
        whole = (path for path in here if not any(_extends(other, path) for other in here))
        for path in islice(whole, _MAX_PATHS_SHOWN):
            found = _look_up(values, path)
            if found is not None:
                yield f"`{'.'.join(map(str, path))}` = {found}"


def _collected(pieces: Iterator[str]) -> str:
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
    tree = _parsed(text)
    checker = Checker(text, names.shapes)
    checker.check(tree)
    if checker.errors:
        raise LoadError(in_order(checker.errors)[:MAX_DIAGNOSTICS])
    return Template(tuple(in_order(checker.warnings)), text, tree, names.null_below)


def _read_by(node: nodes.Node) -> Iterator[Path]:
    path = path_of(node) if isinstance(node, _PATH_NODES) else None
    if path:
        yield path
        return
    for child in children(node):
        yield from _read_by(child)


def _parsed(text: TemplateText) -> nodes.Template:
    size = text.span.end - text.span.start
    if size > MAX_TEMPLATE_CHARS:
        headline = f"{size:,} characters are too many for a template"
        line = text.source.slice(text.span).partition("\n")[0][:MAX_BRIEF]
        shown = Span(text.span.start, text.span.start + len(line))
        help_ = f"write at most {MAX_TEMPLATE_CHARS:,}"
        raise LoadError([error(codes.TEMPLATE_TOO_LONG, headline, text.source, shown, help=help_)])
    try:
        _check_tokens(text)
        tree = parsed(text.text)
    except TemplateSyntaxError as problem:
        raise _syntax_error(text, problem) from None
    except RecursionError:
        raise _refusal(text, codes.TEMPLATE_TOO_DEEP, _TOO_DEEP, 0) from None
    if (deep := too_deep(tree, len(located(text.text)))) is not None:
        raise _refusal(text, codes.TEMPLATE_TOO_DEEP, _TOO_DEEP, deep)
    return tree


def _check_tokens(text: TemplateText) -> None:
    """Reject tokens that Jinja's parser or Python cannot handle."""
    depth = 0
    for start, kind, value in located(text.text):
        if kind == "operator":
            depth += (value in "([{") - (value in ")]}")
            if depth > MAX_BRACKETS:
                raise _refusal(text, codes.TEMPLATE_TOO_DEEP, _TOO_DEEP, start)
        elif kind == "integer" and len(value) > MAX_NUMBER_CHARS:
            headline = "this number is too large"
            raise _refusal(text, codes.TEMPLATE_NUMBER, headline, start, "write a smaller one")
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


def _refusal(
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
            return codes.RENDER_ARITHMETIC.name, reason_of(problem)
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


def _extends(longer: Path, path: Path) -> bool:
    return len(longer) > len(path) and longer[: len(path)] == path


def _look_up(values: object, path: Path) -> str | None:
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return _brief(values)


def _brief(value: object) -> str:
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
