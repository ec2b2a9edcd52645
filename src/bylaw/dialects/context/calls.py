"""A line of a user's message → a call with its arguments, or prose (AC-A32, A33).

    /mode(design)    /m.mode(design)    /two(1, "x")    /named(level=3)

Arguments are JSON, or bare words for enums. A line that does not start with `/name(` is prose.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.strict_json import JsonError, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.values import JSON

_CALL = re.compile(r"/([A-Za-z_][A-Za-z0-9_.-]*)\(")
_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)[ \t]*=[ \t]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_JSON_WORDS = {"true": True, "false": False, "null": None}
_BLANKS = re.compile(r"[ \t]*")
_SCAN = json.JSONDecoder().raw_decode
MAX_LINE = 65_536
MAX_PARTS = 2  # a module and a command


class CallError(Exception):
    """A line that starts like a call but is not a valid one."""


class Word(Struct, frozen=True):
    """A bare word: a value of an enum."""

    text: str


class Given(Struct, frozen=True):
    """One argument of a call. A positional argument has no name."""

    value: JSON | Word
    name: str = ""


class Call(Struct, frozen=True):
    """A call as written."""

    name: str
    arguments: tuple[Given, ...]


def called_name(line: str) -> str:
    """Return the name that a line calls; empty for prose."""
    found = _CALL.match(line)
    return "" if found is None else found[1]


def read_call(line: str) -> Call | None:
    """Parse a line; return None for prose.

    Raises CallError if the line starts like a call but is not a valid one.
    """
    found = _CALL.match(line)
    if found is None:
        return None
    if len(line) > MAX_LINE:
        raise CallError(f"the call is longer than {MAX_LINE:,} characters")
    parts = found[1].split(".")
    if len(parts) > MAX_PARTS or not all(parts):
        raise CallError("invalid name: write `/command(…)` or `/module.command(…)`")
    arguments, at = _arguments(line, found.end())
    if line[at:].strip(" \t"):
        raise CallError("unexpected text after the closing parenthesis")
    return Call(found[1], tuple(arguments))


def _arguments(line: str, at: int) -> tuple[list[Given], int]:
    arguments: list[Given] = []
    at = _behind_blanks(line, at)
    if line[at : at + 1] == ")":
        return arguments, at + 1
    while True:
        given, at = _argument(line, at)
        arguments.append(given)
        at = _behind_blanks(line, at)
        sign = line[at : at + 1]
        if sign not in {",", ")"}:
            raise CallError("expected `,` or `)` after an argument")
        at = _behind_blanks(line, at + 1)
        if sign == ")":
            _refuse_mixture(arguments)
            return arguments, at


def _argument(line: str, at: int) -> tuple[Given, int]:
    named = _NAMED.match(line, at)
    name = ""
    if named is not None:
        name, at = named[1], named.end()
    value, at = _value(line, at)
    return Given(value, name), at


def _value(line: str, at: int) -> tuple[JSON | Word, int]:
    if at == len(line):
        raise CallError("the call is not closed with `)`")
    word = _WORD.match(line, at)
    if word is not None:
        text = word[0]
        return (_JSON_WORDS[text] if text in _JSON_WORDS else Word(text)), word.end()
    try:
        _, end = _SCAN(line, at)
        return read_json(line[at:end]), end
    except (ValueError, RecursionError, JsonError):
        raise CallError("invalid argument: write JSON, or a value of an enum") from None


def _refuse_mixture(arguments: list[Given]) -> None:
    named = [given.name for given in arguments if given.name]
    if named and len(named) != len(arguments):
        raise CallError("positional and named arguments cannot be mixed")
    if len(set(named)) != len(named):
        raise CallError("an argument is given twice")


def _behind_blanks(line: str, at: int) -> int:
    found = _BLANKS.match(line, at)
    assert found is not None
    return found.end()


def near_calls(line: str) -> Iterator[str]:
    """Yield possible calls for a line: with the slash or the parentheses added (AC-A27).

    A line that lacks both is prose. Otherwise each word that is also a command would match.
    """
    text = line.strip()
    if not text.startswith("/"):
        yield f"/{text}"
        return
    yield text
    name, *rest = text.split(maxsplit=1)
    if "(" not in name:
        yield f"{name}({''.join(rest)})"
