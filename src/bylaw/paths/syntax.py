"""The text of a path pattern → its parts, or diagnostics that underline the mistakes.

Alternatives must not make a segment `.` or `..`, because no path of a repository has one. There are
too many combinations of alternatives to try them all. It is enough to know for each whether the
segment so far has only dots.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.model.codes import templates as codes
from bylaw.model.diagnostic import Diagnostic, Fix, Label, error, sort_diagnostics
from bylaw.model.errors import PatternError
from bylaw.model.source import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.model.codes import Code

MAX_PATTERN = 4_096  # characters; as long as a path can be
MAX_WILDCARDS = 8  # per pattern, without `?`, which has a fixed width
MAX_ALTERNATIVES = 32  # in one pair of braces
MAX_PATH = 4_096  # bytes, the limit of the operating system

PATH_VARIABLE = "path"


class PartKind(Enum):
    """The kinds of wildcard; the value is its text without a name."""

    ONE = "?"  # one character of a segment
    STAR = "*"  # any characters of a segment, or none
    PART = "{*}"  # some characters of a segment, not `.` or `..`
    FOLDERS = "**/"  # any number of complete folders, or none
    PARTS = "{**}"  # some characters across segments; none of them empty, `.` or `..`
    ANY = "**"  # at the end: any number of folders and a name


class Literal(Struct, frozen=True):
    """Literal text."""

    text: str

    @property
    def written(self) -> str:
        """The part as it is written."""
        return self.text


class Alternatives(Struct, frozen=True):
    """One of several literal texts."""

    texts: tuple[str, ...]

    @property
    def written(self) -> str:
        """The part as people write it."""
        return "{" + ",".join(self.texts) + "}"


class Wildcard(Struct, frozen=True):
    """A wildcard; with a name it is a variable."""

    kind: PartKind
    name: str = ""

    @property
    def written(self) -> str:
        """The part as people write it."""
        return f"{{{self.name}}}" if self.name else self.kind.value


Token = Literal | Alternatives | Wildcard


def texts_of(token: Token) -> tuple[str, ...]:
    """Return the texts that a part can be; none for a wildcard."""
    if isinstance(token, Literal):
        return (token.text,)
    return token.texts if isinstance(token, Alternatives) else ()


def variable_wildcard(name: str) -> Wildcard:
    """Return the wildcard of a variable; only `path` crosses folders."""
    return Wildcard(PartKind.PARTS if name == PATH_VARIABLE else PartKind.PART, name)


def merge_literals(tokens: list[Token]) -> tuple[Token, ...]:
    """Return the parts with neighbouring literals merged."""
    result: list[Token] = []
    for token in tokens:
        last = result[-1] if result else None
        if isinstance(token, Literal) and isinstance(last, Literal):
            result[-1] = Literal(last.text + token.text)
        elif token != Literal(""):
            result.append(token)
    return tuple(result)


_DOTS = (".", "..")
# The text of a segment so far, if it can still become one of `_DOTS`, and its span.
_OpenSegments: TypeAlias = dict[str, Span]


def find_dot_segments(parts: Iterable[tuple[Token, Span]]) -> dict[Span, str]:
    """Return the text of each such segment, by its span."""
    found: dict[Span, str] = {}
    begun: _OpenSegments = {"": Span(0, 0)}
    for token, span in parts:
        if isinstance(token, Wildcard):
            # A wildcard never makes a segment `.` or `..`; after `**/` a new segment begins.
            begun = {"": Span(span.end, span.end)} if token.kind is PartKind.FOLDERS else {}
            continue
        after: _OpenSegments = {}
        for text, start in _texts_with_offsets(token, span):
            for dots, place in begun.items():
                after.update(_append_text(dots, place, text, start, found))
        begun = after
    found.update((place, dots) for dots, place in begun.items() if dots)
    return found


def _texts_with_offsets(token: Token, span: Span) -> Iterator[tuple[str, int]]:
    """Yield each text that a part can be, and its offset."""
    if not isinstance(token, Alternatives):
        yield token.written, span.start
        return
    start = span.start + 1
    for text in token.texts:
        yield text, start
        start += len(text) + 1


def _append_text(
    dots: str, place: Span, text: str, start: int, found: dict[Span, str]
) -> _OpenSegments:
    """Append a text to a segment: return the open segment, and add complete ones to `found`."""
    segments, places = text.split("/"), []
    for one in segments:
        places.append(Span(start, start + len(one)))
        start += len(one) + 1
    if dots:
        places[0] = place.to(places[0]) if segments[0] else place
        segments[0] = dots + segments[0]
    *whole, last = zip(segments, places, strict=True)
    found.update((where, one) for one, where in whole if one in _DOTS)
    return {last[0]: last[1]} if last[0] in ("", *_DOTS) else {}


_GROUP = re.compile(r"\{([^{}]*)\}")
_PARTS = re.compile(r"\{[^{}]*\}|\*\*/|\*\*|[*?]|[^{*?]+")
_FOREIGN = re.compile(r"^!|[\[\]\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STARS = re.compile(r"\*{2,}")
_NOT_LITERAL = re.compile(r"[*?]")
_PLAIN_KINDS = {kind.value: kind for kind in PartKind}
_MAX_REPORTED = 20  # mistakes per pattern; more would not help
_SHOWN_IN_HELP = 40  # characters; a longer name is not repeated


def read_pattern(source: SourceFile, span: Span) -> tuple[Token, ...]:
    """Return the parts of the pattern at `span`; raise PatternError with all its mistakes."""
    reader = _Reader(source, span)
    # Each stage relies on the checks of the stages before it.
    for stage in (reader.check_size, reader.check_braces, reader.check_text, reader.read_parts):
        stage()
        if reader.errors:
            raise PatternError(sort_diagnostics(reader.errors)[:_MAX_REPORTED])
    return merge_literals([token for token, _ in reader.parts])


class _Reader:
    def __init__(self, source: SourceFile, span: Span) -> None:
        self.source = source
        self.start = span.start
        self.text = source.slice(span)
        self.errors: list[Diagnostic] = []
        self.parts: list[tuple[Token, Span]] = []

    def refuse(
        self,
        code: Code,
        headline: str,
        span: Span,
        help: str,  # noqa: A002 - the word that users see
        *,
        labels: tuple[Label, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        found = error(
            code,
            headline,
            self.source,
            span.shift(self.start),
            help=help,
            labels=tuple(Label(label.span.shift(self.start), label.text) for label in labels),
            fix=fix and Fix(fix.span.shift(self.start), fix.text),
        )
        self.errors.append(found)

    def check_size(self) -> None:
        if not self.text:
            help_ = "write a path from the top of the repository, such as `src/**/*.py`"
            self.refuse(codes.EMPTY_PATTERN, "the pattern is empty", Span(0, 0), help_)
        if len(self.text) > MAX_PATTERN:
            headline = f"the pattern is longer than {MAX_PATTERN:,} characters"
            rest = Span(MAX_PATTERN, len(self.text))
            self.refuse(codes.PATTERN_TOO_LONG, headline, rest, "write several shorter patterns")

    def check_braces(self) -> None:
        opened: list[int] = []
        nested: list[int] = []
        for found in re.finditer("[{}]", self.text):
            if found[0] == "{":
                nested += [found.start()] if opened else []
                opened.append(found.start())
            elif opened:
                opened.pop()
            else:
                self._report_unbalanced(found.start(), "`}` has no matching `{`")
        for at in opened:
            self._report_unbalanced(at, "`{` is never closed")
        if nested and not self.errors:
            span = Span(nested[0], nested[0] + 1)
            help_ = "write one flat list, such as `{a,b,c}`"
            self.refuse(codes.NESTED_BRACE, "braces inside braces", span, help_)

    def _report_unbalanced(self, at: int, what: str) -> None:
        help_ = "write a variable as `{name}` and alternatives as `{js,ts}`"
        span = Span(at, at + 1)
        self.refuse(codes.UNBALANCED_BRACE, f"unbalanced brace: {what}", span, help_)

    def check_text(self) -> None:
        # The text in braces is checked later; here it is only a part of a segment.
        outside = _GROUP.sub(lambda group: "x" * len(group[0]), self.text)
        self._check_characters(outside)
        at = 0
        for segment in outside.split("/"):
            self._check_segment(segment, Span(at, at + len(segment)))
            at += len(segment) + 1

    def _check_characters(self, outside: str) -> None:
        for found in _FOREIGN.finditer(outside):
            headline = f"`{found[0]}` is not supported in patterns"
            help_ = _FOREIGN_HELP[found[0]]
            self.refuse(codes.UNSUPPORTED_PATTERN_SYNTAX, headline, Span(*found.span()), help_)
        for found in _CONTROL.finditer(self.text):
            headline = f"control character U+{ord(found[0]):04X} in a pattern"
            help_ = "remove it; `?` matches any one character"
            span = Span(*found.span())
            self.refuse(codes.CONTROL_CHARACTER_IN_PATTERN, headline, span, help_)

    def _check_segment(self, segment: str, span: Span) -> None:
        if not segment:
            self._report_empty_segment(span.start)
        elif segment in {".", ".."}:
            self._report_dots(segment, span)
        elif segment != "**":
            for stars in _STARS.finditer(segment):
                self._report_stars(span, Span(*stars.span()).shift(span.start))

    def _report_dots(self, segment: str, span: Span) -> None:
        headline = f"`{segment}` is never part of a path in the repository"
        help_ = "write the path from the top of the repository"
        self.refuse(codes.PATTERN_OUTSIDE_ROOT, headline, span, help_)

    def _report_stars(self, segment: Span, stars: Span) -> None:
        headline = f"`{self.text[stars.start : stars.end]}` is not a whole segment"
        before, after = self.text[segment.start : stars.start], self.text[stars.end : segment.end]
        one = f"{before}*{after}"
        help_ = f"write `{one}` within one folder, `**/{one}` at any depth"
        self.refuse(codes.UNSUPPORTED_PATTERN_SYNTAX, headline, stars, help_)

    def _report_empty_segment(self, at: int) -> None:
        if at == 0:
            headline = "the pattern begins with `/`"
            help_ = "write the path from the top of the repository, without `/` in front"
            self.refuse(codes.PATTERN_OUTSIDE_ROOT, headline, Span(0, 1), help_)
        elif at == len(self.text):
            help_ = f"for all files in the folder write `{self.text[-_SHOWN_IN_HELP:]}**`"
            headline = "the pattern ends with `/`"
            self.refuse(codes.EMPTY_SEGMENT, headline, Span(at - 1, at), help_)
        else:
            help_ = "remove one `/`"
            self.refuse(codes.EMPTY_SEGMENT, "empty segment", Span(at - 1, at + 1), help_)

    def read_parts(self) -> None:
        for found in _PARTS.finditer(self.text):
            span = Span(*found.span())
            self.parts.append((self._part(found[0], span), span))
        for check in (
            self._check_count,
            self._check_repeated,
            self._check_separated,
            self._check_dots,
        ):
            check()

    def _part(self, text: str, span: Span) -> Token:
        kind = _PLAIN_KINDS.get(text)
        if kind:
            return Wildcard(kind)
        if text[0] != "{":
            return Literal(text)
        return self._alternatives(text, span) if "," in text else self._variable(text, span)

    def _variable(self, text: str, span: Span) -> Token:
        name = text[1:-1]
        if not name.isidentifier():
            headline = f"`{text}` is not a variable" if name else "`{}` has no variable name"
            fix = _suggest_name(name)
            help_ = f"write `{{{fix}}}`" if fix else _NAME_HELP
            mend = Fix(span, f"{{{fix}}}") if fix else None
            self.refuse(codes.INVALID_VARIABLE_NAME, headline, span, help_, fix=mend)
        return variable_wildcard(name)

    def _alternatives(self, text: str, span: Span) -> Token:
        texts = tuple(text[1:-1].split(","))
        at = span.start + 1
        for one in texts:
            wrong = _wrong_alternative(one)
            if wrong:
                # An empty alternative has no text, so the braces are underlined.
                where = Span(at, at + len(one)) if one else span
                self.refuse(codes.BAD_ALTERNATIVE, wrong, where, "write plain texts: `{js,ts}`")
            at += len(one) + 1
        if len(texts) > MAX_ALTERNATIVES:
            headline = f"{len(texts)} alternatives, at most {MAX_ALTERNATIVES} are allowed"
            self.refuse(codes.BAD_ALTERNATIVE, headline, span, "write several patterns")
        return Alternatives(texts)

    def _check_count(self) -> None:
        counted = [
            span
            for token, span in self.parts
            if not isinstance(token, Literal) and token != Wildcard(PartKind.ONE)
        ]
        if len(counted) > MAX_WILDCARDS:
            headline = f"{len(counted)} wildcards, at most {MAX_WILDCARDS} are allowed"
            help_ = "use `**/` for any number of folders, or split the pattern"
            self.refuse(codes.TOO_MANY_WILDCARDS, headline, counted[MAX_WILDCARDS], help_)

    # Only the variable `path` crosses folders. So this check also makes sure that a pattern has at
    # most one such variable.
    def _check_repeated(self) -> None:
        first: dict[str, Span] = {}
        for token, span in self.parts:
            if not (isinstance(token, Wildcard) and token.name):
                continue
            if token.name in first:
                headline = f"variable `{token.name}` is used twice"
                labels = (Label(first[token.name], "first here"),)
                help_ = "use a different name in the second place"
                self.refuse(codes.REPEATED_VARIABLE, headline, span, help_, labels=labels)
            first.setdefault(token.name, span)

    def _check_separated(self) -> None:
        before: Span | None = None
        for token, span in self.parts:
            if isinstance(token, Literal):
                before = None
            elif isinstance(token, Wildcard) and token.name:
                if before:
                    headline = "two variables without literal text between them"
                    help_ = "put text between them, such as `/` or `-`, or use one variable"
                    self.refuse(codes.ADJACENT_VARIABLES, headline, before.to(span), help_)
                before = span

    def _check_dots(self) -> None:
        for span, segment in find_dot_segments(self.parts).items():
            self._report_dots(segment, span)


_NAME_HELP = "a name has letters, digits and `_`; `{*}` and `{**}` capture nothing"
_FOREIGN_HELP = {
    "!": "write the files that the rule applies to; put exceptions in `safety`",
    "[": "write alternatives, such as `{a,b}`, or `?` for any one character",
    "]": "write alternatives, such as `{a,b}`, or `?` for any one character",
    "\\": "separate folders with `/`; a backslash cannot escape characters",
}


def _suggest_name(wrong: str) -> str:
    guess = re.sub(r"\W", "_", wrong)
    near = guess.isidentifier() and len(guess) <= _SHOWN_IN_HELP and guess.strip("_") != ""
    return guess if near else ""


_WRONG_ALTERNATIVES: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda text: not text, "an alternative is empty"),
    (lambda text: text.strip() != text, "an alternative begins or ends with a space"),
    (lambda text: text.strip("/") != text, "an alternative begins or ends with `/`"),
    (lambda text: bool(_NOT_LITERAL.search(text)), "a wildcard inside alternatives"),
    (lambda text: bool(_FOREIGN.search(text)), "an alternative is not plain text"),
)


def _wrong_alternative(text: str) -> str:
    return next((what for test, what in _WRONG_ALTERNATIVES if test(text)), "")
