"""The bodies of YAML blocks → nodes with spans, or the error codes of the language (AC-A14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.framing import LANGUAGE_SPEC, MODULE, YAML_TYPES
from bylaw.dialects.context.schema import DEFAULT
from bylaw.dialects.yaml import Mapping, Sequence, load_yaml
from bylaw.model.codes import yaml as yaml_codes
from bylaw.model.codes.context import INVALID_YAML, PARSE_ERROR, SCHEMA_VIOLATION
from bylaw.model.errors import LoadError
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.dialects.context.framing import Block
    from bylaw.dialects.context.problems import Phase
    from bylaw.dialects.yaml import Node
    from bylaw.model.codes import Code

MAX_BODY = 100_000  # characters: nobody writes more into one block, and YAML takes its time
_CODES: dict[str, Code] = {
    **dict.fromkeys(
        (
            yaml_codes.YAML_ANCHOR.name,
            yaml_codes.YAML_ALIAS.name,
            yaml_codes.YAML_TAG.name,
            yaml_codes.YAML_MERGE_KEY.name,
            yaml_codes.YAML_DIRECTIVE.name,
            yaml_codes.YAML_COMPLEX_KEY.name,
        ),
        INVALID_YAML,
    ),
    yaml_codes.YAML_DUPLICATE_KEY.name: SCHEMA_VIOLATION,
    yaml_codes.YAML_NUMBER.name: SCHEMA_VIOLATION,
}


def body_of(block: Block, yaml_phase: Phase, schema_phase: Phase) -> Node | None:
    """What a YAML block holds; None if it holds text, or what is wrong was noted."""
    if block.type not in YAML_TYPES:
        return None
    span = block.header if block.type == MODULE else block.body
    if span.end - span.start > MAX_BODY:
        message = f"the body of a block has at most {MAX_BODY:,} characters"
        yaml_phase.add(PARSE_ERROR, message, block.place(), "make several blocks of it")
        return None
    try:
        node = load_yaml(block.source, span)
    except LoadError as refused:
        for finding in refused.diagnostics:
            code = _CODES.get(finding.code, PARSE_ERROR)
            phase = schema_phase if code is SCHEMA_VIOLATION else yaml_phase
            # An empty body has no line of its own: its marker stands for it.
            place = block.place(finding.span if finding.span.end > finding.span.start else None)
            phase.add(code, finding.headline, place, finding.help)
        return None
    if block.type != LANGUAGE_SPEC:
        _check_keys(node, block, yaml_phase)
    return node


def _check_keys(node: Node, block: Block, phase: Phase) -> None:
    """Keys of a schema are texts; those of a value are asked when its type is known (AC-078)."""
    if isinstance(node, Sequence):
        for item in node.items:
            _check_keys(item, block, phase)
    elif isinstance(node, Mapping):
        for pair in node.pairs:
            if not isinstance(pair.key.value, str):
                written = brief(block.source.slice(pair.key.span))
                place = block.place(pair.key.span)
                phase.add(
                    INVALID_YAML, f"the key `{written}` is no text", place, "put it in quotes"
                )
            if pair.key.value != DEFAULT:
                _check_keys(pair.value, block, phase)
