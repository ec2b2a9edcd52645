"""YAML 1.2 text → nodes with spans. Shared by the languages that are written in YAML.

Only plain values are allowed: no tags, anchors, aliases, merge keys or directives.

libyaml parses; the composer turns its events into nodes, with a stack instead of recursion. For a
text, libyaml counts offsets in characters, without a byte order mark at the start. The end that it
reports for a block collection is the start of the next token, and the end of a block scalar is
after its blank lines. Both are moved back to the last visible character.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

import yaml
from msgspec import Struct, field
from yaml import events

from bylaw.languages.yaml_errors import explain, rest_of_line
from bylaw.model.codes import files as codes
from bylaw.model.diagnostic import Diagnostic, Label, error, sort_diagnostics
from bylaw.model.display import brief
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile, Span

if TYPE_CHECKING:
    from bylaw.model.codes import Code

Value: TypeAlias = "bool | int | float | str | None"
Plain: TypeAlias = "Value | list[Plain] | dict[Value, Plain]"


class YamlScalar(Struct, frozen=True, gc=False):
    """One value. `plain` is true if it is written without quotes and not as a block."""

    value: Value
    span: Span
    plain: bool

    def to_python(self) -> Plain:
        """Return the value without spans."""
        return self.value


class YamlSequence(Struct, frozen=True, gc=False):
    """A list. The span ends after its last item or its bracket."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> Plain:
        """Return the values without spans."""
        return [item.to_python() for item in self.items]


class YamlPair(Struct, frozen=True, gc=False):
    """A key with its value."""

    key: YamlScalar
    value: Node


class YamlMapping(Struct, frozen=True, gc=False):
    """Keys with values in the order of the text. All keys are different."""

    pairs: tuple[YamlPair, ...]
    span: Span

    def to_python(self) -> Plain:
        """Return the keys and values without spans."""
        return {pair.key.value: pair.value.to_python() for pair in self.pairs}


Node: TypeAlias = "YamlScalar | YamlSequence | YamlMapping"


MAX_NUMBER_CHARS = 300

_INFINITE = (".inf", ".Inf", ".INF")
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in _INFINITE},
    **{"-" + word: -math.inf for word in _INFINITE},
}

_NUMBER = re.compile(
    r"(?P<decimal>[-+]?[0-9]+)|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_BASES = {"decimal": 10, "octal": 8, "hex": 16}


class NumberTooLargeError(ValueError):
    """A number with too many characters, or a float that would become infinite."""


def plain_value(text: str) -> Value:
    """Return the value of a scalar without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if len(text) > MAX_NUMBER_CHARS:
        raise NumberTooLargeError
    kind = str(match.lastgroup)
    if kind != "float":
        return int(match[kind], _BASES[kind])
    value = float(text)
    if math.isinf(value):
        raise NumberTooLargeError
    return value


MAX_CHARS = 1_000_000
MAX_DEPTH = 64
MAX_DIAGNOSTICS = 100

# U+0085, U+2028 and U+2029 are text in YAML 1.2, but line breaks in libyaml, so they are invalid.
_UNPRINTABLE = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BLANKS = " \t\r\n"
_TAG = re.compile(r"!(?:<[^>\n]*>|[^\s,\[\]{}]*)")
_ANCHOR = re.compile(r"&[^\s,\[\]{}]*")


def load_yaml(source: SourceFile, span: Span | None = None) -> Node:
    """Read one YAML document: the complete source, or the part of it that `span` selects.

    Raises `LoadError`.
    """
    composer = _Composer(source, span or Span(0, len(source.text)))
    try:
        root = composer.read()
    except _ParseAborted:
        root = None
    if composer.diagnostics or root is None:
        raise LoadError(sort_diagnostics(composer.diagnostics))
    return root


class _ParseAborted(Exception):  # noqa: N818 - stops the reader; a diagnostic says why
    pass


class _OpenCollection(Struct):
    """A list or mapping whose end was not read yet. `seen` is None for a list."""

    start: int
    seen: dict[Value, Span] | None
    items: list[Node] = field(default_factory=list)
    pairs: list[YamlPair] = field(default_factory=list)
    key: YamlScalar | None = None

    @property
    def last(self) -> Node | None:
        if self.pairs:
            return self.pairs[-1].value
        return self.items[-1] if self.items else None

    def close(self, end: int) -> Node:
        span = Span(self.start, end)
        if self.seen is None:
            return YamlSequence(tuple(self.items), span)
        return YamlMapping(tuple(self.pairs), span)


class _Composer:
    def __init__(self, source: SourceFile, piece: Span) -> None:
        self.source = source
        self.piece = piece
        text = source.slice(piece)
        self.text = text.removeprefix(BOM)
        self.base = piece.start + len(text) - len(self.text)
        self.diagnostics: list[Diagnostic] = []
        self.stack: list[_OpenCollection] = []
        self.root: Node | None = None
        self.begun = False

    def read(self) -> Node | None:
        self.check_text()
        parser = yaml.CSafeLoader(self.text)
        try:
            while event := parser.get_event():
                self.take(event)
        except yaml.MarkedYAMLError as problem:
            opened = self.stack[-1].start - self.base if self.stack else None
            finding = explain(problem, self.text, opened)
            labels = tuple(Label(span.shift(self.base), text) for span, text in finding.labels)
            span = finding.span.shift(self.base)
            self.report(finding.code, finding.headline, span, finding.help, labels)
        finally:
            parser.dispose()
        return self.root

    def check_text(self) -> None:
        size = len(self.text)
        if size > MAX_CHARS:
            headline = f"the YAML text is too long: {size:,} characters"
            start = Span(self.base, rest_of_line(self.text, 0) + self.base)
            self.refuse(codes.YAML_TOO_LARGE, headline, start, f"write at most {MAX_CHARS:,}")
        if bad := _UNPRINTABLE.search(self.text):
            headline = f"the character U+{ord(bad[0]):04X} is not allowed in YAML"
            escape = "delete it, or write it as an escape in double quotes"
            self.refuse(codes.YAML_CHARACTER, headline, Span(*bad.span()).shift(self.base), escape)

    def report(
        self, code: Code, headline: str, span: Span, help_: str, labels: tuple[Label, ...] = ()
    ) -> None:
        self.diagnostics.append(error(code, headline, self.source, span, help=help_, labels=labels))
        if len(self.diagnostics) >= MAX_DIAGNOSTICS:
            raise _ParseAborted

    def refuse(self, code: Code, headline: str, span: Span, help_: str) -> None:
        self.report(code, headline, span, help_)
        raise _ParseAborted

    def span_of(self, event: yaml.Event) -> Span:
        start, end = event.start_mark, event.end_mark
        assert start is not None, "libyaml marks every event"
        assert end is not None, "libyaml marks every event"
        return Span(start.index + self.base, end.index + self.base)

    def take(self, event: yaml.Event) -> None:
        match event:
            case events.ScalarEvent():
                self.check_properties(event)
                self.add(self.scalar(event))
            case events.CollectionStartEvent():
                self.check_properties(event)
                self.open(event)
            case events.CollectionEndEvent():
                self.close(event)
            case events.AliasEvent():
                self.alias(event)
            case events.DocumentStartEvent():
                self.begin(event)
            case events.StreamEndEvent() if not self.begun:
                line = Span(self.base, self.base + len(self.text.partition("\n")[0].rstrip()))
                help_ = "add the keys of this file or block"
                self.refuse(codes.YAML_EMPTY, "missing YAML document", line, help_)

    def begin(self, event: events.DocumentStartEvent) -> None:
        span = self.span_of(event)
        if self.begun:
            headline = "unexpected second YAML document"
            self.refuse(codes.YAML_SEVERAL_DOCUMENTS, headline, span, "keep one document")
        self.begun = True
        if event.version or event.tags:
            line = Span(span.start, rest_of_line(self.text, span.start - self.base) + self.base)
            headline = f"directive `{brief(self.source.slice(line))}` is not allowed"
            self.report(codes.YAML_DIRECTIVE, headline, line, "delete the line")

    def scalar(self, event: events.ScalarEvent) -> YamlScalar:
        span = self.span_of(event)
        if event.style in ("|", ">"):
            seen = self.source.slice(span).rstrip(_BLANKS)
            return YamlScalar(event.value, Span(span.start, span.start + len(seen)), plain=False)
        if event.style:
            return YamlScalar(event.value, span, plain=False)
        if span.start == span.end:
            return YamlScalar(None, self.end_of_last_word(span.start), plain=True)
        try:
            return YamlScalar(plain_value(event.value), span, plain=True)
        except NumberTooLargeError:
            self.report(
                codes.YAML_NUMBER,
                "this number is too large",
                span,
                "write a smaller number, or put it in quotes if it is text",
            )
            return YamlScalar(event.value, span, plain=True)

    def end_of_last_word(self, at: int) -> Span:
        """Return the place of a missing value: before the blanks that follow its key."""
        while at > self.base and self.source.text[at - 1] in _BLANKS:
            at -= 1
        return Span(at, at)

    def check_properties(self, event: events.ScalarEvent | events.CollectionStartEvent) -> None:
        if event.anchor is not None:
            self.report_property(codes.YAML_ANCHOR, "anchor", _ANCHOR, self.span_of(event))
        if event.tag is not None:
            self.report_property(codes.YAML_TAG, "tag", _TAG, self.span_of(event))

    def report_property(self, code: Code, noun: str, pattern: re.Pattern[str], at: Span) -> None:
        found = pattern.search(self.source.text, at.start)
        assert found is not None, "libyaml found it here"
        help_ = "delete it, or put the value in quotes if it is part of the value"
        self.report(code, f"{noun} `{brief(found[0])}` is not allowed", Span(*found.span()), help_)

    def alias(self, event: events.AliasEvent) -> None:
        span = self.span_of(event)
        help_ = "write the value itself, or put it in quotes if `*` is part of it"
        headline = f"alias `{brief(self.source.slice(span))}` is not allowed"
        self.report(codes.YAML_ALIAS, headline, span, help_)
        self.add(YamlScalar(None, span, plain=True))

    def open(self, event: events.CollectionStartEvent) -> None:
        span = self.span_of(event)
        if len(self.stack) == MAX_DEPTH:
            headline = f"lists and mappings are nested more than {MAX_DEPTH} levels deep"
            start = Span(span.start, max(span.end, span.start + 1))
            self.refuse(codes.YAML_TOO_DEEP, headline, start, "make the structure flatter")
        is_mapping = isinstance(event, events.MappingStartEvent)
        self.stack.append(_OpenCollection(span.start, {} if is_mapping else None))

    def close(self, event: events.CollectionEndEvent) -> None:
        opened = self.stack.pop()
        span = self.span_of(event)
        # The end event of a block has no width: its end is the end of its last value.
        ends_with = opened.last if span.start == span.end else None
        self.add(opened.close(ends_with.span.end if ends_with else span.end))

    def add(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if parent.seen is None:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self.key(node, parent.seen)
        else:
            parent.pairs.append(YamlPair(parent.key, node))
            parent.key = None

    def key(self, node: Node, seen: dict[Value, Span]) -> YamlScalar:
        if not isinstance(node, YamlScalar):
            help_ = "use a name as the key, or put the key in quotes"
            self.report(codes.YAML_COMPLEX_KEY, "a key cannot be a collection", node.span, help_)
            return YamlScalar(None, node.span, plain=True)
        if node.plain and node.value == "<<":
            help_ = "write the keys themselves, or quote `<<` if it is a name"
            self.report(codes.YAML_MERGE_KEY, "merge key `<<` is not allowed", node.span, help_)
        elif node.value in seen:
            first, name = seen[node.value], brief(self.source.slice(node.span))
            known = brief(self.source.slice(first))
            headline = f"duplicate key `{name}`"
            headline += "" if name == known else f": it is equal to `{known}`"
            help_, labels = "delete or rename one of the two", (Label(first, "first used here"),)
            self.report(codes.YAML_DUPLICATE_KEY, headline, node.span, help_, labels)
        seen.setdefault(node.value, node.span)
        return node


__all__ = [
    "MAX_CHARS",
    "MAX_DEPTH",
    "MAX_NUMBER_CHARS",
    "Node",
    "YamlMapping",
    "YamlPair",
    "YamlScalar",
    "YamlSequence",
    "load_yaml",
]
