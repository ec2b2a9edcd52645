"""Path patterns: text → checked pattern → captures of a path, and captures → path.

    *        any characters within a segment      {name}    captures some of them
    ?        one character within a segment       {path}    captures across segments
    **/      any number of folders, or none       {*} {**}  the same, without a capture
    **       at the end: everything below         {js,ts}   one of these texts

All other text is literal. A pattern matches complete paths from the top of the repository. Case
matters, and names that begin with a dot are not special. The leftmost wildcard matches as much as
it can. A value is never empty, and no segment of it is empty, `.` or `..`.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.codes.templates import DIFFERENT_VARIABLES, UNRESOLVED_VARIABLE
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean
from bylaw.paths.matcher import make_matcher
from bylaw.paths.syntax import (
    MAX_PATH,
    Literal,
    PartKind,
    Token,
    Wildcard,
    merge_literals,
    read_pattern,
    texts_of,
)

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
    """A checked pattern; comparisons ignore `source` and `span`, which say where it is written."""

    tokens: tuple[Token, ...]
    source: SourceFile
    span: Span

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)

    @cached_property
    def text(self) -> str:
        """The pattern as it is written, or with values in place of variables."""
        return "".join(token.written for token in self.tokens)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables, in order."""
        return tuple(t.name for t in self.tokens if isinstance(t, Wildcard) and t.name)

    @cached_property
    def has_wildcards(self) -> bool:
        """Whether it has wildcards or alternatives that capture nothing."""
        known = (
            isinstance(t, Literal) or (isinstance(t, Wildcard) and t.name) for t in self.tokens
        )
        return not all(known)

    @cached_property
    def fixed(self) -> int:
        """The least number of literal characters; of two patterns, more mean a closer match."""
        return sum(min(map(len, texts_of(token)), default=0) for token in self.tokens)

    @property
    def literal(self) -> str | None:
        """The one path that it matches, if it has neither variables nor wildcards."""
        return None if self.variables or self.has_wildcards else self.text

    @cached_property
    def _match(self) -> Callable[[str], dict[str, str] | None]:
        return make_matcher(self.tokens)

    def match(self, path: str) -> dict[str, str] | None:
        """Return the captures of a complete normalised path, or None if it does not match."""
        return self._match(path) if is_normalised(path) else None

    def resolve(self, captures: Mapping[str, str]) -> Pattern:
        """Return the pattern with values in place of all variables; the values are literal text.

        INVARIANT: `check_resolvable` ran at load, so no value is missing.
        """
        filled: list[Token] = [
            Literal(captures[token.name]) if isinstance(token, Wildcard) and token.name else token
            for token in self.tokens
        ]
        return Pattern(merge_literals(filled), self.source, self.span)


def parse_pattern(source: SourceFile, span: Span) -> Pattern:
    """Parse the pattern at `span`; raise PatternError with all its mistakes."""
    return Pattern(read_pattern(source, span), source, span)


def pattern(text: str) -> Pattern:
    """Parse a pattern that is not from a file."""
    return parse_pattern(SourceFile("<pattern>", text), Span(0, len(text)))


def normalise(path: str) -> str | None:
    """Return the path from the top of the repository without `.`, `..` and empty segments.

    Return None if no file of the repository can have the path: if it is absolute, leaves the
    repository, names its top, contains a NUL or is longer than 4,096 bytes. A backslash is an
    ordinary character.
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
    """As `normalise`, for a path that was written on any system (LD-011, LD-012).

    A backslash separates folders, a drive makes a path absolute, and control characters are not
    allowed.
    """
    path = path.replace("\\", "/")
    return None if _FOREIGN.search(path) else normalise(path)


def normalise_event_path(path: str, *, literal: bool) -> str | None:
    """Normalise the path of an event: `literal` if it is from this system, else from any system."""
    return normalise(path) if literal else normalise_foreign(path)


def is_normalised(path: str) -> bool:
    """Whether `normalise` would return the path unchanged."""
    # For nearly all paths these tests are enough, without splitting the path.
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
    """Return the errors that prevent resolving `wanted` with captures of `given`, for a pair."""
    missing = (
        _missing_error(UNRESOLVED_VARIABLE, wanted, name, given)
        for name in _extra_variables(wanted, given)
    )
    return [*_unnamed_errors(wanted), *missing]


def check_same_variables(patterns: Sequence[Pattern]) -> list[Diagnostic]:
    """Return the errors that prevent resolving a set with any of its patterns, without repeats."""
    found = {
        (index, name): _missing_error(DIFFERENT_VARIABLES, one, name, other)
        for index, one in enumerate(patterns)
        for other in reversed(patterns)
        for name in _extra_variables(one, other)
    }
    different = [found[key] for key in sorted(found, key=lambda key: found[key].span)]
    return [*(each for one in patterns for each in _unnamed_errors(one)), *different]


def _unnamed_errors(one: Pattern) -> list[Diagnostic]:
    """Return errors for wildcards in braces: they need a value, but capture none (DW-A03)."""
    return [
        error(
            UNRESOLVED_VARIABLE,
            f"`{written}` cannot be resolved: it captures nothing",
            one.source,
            Span(start, start + len(written)).shift(one.span.start),
            help=f"{glob}: any changed file that matches is enough",
        )
        for written, glob in _GLOBS.items()
        if (start := one.text.find(written)) >= 0
    ]


def _extra_variables(one: Pattern, other: Pattern) -> list[str]:
    return [name for name in one.variables if name not in other.variables]


def _missing_error(code: Code, one: Pattern, name: str, other: Pattern) -> Diagnostic:
    written = f"{{{name}}}"
    # A written pattern has each variable only once, and braces are never literal.
    start = one.span.start + one.text.index(written)
    return error(
        code,
        f"`{written}` cannot be resolved: `{other.text}` does not capture it",
        one.source,
        Span(start, start + len(written)),
        help=did_you_mean(name, other.variables) or "write `*` for a part that can be anything",
    )
