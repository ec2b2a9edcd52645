"""Completions for the end of a command line in a context document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bylaw.dialects.context.calls import called_name
from bylaw.dialects.context.declared import ArgumentKind
from bylaw.dialects.context.symbols import Symbol
from bylaw.dialects.context.types import BOOL, EnumType, Primitive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.context.document import CommandForm, Document, ParameterForm
    from bylaw.dialects.context.types import Type

# A word to complete begins after one of these.
DELIMITERS = " \t(,="
_BARE = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_][A-Za-z0-9_-]*")
# Commas in quotes and brackets do not separate arguments. Unclosed ones extend to the end.
_PART = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{(]|[\]})]|,|[^"\[\]{}(),]+')
MAX_WORDS = 400  # a longer list is of no use


def completions(document: Document, line: str) -> list[str]:
    """Return the sorted words that can complete the last word of a line."""
    if "(" not in line:
        found = _commands(document, line)
    else:
        last = re.split(f"[{DELIMITERS}]", line)[-1]
        found = (word for word in _arguments(document, line) if word.startswith(last))
    return sorted(set(found))[:MAX_WORDS]


def _commands(document: Document, begun: str) -> Iterator[str]:
    """Yield calls by qualified name, and by short name if it is unique."""
    for name, symbol in document.commands.by_qualified.items():
        end = "(" if symbol.what.parameters else "()"
        is_unique = document.commands.find(symbol.name) is symbol
        for call in (f"/{name}{end}", f"/{symbol.name}{end}" if is_unique else ""):
            if call.startswith(begun or "/"):
                yield call


def _arguments(document: Document, line: str) -> Iterator[str]:
    found = document.commands.find(called_name(line))
    if not isinstance(found, Symbol):
        return
    begun = _split(line[line.index("(") + 1 :])
    if begun is None:
        return
    yield from _fitting(found.what, begun)


def _fitting(form: CommandForm, given: list[str]) -> Iterator[str]:
    """Yield words for the last argument."""
    *before, last = given
    if form.kind is ArgumentKind.POSITIONAL:
        if len(before) < len(form.parameters):
            yield from _words(form.parameters[len(before)].type)
        return
    name, equals, _ = last.partition("=")
    used = {one.partition("=")[0].strip() for one in before}
    if equals:
        yield from _words_of(form, name.strip())
    else:
        yield from (f"{one.name}=" for one in form.parameters if one.name not in used)


def _words_of(form: CommandForm, name: str) -> Iterator[str]:
    wanted: ParameterForm | None = next((one for one in form.parameters if one.name == name), None)
    if wanted is not None:
        yield from _words(wanted.type)


def _words(type_: Type) -> Iterator[str]:
    if isinstance(type_, EnumType):
        for value in type_.values:
            yield value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    elif type_ == Primitive(BOOL):
        yield from ("true", "false")


def _split(text: str) -> list[str] | None:
    """Split the arguments typed so far. None if the line ends inside of a text or list."""
    parts, depth = [""], 0
    for found in _PART.finditer(text):
        piece = found[0]
        if piece in "[{(":
            depth += 1
        elif piece in "]})":
            depth -= 1
        elif piece == "," and not depth:
            parts.append("")
            continue
        parts[-1] += piece
    is_open = depth != 0 or (parts[-1].strip().startswith('"') and parts[-1].count('"') == 1)
    return None if is_open else parts
