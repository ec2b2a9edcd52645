"""What libyaml says about a text that is no YAML → a code, a headline, a span, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.codes import yaml as codes
from bylaw.model.source import Span
from bylaw.model.visible import brief

if TYPE_CHECKING:
    import yaml

    from bylaw.model.codes import Code

_SPECIAL = "*&!@`%"
_OPENING = {"{": "}", "[": "]"}
_CLOSING = {"}": "{", "]": "["}
_COMMENT = re.compile(r"(?:^|[ \t])#|[\r\n]")
_FLOW_END = re.compile(r"[,\]}\r\n]|[ \t]#")
_DOCUMENT_END = re.compile(r"^\.\.\.", re.MULTILINE)
_QUOTE_HELP = "put the value in quotes; if it is a path pattern, quote the pattern"


class Finding(Struct, frozen=True):
    """A diagnostic to be: spans are offsets in the text that libyaml was given."""

    code: Code
    headline: str
    span: Span
    help: str
    labels: tuple[tuple[Span, str], ...] = ()


# A part of libyaml's words → our headline and help. The first that fits is taken.
_WORDS = (
    (
        "mapping values are not allowed",
        "a `:` cannot stand here",
        "put the value in quotes if the `:` belongs to it; else check the indentation",
    ),
    (
        "could not find expected ':'",
        "a `:` after the key is missing",
        "write `key: value` with a space after the colon; indent what continues a value",
    ),
    (
        "did not find expected key",
        "this does not fit into the mapping around it",
        "check the indentation; put the whole value in quotes, not a part of it",
    ),
    (
        "did not find expected '-'",
        "this stands among the items of a list but has no `-`",
        "check the indentation, or begin the line with `- `",
    ),
    ("',' or ']'", "a `,` or `]` is missing", "close the list with `]`"),
    ("',' or '}'", "a `,` or `}` is missing", "close the mapping with `}`"),
    (
        "did not find expected node content",
        "a value is missing",
        "write one, or quote what is here",
    ),
    (
        "found unexpected end of stream",
        "a text in quotes has no closing quote",
        "add the closing quote; inside single quotes write a quote twice",
    ),
    (
        "found unexpected document indicator",
        "a text in quotes has no closing quote before this line",
        "add the closing quote; indent a line of a text that begins with dashes or dots",
    ),
    (
        "<document start>",
        "this does not belong to the value before it",
        "check the indentation; put the whole value in quotes, not a part of it",
    ),
    (
        "block sequence entries are not allowed",
        "a list cannot begin here",
        "put `- ` on a line of its own below the key, or put the value in quotes",
    ),
    (
        "mapping keys are not allowed",
        "a `?` cannot stand here",
        "put the value in quotes",
    ),
    (
        "did not find expected comment or line break",
        "text cannot follow `|` or `>` on the same line",
        "begin the text on the next line, indented; or put the value in quotes",
    ),
    (
        "found unknown escape character",
        "an unknown escape in double quotes",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    (
        "hexdecimal",
        "an escape without its hexadecimal digits",
        "write two after `\\x`, four after `\\u`, eight after `\\U`",
    ),
    (
        "invalid Unicode character escape",
        "an escape that is no character",
        "write the character itself",
    ),
)


def rest_of_line(text: str, at: int) -> int:
    """Where the line ends that goes on at a place, without a comment and the blanks before it."""
    comment = _COMMENT.search(text, at)
    end = comment.start() if comment else len(text)
    return at + len(text[at:end].rstrip())


def explain(problem: yaml.MarkedYAMLError, text: str, opened: int | None) -> Finding:
    """Say it in our words; `opened` is where the innermost open collection begins."""
    said = f"{problem.context or ''}: {problem.problem or ''}"
    mark = problem.problem_mark or problem.context_mark
    at = min(mark.index, len(text)) if mark else 0
    begun = problem.context_mark.index if problem.context_mark else at
    line = Span(at, rest_of_line(text, at))
    if "directive" in said or "incompatible YAML" in said:
        whole = Span(begun, rest_of_line(text, begun))
        headline = f"`{brief(text[whole.start : whole.end])}` is a directive"
        return Finding(codes.YAML_DIRECTIVE, headline, whole, "delete the line")
    if "<document start>" in said and _DOCUMENT_END.search(text, 0, at):
        headline = "a second YAML document begins here"
        return Finding(codes.YAML_SEVERAL_DOCUMENTS, headline, line, "keep one document")
    if "tab character" in said or text[at : at + 1] == "\t":
        return _tab(text, at)
    if (start := _unquoted_start(text, at, begun)) is not None:
        return _unquoted(text, start)
    if "expected ':'" in said:  # libyaml notices at the line behind it
        return _syntax(said, text, begun, None)
    return _syntax(said, text, at, _begin_of_interest(said, begun, opened))


def _tab(text: str, at: int) -> Finding:
    start = text.find("\t", at)
    end = start + len(text[start:]) - len(text[start:].lstrip("\t"))
    help_ = "replace it by spaces"
    return Finding(codes.YAML_TAB, "a tab cannot indent YAML", Span(start, end), help_)


def _unquoted_start(text: str, at: int, begun: int) -> int | None:
    """Where a value begins that was meant as text but begins like something else."""
    for place in (begun, at):
        if text[place - 1 : place] in _CLOSING and text[place : place + 1].strip():
            start = text.rfind(_CLOSING[text[place - 1]], 0, place)
            return start if start >= 0 and "\n" not in text[start:place] else None
        if text[place : place + 1] and text[place] in _SPECIAL:
            return place
    return None


def _unquoted(text: str, start: int) -> Finding:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    in_flow = sum(map(before.count, "[{")) > sum(map(before.count, "]}"))
    end = rest_of_line(text, start)
    own_bracket = text.find(_OPENING.get(text[start], text[start]), start)
    if in_flow and (stop := _FLOW_END.search(text, own_bracket + 1, end)):
        end = stop.start()
    sign = "a backtick" if text[start] == "`" else f"`{text[start]}`"
    headline = f"a value without quotes cannot begin with {sign}"
    return Finding(codes.YAML_UNQUOTED, headline, Span(start, end), _QUOTE_HELP)


def _begin_of_interest(said: str, begun: int, opened: int | None) -> int | None:
    """What stands open when the text goes wrong: a quote, a bracket, a list or mapping."""
    if "flow node" in said:
        return opened
    return begun if "quoted scalar" in said or "flow" in said or "block coll" in said else None


def _syntax(said: str, text: str, at: int, begun: int | None) -> Finding:
    words = next((entry for entry in _WORDS if entry[0] in said), None)
    headline = words[1] if words else f"this is not YAML: {said.removeprefix(': ')}"
    help_ = words[2] if words else "put the value in quotes"
    if at >= len(text.rstrip()) and begun is not None:  # nothing is left to underline
        if text[begun] in _OPENING:
            headline = f"this `{text[begun]}` is never closed"
            help_ = f"close it with `{_OPENING[text[begun]]}`"
        return Finding(codes.YAML_SYNTAX, headline, Span(begun, rest_of_line(text, begun)), help_)
    span = _place(said, text, at)
    labels = () if begun is None or begun >= at else ((Span(begun, begun + 1), "begun here"),)
    return Finding(codes.YAML_SYNTAX, headline, span, help_, labels)


def _place(said: str, text: str, at: int) -> Span:
    if "not allowed" in said:  # the sign itself: `:`, `-`, `?`
        return Span(at, at + 1)
    if "escape character" in said:
        return Span(at, min(at + 2, len(text)))
    if "hexdecimal" in said:
        return Span(text.rfind("\\", 0, at), at)
    return Span(at, max(rest_of_line(text, at), min(at + 1, len(text))))
