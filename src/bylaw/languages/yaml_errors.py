"""libyaml error → diagnostic code, headline, span and help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.codes import files as codes
from bylaw.model.display import brief
from bylaw.model.source import Span

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


class YamlFinding(Struct, frozen=True):
    """The parts of a diagnostic. Spans are offsets in the text that libyaml read."""

    code: Code
    headline: str
    span: Span
    help: str
    labels: tuple[tuple[Span, str], ...] = ()


# Part of a libyaml message → headline and help. The first match is used.
_MESSAGES = (
    (
        "mapping values are not allowed",
        "unexpected `:`",
        "put the value in quotes if the `:` is part of it; otherwise check the indentation",
    ),
    (
        "could not find expected ':'",
        "missing `:` after the key",
        "write `key: value` with a space after the colon; indent the next lines of a value",
    ),
    (
        "did not find expected key",
        "unexpected text in a mapping",
        "check the indentation; put the whole value in quotes, not a part of it",
    ),
    (
        "did not find expected '-'",
        "missing `-` before a list item",
        "check the indentation, or start the line with `- `",
    ),
    ("',' or ']'", "missing `,` or `]`", "close the list with `]`"),
    ("',' or '}'", "missing `,` or `}`", "close the mapping with `}`"),
    (
        "did not find expected node content",
        "missing value",
        "add a value, or put this text in quotes",
    ),
    (
        "found unexpected end of stream",
        "missing closing quote",
        "add the closing quote; to use a quote inside single quotes, write it twice",
    ),
    (
        "found unexpected document indicator",
        "missing closing quote before this line",
        "add the closing quote; if the line is part of the text, indent it",
    ),
    (
        "<document start>",
        "unexpected text after a value",
        "check the indentation; put the whole value in quotes, not a part of it",
    ),
    (
        "block sequence entries are not allowed",
        "unexpected start of a list",
        "start the list on the line below the key, or put the value in quotes",
    ),
    (
        "mapping keys are not allowed",
        "unexpected `?`",
        "put the value in quotes",
    ),
    (
        "did not find expected comment or line break",
        "unexpected text after `|` or `>`",
        "start the text on the next line, indented, or put the value in quotes",
    ),
    (
        "found unknown escape character",
        "unknown escape in double quotes",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    (
        "hexdecimal",
        "missing hexadecimal digits in an escape",
        "write two digits after `\\x`, four after `\\u`, eight after `\\U`",
    ),
    (
        "invalid Unicode character escape",
        "escape of an invalid character",
        "write the character itself",
    ),
)


def rest_of_line(text: str, at: int) -> int:
    """Return where the rest of a line ends, without a comment and trailing blanks."""
    comment = _COMMENT.search(text, at)
    end = comment.start() if comment else len(text)
    return at + len(text[at:end].rstrip())


def explain(problem: yaml.MarkedYAMLError, text: str, opened: int | None) -> YamlFinding:
    """Explain a libyaml error. `opened` is where the innermost open collection starts."""
    said = f"{problem.context or ''}: {problem.problem or ''}"
    mark = problem.problem_mark or problem.context_mark
    at = min(mark.index, len(text)) if mark else 0
    begun = problem.context_mark.index if problem.context_mark else at
    line = Span(at, rest_of_line(text, at))
    if "directive" in said or "incompatible YAML" in said:
        whole = Span(begun, rest_of_line(text, begun))
        headline = f"directive `{brief(text[whole.start : whole.end])}` is not allowed"
        return YamlFinding(codes.YAML_DIRECTIVE, headline, whole, "delete the line")
    if "<document start>" in said and _DOCUMENT_END.search(text, 0, at):
        headline = "unexpected second YAML document"
        return YamlFinding(codes.YAML_SEVERAL_DOCUMENTS, headline, line, "keep one document")
    if "tab character" in said or text[at : at + 1] == "\t":
        return _tab_finding(text, at)
    if (start := _unquoted_start(text, at, begun)) is not None:
        return _unquoted_finding(text, start)
    if "expected ':'" in said:  # libyaml reports it on the next line
        return _syntax_finding(said, text, begun, None)
    return _syntax_finding(said, text, at, _start_of_open_part(said, begun, opened))


def _tab_finding(text: str, at: int) -> YamlFinding:
    start = text.find("\t", at)
    end = start + len(text[start:]) - len(text[start:].lstrip("\t"))
    help_ = "replace it with spaces"
    return YamlFinding(codes.YAML_TAB, "YAML cannot be indented with tabs", Span(start, end), help_)


def _unquoted_start(text: str, at: int, begun: int) -> int | None:
    """Return where a text without quotes starts if its first character has another meaning."""
    for place in (begun, at):
        if text[place - 1 : place] in _CLOSING and text[place : place + 1].strip():
            start = text.rfind(_CLOSING[text[place - 1]], 0, place)
            return start if start >= 0 and "\n" not in text[start:place] else None
        if text[place : place + 1] and text[place] in _SPECIAL:
            return place
    return None


def _unquoted_finding(text: str, start: int) -> YamlFinding:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    in_flow = sum(map(before.count, "[{")) > sum(map(before.count, "]}"))
    end = rest_of_line(text, start)
    own_bracket = text.find(_OPENING.get(text[start], text[start]), start)
    if in_flow and (stop := _FLOW_END.search(text, own_bracket + 1, end)):
        end = stop.start()
    sign = "a backtick" if text[start] == "`" else f"`{text[start]}`"
    headline = f"a value without quotes cannot start with {sign}"
    return YamlFinding(codes.YAML_UNQUOTED, headline, Span(start, end), _QUOTE_HELP)


def _start_of_open_part(said: str, begun: int, opened: int | None) -> int | None:
    """Return where the quote, bracket, list or mapping starts that is open at the error."""
    if "flow node" in said:
        return opened
    return begun if "quoted scalar" in said or "flow" in said or "block coll" in said else None


def _syntax_finding(said: str, text: str, at: int, begun: int | None) -> YamlFinding:
    words = next((entry for entry in _MESSAGES if entry[0] in said), None)
    headline = words[1] if words else f"invalid YAML: {said.removeprefix(': ')}"
    help_ = words[2] if words else "put the value in quotes"
    if at >= len(text.rstrip()) and begun is not None:  # nothing is left to underline
        if text[begun] in _OPENING:
            headline = f"`{text[begun]}` is not closed"
            help_ = f"close it with `{_OPENING[text[begun]]}`"
        return YamlFinding(
            codes.YAML_SYNTAX, headline, Span(begun, rest_of_line(text, begun)), help_
        )
    span = _error_span(said, text, at)
    labels = () if begun is None or begun >= at else ((Span(begun, begun + 1), "started here"),)
    return YamlFinding(codes.YAML_SYNTAX, headline, span, help_, labels)


def _error_span(said: str, text: str, at: int) -> Span:
    if "not allowed" in said:  # the character itself: `:`, `-`, `?`
        return Span(at, at + 1)
    if "escape character" in said:
        return Span(at, min(at + 2, len(text)))
    if "hexdecimal" in said:
        return Span(text.rfind("\\", 0, at), at)
    return Span(at, max(rest_of_line(text, at), min(at + 1, len(text))))
