"""Texts of all files → one checked document, or the problems of the first phase that found any.

framing → YAML → schema → uniqueness → references → types (AC-A16)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.bodies import body_of
from bylaw.dialects.context.fields import Fields
from bylaw.dialects.context.framing import LANGUAGE_SPEC, MODULE, all_blocks, framed
from bylaw.dialects.context.linking import Linked
from bylaw.dialects.context.problems import Phase
from bylaw.dialects.context.schema import READERS, read_module
from bylaw.dialects.context.typing_phase import Typing
from bylaw.dialects.context.uniqueness import check_uniqueness
from bylaw.dialects.yaml import Mapping, Scalar
from bylaw.model.codes.context import PARSE_ERROR, SCHEMA_VIOLATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.context.declared import Module
    from bylaw.dialects.context.document import Document
    from bylaw.dialects.context.framing import Block
    from bylaw.model.source import SourceFile

VERSION = "0.4.20"
NOT_IN_MODULE = "Block must be contained within a MODULE."


def read_document(sources: Sequence[SourceFile]) -> Document:
    """The document of all files; DocumentError if it is wrong."""
    top = _framed(sources)
    modules = _modules(top, _bodies(top))
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
    top = [block for source in sources for block in framed(source, phase)]
    begun = False
    specs = 0
    for block in top:
        if block.type == LANGUAGE_SPEC:
            specs += 1
            if begun or specs > 1:
                why = "behind a module" if begun else "a second time"
                message = f"`{LANGUAGE_SPEC}` stands {why}"
                phase.add(PARSE_ERROR, message, block.place(), "it comes first, and once")
        begun = begun or block.type == MODULE
    phase.end()
    return top


def _bodies(top: list[Block]) -> dict[int, Mapping]:
    """The YAML of every block that has some, by identity."""
    phase = Phase()
    bodies = {}
    for block in all_blocks(top):
        node = body_of(block, phase)
        if isinstance(node, Mapping):
            bodies[id(block)] = node
    phase.end()
    return bodies


def _modules(top: list[Block], bodies: dict[int, Mapping]) -> list[Module]:
    phase = Phase()
    modules = []
    for block in top:
        if block.type == LANGUAGE_SPEC:
            _check_version(Fields(bodies[id(block)], block, phase))
        elif block.type != MODULE:
            phase.add(SCHEMA_VIOLATION, NOT_IN_MODULE, block.place())
        else:
            module = read_module(Fields(bodies[id(block)], block, phase))
            for inner in block.blocks:
                reader = READERS.get(inner.type)
                if module is not None and reader is not None:
                    reader(module, Fields(bodies[id(inner)], inner, phase))
            modules += [module] if module is not None else []
    phase.end()
    return modules


def _check_version(fields: Fields) -> None:
    """Its contents configure nothing; its version must be the one we know (AC-A03)."""
    node = fields.node_of("version")
    if node is None:
        return
    written = fields.block.source.slice(node.span).strip("\"'")
    if not isinstance(node, Scalar) or written != VERSION:
        message = f"version `{written[:20]}` of the language is not known"
        fields.wrong(message, node.span, f"write `version: {VERSION}`")
