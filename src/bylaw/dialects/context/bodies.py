"""The bodies of YAML blocks → nodes with spans, or the error codes of the language (AC-A14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.context.framing import MODULE, YAML_TYPES
from bylaw.dialects.yaml import Mapping, load_yaml
from bylaw.model.codes import yaml as yaml_codes
from bylaw.model.codes.context import INVALID_YAML, PARSE_ERROR, SCHEMA_VIOLATION
from bylaw.model.errors import LoadError

if TYPE_CHECKING:
    from bylaw.dialects.context.framing import Block
    from bylaw.dialects.context.problems import Phase
    from bylaw.dialects.yaml import Node
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic

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


def body_of(block: Block, phase: Phase) -> Node | None:
    """What a YAML block holds; None if it holds text, or what is wrong was noted."""
    if block.type not in YAML_TYPES:
        return None
    span = block.header if block.type == MODULE else block.body
    try:
        node = load_yaml(block.source, span)
    except LoadError as refused:
        for finding in refused.diagnostics:
            _note(finding, block, phase)
        return None
    if not isinstance(node, Mapping):
        message = f"`{block.type}` holds no keys and values"
        phase.add(SCHEMA_VIOLATION, message, block.place(node.span), "write `key: value` lines")
        return None
    return node


def _note(finding: Diagnostic, block: Block, phase: Phase) -> None:
    code = _CODES.get(finding.code, PARSE_ERROR)
    # An empty body has no line of its own: its marker stands for it.
    place = block.place(finding.span if finding.span.end > finding.span.start else None)
    phase.add(code, finding.headline, place, finding.help)
