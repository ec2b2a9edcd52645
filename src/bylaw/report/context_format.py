"""Format a context document in its canonical form, which has the same meaning.

Markers are at the beginning of their line. Bodies of blocks with a schema are rewritten: keys in a
fixed order, two blanks a level, no needless quotes, types in canonical form (AC-A20). Prose, text
blocks and the body of LANGUAGE_SPEC stay byte for byte. A comment on a line of its own belongs to
the next key or list item; a comment at the end of a line belongs to the entry before it. If the
new text would not read as the same values and comments, the old text is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bylaw.languages.context.blocks import (
    LANGUAGE_SPEC,
    MARKER,
    MODULE,
    YAML_TYPES,
    Phase,
    read_blocks,
)
from bylaw.languages.context.blocks import all_blocks as blocks_in
from bylaw.languages.context.types import TypeTextError, parse_type
from bylaw.languages.yaml import YamlMapping, YamlScalar, YamlSequence, load_yaml
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile, Span
from bylaw.report.yaml_writer import BodyWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.languages.context.blocks import Block
    from bylaw.languages.context.types import TypeText
    from bylaw.languages.yaml import Node, Value, YamlPair
    from bylaw.report.context import ContextFiles

_COMMENT = re.compile(r"#[^\r\n]*")
_IN_HEADER = re.compile(r"[|>][^ \t\r\n]*[ \t]+(#[^\r\n]*)")


class _Entry(NamedTuple):
    start: int
    end: int
    key: int  # the identity of the pair or item
    is_collection: bool = False


class Comments:
    """The comments of one body. Entries are identified by `id()`, because they may be equal."""

    def __init__(self, source: SourceFile, span: Span, root: Node) -> None:
        self.last: list[str] = []
        self._text = source.text
        self._root = root  # keeps the nodes alive, so that their ids stay valid
        self._before: dict[int, list[str]] = {}
        self._beside: dict[int, str] = {}
        self._entries = list(_entries(root))
        self._starts = [entry.start for entry in self._entries]
        self._begun_by = dict(_first_entries(root))
        self.texts: list[str] = []
        for at, comment in _find_comments(source.text, span, root):
            self.texts.append(comment)
            self._attach(at, comment)

    def before(self, entry: YamlPair | Node) -> list[str]:
        """Return the comment lines above an entry."""
        return self._before.get(id(entry), [])

    def beside(self, entry: YamlPair | Node) -> str:
        """Return the comment at the end of the line of an entry, or an empty text."""
        return self._beside.get(id(entry), "")

    def has_within(self, node: Node) -> bool:
        """Check whether an entry below a node has a comment."""
        return any(
            entry.key in self._before or entry.key in self._beside for entry in _entries(node)
        )

    def _attach(self, at: int, comment: str) -> None:
        owner = self._owner(at)
        after = bisect_right(self._starts, at)
        if owner is not None:
            self._beside[owner] = comment
        elif after < len(self._entries):
            self._put_before(self._entries[after].key, comment)
        else:
            self.last.append(comment)

    def _put_before(self, entry: int, comment: str) -> None:
        """Add a line above an entry, or above the list item that the entry begins."""
        while entry in self._begun_by:
            entry = self._begun_by[entry]
        self._before.setdefault(entry, []).append(comment)

    def _owner(self, at: int) -> int | None:
        """Return the entry before a comment on the same line."""
        end = bisect_right(self._starts, at)
        begun = bisect_right(self._starts, self._line_start(at) - 1)
        here = self._entries[begun:end]
        whole: _Entry | None = None
        for entry in here:
            is_outer = whole is None or entry.start >= whole.end
            if entry.end <= at and is_outer and not self._has_own_lines(entry):
                whole = entry
        if whole is not None:
            return whole.key
        return here[-1].key if here else None

    def _has_own_lines(self, entry: _Entry) -> bool:
        """Whether a list or map has several lines: comments then belong to single lines."""
        return entry.is_collection and self._text[entry.start] not in "[{"

    def _line_start(self, at: int) -> int:
        return max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1


def _entries(node: Node) -> Iterator[_Entry]:
    """Yield the entries below a node in the order of the text, outer before inner."""
    if isinstance(node, YamlMapping):
        for pair in node.pairs:
            yield _Entry(pair.key.span.start, max(pair.key.span.end, pair.value.span.end), id(pair))
            yield from _entries(pair.value)
    elif isinstance(node, YamlSequence):
        for item in node.items:
            yield _Entry(item.span.start, item.span.end, id(item), not isinstance(item, YamlScalar))
            yield from _entries(item)


def _first_entries(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the first entry inside each list item, with that item."""
    if isinstance(node, YamlMapping):
        for pair in node.pairs:
            yield from _first_entries(pair.value)
    elif isinstance(node, YamlSequence):
        for item in node.items:
            for first in _entries(item):
                yield first.key, id(item)
                break
            yield from _first_entries(item)


def _scalars(node: Node) -> Iterator[YamlScalar]:
    if isinstance(node, YamlMapping):
        for pair in node.pairs:
            yield pair.key
            yield from _scalars(pair.value)
    elif isinstance(node, YamlSequence):
        for item in node.items:
            yield from _scalars(item)
    else:
        yield node


def _find_comments(text: str, span: Span, root: Node) -> Iterator[tuple[int, str]]:
    """Yield comments with their offsets: outside of scalars every `#` begins one."""
    at = span.start
    for scalar in _scalars(root):
        yield from _comments_between(text, at, scalar.span.start)
        header = None if scalar.plain else _IN_HEADER.match(text, scalar.span.start)
        if header is not None:
            yield header.start(1), header[1].rstrip()
        at = scalar.span.end
    yield from _comments_between(text, at, span.end)


def _comments_between(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in _COMMENT.finditer(text, start, end):
        yield found.start(), found[0].rstrip()


# All keys of all schemas, in the order that the language document uses in its example.
_ORDER = (
    *("name", "id", "kind", "description", "type", "default", "values"),
    *("args", "positional", "named", "reads_state", "writes_state", "effects"),
    *("enable", "responses", "workflows", "protocols", "guidelines", "checklists", "engineering"),
    *("set_state", "value", "constraints", "structure", "sections", "must_include", "formatting"),
    *("allow_code_blocks", "forbid_tables", "steps", "ref", "rules", "check", "preset"),
    *("tool", "block_type", "response_id"),
)
_RANKS: dict[Value, int] = {key: rank for rank, key in enumerate(_ORDER)}
# The values of these keys are data: their maps keep the order of the author.
_DATA_KEYS = frozenset({"default", "value"})
_BLANK_END = re.compile(r"\n[ \t\r]*\n\Z")


class FormattedFile(Struct, frozen=True):
    """A file, its location, and its canonical text."""

    path: str
    location: str
    text: str
    changed: bool


def format_documents(given: ContextFiles) -> list[FormattedFile]:
    """Format every file of a document. Raises LoadError if it does not load."""
    _ = given.required_document
    found = ((one, file.source, format_source(file.source)) for one, file in given.files)
    return [
        FormattedFile(one.path, one.location, text, text != source.text)
        for one, source, text in found
    ]


def format_source(source: SourceFile) -> str:
    """Return the canonical text of a file. Its document must load."""
    edits = [*_markers(source), *_bodies(source)]
    text, at = [], 0
    for span, new in sorted(edits):
        text += [source.text[at : span.start], new]
        at = span.end
    return "".join([*text, source.text[at:]])


def _markers(source: SourceFile) -> Iterator[tuple[Span, str]]:
    for found in MARKER.finditer(source.text):
        bom = BOM if found[0].startswith(BOM) else ""
        line_break = "\r" if found[0].endswith("\r") else ""
        yield Span(*found.span()), f"{bom}{found['marker']}{line_break}"


def _bodies(source: SourceFile) -> Iterator[tuple[Span, str]]:
    for block in blocks_in(read_blocks(source, Phase())):
        if block.type in YAML_TYPES and block.type != LANGUAGE_SPEC:
            span = block.header if block.type == MODULE else block.body
            yield span, _body(block, span)


def _body(block: Block, span: Span) -> str:
    old = block.source.slice(span)
    node = load_yaml(block.source, span)
    assert isinstance(node, YamlMapping), "the document loads"
    before = Comments(block.source, span, node)
    types = _types(block.type, node)
    writer = BodyWriter(before, lambda one: types.get(id(one), one.value), _rank, _DATA_KEYS)
    lines = list(writer.body(node))
    if not _has_same_meaning(lines, node, types, before):
        return old  # the new text exceeds a limit of YAML, for example with a very long key
    if block.blocks and _BLANK_END.search(old):
        lines.append("")
    line_break = "\r\n" if block.source.text[: span.start].endswith("\r\n") else "\n"
    return "".join(f"{line}{line_break}" for line in lines)


def _rank(key: Value) -> int:
    return _RANKS.get(key, len(_RANKS))


def _has_same_meaning(
    lines: list[str], node: YamlMapping, types: dict[int, str], comments: Comments
) -> bool:
    """Check that the new lines have the same values and comments as the old node."""
    source = SourceFile("", "".join(f"{line}\n" for line in lines))
    try:
        new = load_yaml(source)
    except LoadError:
        return False
    kept = Comments(source, Span(0, len(source.text)), new).texts
    return _meaning(new, {}) == _meaning(node, types) and sorted(kept) == sorted(comments.texts)


def _meaning(node: Node, types: dict[int, str]) -> object:
    """Return a value that is equal only for nodes of the same meaning: `1` is not `true`."""
    if isinstance(node, YamlMapping):
        return {pair.key.value: _meaning(pair.value, types) for pair in node.pairs}
    if isinstance(node, YamlSequence):
        return [_meaning(item, types) for item in node.items]
    value = types.get(id(node), node.value)
    return type(value).__name__, value


def _types(block_type: str, node: YamlMapping) -> dict[int, str]:
    """Return the canonical text of the scalars that are types, by identity (AC-A20)."""
    holders: list[Node] = [node] if block_type == "STATE" else []
    if block_type == "COMMAND":
        args = _child_node(node, "args")
        for kind in ("positional", "named"):
            items = _child_node(args, kind)
            holders += items.items if isinstance(items, YamlSequence) else ()
    found = (_child_node(holder, "type") for holder in holders)
    return {
        id(one): _canonical_type(str(one.value)) for one in found if isinstance(one, YamlScalar)
    }


def _child_node(node: Node | None, key: str) -> Node | None:
    pairs = node.pairs if isinstance(node, YamlMapping) else ()
    return next((pair.value for pair in pairs if pair.key.value == key), None)


def _canonical_type(text: str) -> str:
    try:
        return _type_text(parse_type(text))
    except TypeTextError:
        return text


def _type_text(type_: TypeText) -> str:
    of = ", ".join(map(_type_text, type_.of))
    return f"{type_.name}<{of}>" if of else type_.name
