"""Format a context document in its canonical form, which has the same meaning.

Markers are at the beginning of their line. Bodies of blocks with a schema are rewritten: keys in a
fixed order, two blanks a level, no needless quotes, types in canonical form. Comments stay with
their entries. Prose, text blocks and the body of LANGUAGE_SPEC stay byte for byte.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.context.framing import LANGUAGE_SPEC, MARKER, MODULE, YAML_TYPES, framed
from bylaw.dialects.context.framing import all_blocks as blocks_in
from bylaw.dialects.context.problems import Phase
from bylaw.dialects.context.types import TypeTextError, parse_type
from bylaw.dialects.yaml import Mapping, Scalar, Sequence, load_yaml
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile, Span
from bylaw.tools.context.yaml_comments import Comments
from bylaw.tools.context.yaml_writing import BodyWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.context.framing import Block
    from bylaw.dialects.context.types import TypeText
    from bylaw.dialects.yaml import Node
    from bylaw.dialects.yaml.nodes import Value
    from bylaw.tools.context.documents import GivenDocument

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
_FREE = frozenset({"default", "value"})
_BLANK_END = re.compile(r"\n[ \t\r]*\n\Z")


class Formatted(Struct, frozen=True):
    """A file, its location, and its canonical text."""

    path: str
    location: str
    text: str
    changed: bool


def format_documents(given: GivenDocument) -> list[Formatted]:
    """Format every file of a document. Raises LoadError if it does not load."""
    _ = given.sound
    found = ((one, file.source, formatted(file.source)) for one, file in given.files)
    return [
        Formatted(one.path, one.location, text, text != source.text) for one, source, text in found
    ]


def formatted(source: SourceFile) -> str:
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
    for block in blocks_in(framed(source, Phase())):
        if block.type in YAML_TYPES and block.type != LANGUAGE_SPEC:
            span = block.header if block.type == MODULE else block.body
            yield span, _body(block, span)


def _body(block: Block, span: Span) -> str:
    old = block.source.slice(span)
    node = load_yaml(block.source, span)
    assert isinstance(node, Mapping), "the document loads"
    before = Comments(block.source, span, node)
    types = _types(block.type, node)
    writer = BodyWriter(before, lambda one: types.get(id(one), one.value), _rank, _FREE)
    lines = list(writer.body(node))
    if not _says_the_same(lines, node, types, before):
        return old  # the new text exceeds a limit of YAML, for example with a very long key
    if block.blocks and _BLANK_END.search(old):
        lines.append("")
    line_break = "\r\n" if block.source.text[: span.start].endswith("\r\n") else "\n"
    return "".join(f"{line}{line_break}" for line in lines)


def _rank(key: Value) -> int:
    return _RANKS.get(key, len(_RANKS))


def _says_the_same(
    lines: list[str], node: Mapping, types: dict[int, str], comments: Comments
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
    if isinstance(node, Mapping):
        return {pair.key.value: _meaning(pair.value, types) for pair in node.pairs}
    if isinstance(node, Sequence):
        return [_meaning(item, types) for item in node.items]
    value = types.get(id(node), node.value)
    return type(value).__name__, value


def _types(block_type: str, node: Mapping) -> dict[int, str]:
    """Return the canonical text of the scalars that are types, by identity (AC-A20)."""
    holders: list[Node] = [node] if block_type == "STATE" else []
    if block_type == "COMMAND":
        args = _at(node, "args")
        for kind in ("positional", "named"):
            items = _at(args, kind)
            holders += items.items if isinstance(items, Sequence) else ()
    found = (_at(holder, "type") for holder in holders)
    return {id(one): _canonical(str(one.value)) for one in found if isinstance(one, Scalar)}


def _at(node: Node | None, key: str) -> Node | None:
    pairs = node.pairs if isinstance(node, Mapping) else ()
    return next((pair.value for pair in pairs if pair.key.value == key), None)


def _canonical(text: str) -> str:
    try:
        return _written(parse_type(text))
    except TypeTextError:
        return text


def _written(type_: TypeText) -> str:
    of = ", ".join(map(_written, type_.of))
    return f"{type_.name}<{of}>" if of else type_.name
