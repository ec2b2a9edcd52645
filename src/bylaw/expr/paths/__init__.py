"""Path patterns: text → checked pattern → captures of a path, and captures → path.

    *        any characters within a segment      {name}    captures some of them
    ?        one character within a segment       {path}    captures across segments
    **/      any number of folders, also none     {*} {**}  the same, capturing nothing
    **       at the end: everything below         {js,ts}   one of these texts

The rest stands for itself. A pattern matches whole paths from the top of the repository, with
regard to case; names that begin with a dot are no exception. The leftmost wildcard takes as
much as it can. A value is never empty and no segment of it is empty, `.` or `..`.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.paths.matcher import matcher
from bylaw.expr.paths.parts import MAX_PATH, Literal, PartKind, Token, Wildcard, joined, texts_of
from bylaw.expr.paths.syntax import read_pattern
from bylaw.model.codes.patterns import DIFFERENT_VARIABLES, UNRESOLVED_VARIABLE
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.model.codes import Code

_BYTES_A_CHARACTER = 4  # at most, in UTF-8
_GLOBS = {
    PartKind.PART.value: "write a glob with `*`, such as `docs/*.md`",
    PartKind.PARTS.value: "write a glob with `**/`, such as `docs/**/*.md`",
}
_FOREIGN = re.compile(r"^[A-Za-z]:/|[\x00-\x1f\x7f-\x9f]")


class Pattern(Struct, frozen=True, dict=True, eq=False):
    """A checked pattern; `source` and `span` say where it was written, which is no part of it."""

    tokens: tuple[Token, ...]
    source: SourceFile
    span: Span

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)

    @cached_property
    def text(self) -> str:
        """The pattern as it was written, or with values where variables were."""
        return "".join(token.written for token in self.tokens)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables, in order."""
        return tuple(t.name for t in self.tokens if isinstance(t, Wildcard) and t.name)

    @cached_property
    def has_wildcards(self) -> bool:
        """Whether anything in it is open and captures nothing."""
        known = (
            isinstance(t, Literal) or (isinstance(t, Wildcard) and t.name) for t in self.tokens
        )
        return not all(known)

    @cached_property
    def fixed(self) -> int:
        """How many characters it gives at least: of two that match a path, more fit it closer."""
        return sum(min(map(len, texts_of(token)), default=0) for token in self.tokens)

    @property
    def literal(self) -> str | None:
        """The one path that it matches, if it has neither variables nor wildcards."""
        return None if self.variables or self.has_wildcards else self.text

    @cached_property
    def _match(self) -> Callable[[str], dict[str, str] | None]:
        return matcher(self.tokens)

    def match(self, path: str) -> dict[str, str] | None:
        """The captures of a whole normalised path; None if it does not match."""
        return self._match(path) if is_normalised(path) else None

    def resolve(self, captures: Mapping[str, str]) -> Pattern:
        """The pattern with values in place of all variables, which from then on are plain text.

        INVARIANT: `check_resolvable` was asked at load, so no value is missing.
        """
        filled: list[Token] = [
            Literal(captures[token.name]) if isinstance(token, Wildcard) and token.name else token
            for token in self.tokens
        ]
        return Pattern(joined(filled), self.source, self.span)


def parse_pattern(source: SourceFile, span: Span) -> Pattern:
    """Read the pattern that stands at `span`; PatternError says all that is wrong with it."""
    return Pattern(read_pattern(source, span), source, span)


def pattern(text: str) -> Pattern:
    """Read a pattern that comes from no file."""
    return parse_pattern(SourceFile("<pattern>", text), Span(0, len(text)))


def normalise(path: str) -> str | None:
    """The path from the top of the repository without `.`, `..` and empty segments.

    None if no file of the repository can have it: an absolute path, one that leaves the
    repository or names its top, one with a NUL or of more than 4,096 bytes. A backslash is
    an ordinary character.
    """
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not kept:
                return None
            kept.pop()
        elif segment not in {"", "."}:
            kept.append(segment)
    if not kept or path.startswith("/") or "\0" in path:
        return None
    result = "/".join(kept)
    return None if _too_long(result) else result


def normalise_foreign(path: str) -> str | None:
    """As `normalise`, of a path that somebody wrote on any system (LD-011, LD-012).

    A backslash parts folders, a drive makes a path absolute, and no control character is let in.
    """
    path = path.replace("\\", "/")
    return None if _FOREIGN.search(path) else normalise(path)


def normalise_named(path: str, *, literal: bool) -> str | None:
    """The path that an event tells: of a file as it is called here, or as anybody may write it."""
    return normalise(path) if literal else normalise_foreign(path)


def is_normalised(path: str) -> bool:
    """Whether `normalise` would leave the path as it is."""
    # Nearly all paths are seen to be normal without taking them apart.
    doubtful = (
        path[:1] in {"", ".", "/"}
        or path[-1] == "/"
        or "/." in path
        or "//" in path
        or "\0" in path
        or len(path) > MAX_PATH // _BYTES_A_CHARACTER
    )
    return not doubtful or normalise(path) == path


def _too_long(path: str) -> bool:
    return len(path) > MAX_PATH or len(path.encode("utf-8", "surrogatepass")) > MAX_PATH


def check_resolvable(wanted: Pattern, given: Pattern) -> list[Diagnostic]:
    """What keeps `wanted` from being resolved with the captures of `given`, for a pair."""
    missing = (_missing(UNRESOLVED_VARIABLE, wanted, name, given) for name in _extra(wanted, given))
    return [*_nameless(wanted), *missing]


def check_same_variables(patterns: Sequence[Pattern]) -> list[Diagnostic]:
    """What keeps a set from being resolved with any of its patterns, each underlined once."""
    found = {
        (index, name): _missing(DIFFERENT_VARIABLES, one, name, other)
        for index, one in enumerate(patterns)
        for other in reversed(patterns)
        for name in _extra(one, other)
    }
    different = [found[key] for key in sorted(found, key=lambda key: found[key].span)]
    return [*(each for one in patterns for each in _nameless(one)), *different]


def _nameless(one: Pattern) -> list[Diagnostic]:
    """Wildcards in braces stand for a value, as variables do, and nobody can know it (DW-A03)."""
    return [
        error(
            UNRESOLVED_VARIABLE,
            f"`{written}` cannot be resolved: it captures nothing",
            one.source,
            Span(start, start + len(written)).shift(one.span.start),
            help=f"{glob}: any changed file that matches will do",
        )
        for written, glob in _GLOBS.items()
        if (start := one.text.find(written)) >= 0
    ]


def _extra(one: Pattern, other: Pattern) -> list[str]:
    return [name for name in one.variables if name not in other.variables]


def _missing(code: Code, one: Pattern, name: str, other: Pattern) -> Diagnostic:
    written = f"{{{name}}}"
    # In a pattern as it was written a variable stands once, and braces are never literal.
    start = one.span.start + one.text.index(written)
    return error(
        code,
        f"`{written}` cannot be resolved: `{other.text}` does not capture it",
        one.source,
        Span(start, start + len(written)),
        help=did_you_mean(name, other.variables) or "write `*` for a part that may be anything",
    )
