"""The bodies of YAML blocks → nodes with spans, or errors with codes of the language (AC-A14)."""

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

MAX_BODY = 100_000  # characters: more than any real block has, and longer YAML parses slowly
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
    """Return the YAML of a block; None for a text block, or after adding an error to a phase."""
    if block.type not in YAML_TYPES:
        return None
    span = block.header if block.type == MODULE else block.body
    if span.end - span.start > MAX_BODY:
        message = f"the body of the block is longer than {MAX_BODY:,} characters"
        yaml_phase.add(PARSE_ERROR, message, block.place(), "split it into several blocks")
        return None
    try:
        node = load_yaml(block.source, span)
    except LoadError as refused:
        for finding in refused.diagnostics:
            code = _CODES.get(finding.code, PARSE_ERROR)
            phase = schema_phase if code is SCHEMA_VIOLATION else yaml_phase
            # An empty body has no line to underline, so underline the marker.
            place = block.place(finding.span if finding.span.end > finding.span.start else None)
            phase.add(code, finding.headline, place, finding.help)
        return None
    if block.type != LANGUAGE_SPEC:
        _check_keys(node, block, yaml_phase)
    return node


def _check_keys(node: Node, block: Block, phase: Phase) -> None:
    """Check that keys are texts. The type check handles keys inside a default (AC-078)."""
    if isinstance(node, Sequence):
        for item in node.items:
            _check_keys(item, block, phase)
    elif isinstance(node, Mapping):
        for pair in node.pairs:
            if not isinstance(pair.key.value, str):
                written = brief(block.source.slice(pair.key.span))
                place = block.place(pair.key.span)
                phase.add(INVALID_YAML, f"key `{written}` is not a text", place, "put it in quotes")
            if pair.key.value != DEFAULT:
                _check_keys(pair.value, block, phase)
