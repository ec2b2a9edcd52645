"""Texts of all files → one checked document, or the errors of the first phase that found any.

framing → YAML → schema → uniqueness → references → types (AC-A16)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.bodies import body_of
from bylaw.dialects.context.fields import Fields
from bylaw.dialects.context.framing import LANGUAGE_SPEC, MODULE, all_blocks, framed
from bylaw.dialects.context.linking import Linked
from bylaw.dialects.context.names import VERSION
from bylaw.dialects.context.problems import Phase
from bylaw.dialects.context.schema import READERS, read_module
from bylaw.dialects.context.typing_phase import Typing
from bylaw.dialects.context.uniqueness import check_uniqueness
from bylaw.dialects.yaml import Mapping, Scalar
from bylaw.model.codes.context import PARSE_ERROR, SCHEMA_VIOLATION
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.context.declared import Module
    from bylaw.dialects.context.document import Document
    from bylaw.dialects.context.framing import Block
    from bylaw.dialects.yaml import Node
    from bylaw.model.source import SourceFile

NOT_IN_MODULE = "Block must be contained within a MODULE."


def read_document(sources: Sequence[SourceFile]) -> Document:
    """Return the document of all files; raise DocumentError if it has errors."""
    modules = _modules(_framed(sources))
    phase = Phase()
    check_uniqueness(modules, phase)
    phase.end()
    phase = Phase()
    linked = Linked(modules, phase)
    phase.end()
    phase = Phase()
    document = Typing(modules, linked, phase).document()
    phase.end()
    return document


def _framed(sources: Sequence[SourceFile]) -> list[Block]:
    phase = Phase()
    files = [framed(source, phase) for source in sources]
    _check_root(files, phase)
    phase.end()
    return [block for blocks in files for block in blocks]


def _check_root(files: Sequence[list[Block]], phase: Phase) -> None:
    """Check that there is at most one `LANGUAGE_SPEC`, before the modules of its file (AC-A04).

    It may be in any file, because the order of files has no meaning (AC-A42).
    """
    specs = 0
    for blocks in files:
        begun = False
        for block in blocks:
            if block.type == LANGUAGE_SPEC:
                specs += 1
                if begun or specs > 1:
                    why = "after a module" if begun else "a second time"
                    message = f"`{LANGUAGE_SPEC}` appears {why}"
                    phase.add(
                        PARSE_ERROR, message, block.place(), "write it once, as the first block"
                    )
            begun = begun or block.type == MODULE


def _modules(top: list[Block]) -> list[Module]:
    """Run the phases YAML and schema. Schema errors do not hide YAML errors of other blocks."""
    in_yaml, in_schema = Phase(), Phase()
    bodies = {id(block): body_of(block, in_yaml, in_schema) for block in all_blocks(top)}
    in_yaml.end()

    def fields(block: Block) -> Fields | None:
        return _fields(bodies[id(block)], block, in_schema)

    modules = []
    for block in top:
        if block.type == LANGUAGE_SPEC:
            _check_version(fields(block))
        elif block.type != MODULE:
            in_schema.add(SCHEMA_VIOLATION, NOT_IN_MODULE, block.place())
        elif (header := fields(block)) is not None and (module := read_module(header)) is not None:
            for inner in block.blocks:
                if inner.type in READERS and (inside := fields(inner)) is not None:
                    READERS[inner.type](module, inside)
            modules.append(module)
    in_schema.end()
    return modules


def _fields(node: Node | None, block: Block, phase: Phase) -> Fields | None:
    if node is None:
        return None  # a text block, or `body_of` has added an error
    if isinstance(node, Mapping):
        return Fields(node, block, phase)
    message = f"`{block.type}` must contain keys and values"
    phase.add(SCHEMA_VIOLATION, message, block.place(node.span), "write `key: value` lines")
    return None


def _check_version(fields: Fields | None) -> None:
    """Check that the version is the supported one (AC-A03). Other keys have no effect."""
    if fields is None:
        return
    node, hint = fields.node_of("version"), f"write `version: {VERSION}`"
    if node is None:
        fields.wrong(f"missing key `version` in `{LANGUAGE_SPEC}`", None, hint)
    elif not isinstance(node, Scalar) or node.value != VERSION:
        written = brief(fields.block.source.slice(node.span))
        fields.wrong(f"unsupported language version `{written}`", node.span, hint)
