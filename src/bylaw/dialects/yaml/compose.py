"""libyaml events → nodes with spans, or diagnostics. Uses a stack instead of recursion.

For a text, libyaml counts offsets in characters, without a byte order mark at the start. The end
that it reports for a block collection is the start of the next token, and the end of a block scalar
is after its blank lines. Both are moved back to the last visible character.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml
from msgspec import Struct, field
from yaml import events

from bylaw.dialects.yaml.nodes import Mapping, Node, Pair, Scalar, Sequence
from bylaw.dialects.yaml.problems import explain, rest_of_line
from bylaw.dialects.yaml.scalars import NumberTooLargeError, plain_value
from bylaw.model.codes import yaml as codes
from bylaw.model.diagnostic import Diagnostic, Label, error, in_order
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile, Span
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.dialects.yaml.nodes import Value
    from bylaw.model.codes import Code

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
    except _StopReading:
        root = None
    if composer.diagnostics or root is None:
        raise LoadError(in_order(composer.diagnostics))
    return root


class _StopReading(Exception):  # noqa: N818 - stops the reader; a diagnostic says why
    pass


class _Open(Struct):
    """A list or mapping whose end was not read yet. `seen` is None for a list."""

    start: int
    seen: dict[Value, Span] | None
    items: list[Node] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    key: Scalar | None = None

    @property
    def last(self) -> Node | None:
        if self.pairs:
            return self.pairs[-1].value
        return self.items[-1] if self.items else None

    def close(self, end: int) -> Node:
        span = Span(self.start, end)
        if self.seen is None:
            return Sequence(tuple(self.items), span)
        return Mapping(tuple(self.pairs), span)


class _Composer:
    def __init__(self, source: SourceFile, piece: Span) -> None:
        self.source = source
        self.piece = piece
        text = source.slice(piece)
        self.text = text.removeprefix(BOM)
        self.base = piece.start + len(text) - len(self.text)
        self.diagnostics: list[Diagnostic] = []
        self.stack: list[_Open] = []
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
            raise _StopReading

    def refuse(self, code: Code, headline: str, span: Span, help_: str) -> None:
        self.report(code, headline, span, help_)
        raise _StopReading

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

    def scalar(self, event: events.ScalarEvent) -> Scalar:
        span = self.span_of(event)
        if event.style in ("|", ">"):
            seen = self.source.slice(span).rstrip(_BLANKS)
            return Scalar(event.value, Span(span.start, span.start + len(seen)), plain=False)
        if event.style:
            return Scalar(event.value, span, plain=False)
        if span.start == span.end:
            return Scalar(None, self.after_last_sign(span.start), plain=True)
        try:
            return Scalar(plain_value(event.value), span, plain=True)
        except NumberTooLargeError:
            self.report(
                codes.YAML_NUMBER,
                "this number is too large",
                span,
                "write a smaller number, or put it in quotes if it is text",
            )
            return Scalar(event.value, span, plain=True)

    def after_last_sign(self, at: int) -> Span:
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
        self.add(Scalar(None, span, plain=True))

    def open(self, event: events.CollectionStartEvent) -> None:
        span = self.span_of(event)
        if len(self.stack) == MAX_DEPTH:
            headline = f"lists and mappings are nested more than {MAX_DEPTH} levels deep"
            start = Span(span.start, max(span.end, span.start + 1))
            self.refuse(codes.YAML_TOO_DEEP, headline, start, "make the structure flatter")
        is_mapping = isinstance(event, events.MappingStartEvent)
        self.stack.append(_Open(span.start, {} if is_mapping else None))

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
            parent.pairs.append(Pair(parent.key, node))
            parent.key = None

    def key(self, node: Node, seen: dict[Value, Span]) -> Scalar:
        if not isinstance(node, Scalar):
            help_ = "use a name as the key, or put the key in quotes"
            self.report(codes.YAML_COMPLEX_KEY, "a key cannot be a collection", node.span, help_)
            return Scalar(None, node.span, plain=True)
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
