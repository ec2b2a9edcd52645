"""YAML 1.2 text → nodes with spans. Shared by the languages that are written in YAML.

Only plain values are allowed: no tags, anchors, aliases, merge keys or directives.
"""

from bylaw.dialects.yaml.compose import MAX_CHARS, MAX_DEPTH, load_yaml
from bylaw.dialects.yaml.nodes import Mapping, Node, Pair, Scalar, Sequence
from bylaw.dialects.yaml.scalars import MAX_NUMBER_CHARS

__all__ = [
    "MAX_CHARS",
    "MAX_DEPTH",
    "MAX_NUMBER_CHARS",
    "Mapping",
    "Node",
    "Pair",
    "Scalar",
    "Sequence",
    "load_yaml",
]
