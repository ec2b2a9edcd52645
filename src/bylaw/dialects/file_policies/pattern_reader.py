"""Keys that contain path patterns → the checked patterns, and findings at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects.file_policies.sieve import pattern
from bylaw.dialects.yaml import Mapping, Scalar, Sequence
from bylaw.expr.paths import check_resolvable, check_same_variables
from bylaw.model.errors import PatternError
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.dialects.yaml import Node
    from bylaw.dialects.yaml.fields import Fields
    from bylaw.expr.paths import Pattern
    from bylaw.model.diagnostic import Diagnostic

MAX_PATTERNS = 100  # of one key
QUOTE = "quote the pattern"


class Placed(Struct, frozen=True):
    """A pattern with its key and its place. `made` is None if the pattern is invalid."""

    key: str
    node: Scalar
    made: Pattern | None

    @property
    def text(self) -> str:
        """The pattern as written."""
        return str(self.node.value)


def texts_of(placed: Iterable[Placed]) -> tuple[str, ...]:
    """Return the patterns as written, each once."""
    return tuple(dict.fromkeys(one.text for one in placed))


class PatternReader:
    """Reads the patterns of one mapping; `prefix` names the mapping in messages."""

    def __init__(self, fields: Fields, prefix: str = "") -> None:
        self._fields = fields
        self._prefix = prefix

    def one_or_more(self, key: str) -> list[Placed]:
        """Read a pattern, or a non-empty list of them (DW-A10)."""
        return list(self._placed(key, self._nodes(key)))

    def only_one(self, key: str) -> list[Placed]:
        """Read exactly one pattern."""
        node = self._fields.node_of(key)
        if isinstance(node, Sequence):
            self._fields.wrong(key, "one pattern, not a list")
            return []
        return self.one_or_more(key)

    def several(self, key: str) -> list[Placed]:
        """Read a list of patterns."""
        node = self._fields.node_of(key)
        if isinstance(node, Scalar):
            self._fields.wrong(key, "a list of patterns", f"write `{key}:` with `- …` lines below")
            return []
        return self.one_or_more(key)

    def _nodes(self, key: str) -> list[Node]:
        node = self._fields.node_of(key)
        if not isinstance(node, Sequence):
            return [] if node is None else [node]
        if not node.items:
            self._fields.wrong(key, "a pattern or a list of patterns", "the list is empty")
        if len(node.items) > MAX_PATTERNS:
            self._fields.wrong(key, f"at most {MAX_PATTERNS} patterns")
            return []
        return list(node.items)

    def _placed(self, key: str, nodes: Iterable[Node]) -> Iterator[Placed]:
        for node in nodes:
            if isinstance(node, Scalar) and isinstance(node.value, str):
                yield Placed(key, node, self._made(key, node))
            else:
                self._no_pattern(key, node)

    def _no_pattern(self, key: str, node: Node) -> None:
        """Report a value that is not a pattern: YAML reads braces and stars otherwise (DW-A32)."""
        findings = self._fields.findings
        empty = isinstance(node, Scalar) and node.value is None
        help_ = "write one, such as `src/**/*.py`" if empty else QUOTE
        if isinstance(node, Mapping):
            help_ = f"{QUOTE}: without quotes YAML reads `{{…}}` as keys and values"
        span = node.span if node.span.start < node.span.end else self._fields.span(key)
        headline = f"`{self._prefix}{key}` must contain path patterns"
        findings.refuse(findings.codes.wrong_value, headline, span, help_)

    def _made(self, key: str, node: Scalar) -> Pattern | None:
        try:
            return pattern(str(node.value))
        except PatternError as wrong:
            self._tell(key, node, wrong.diagnostics)
            return None

    def check_set(self, placed: list[Placed]) -> None:
        """Report variables that are not in all patterns of a set."""
        different = list({one.text: one for one in placed}.values())
        made = [one.made for one in different if one.made]
        if len(made) == len(different):
            self._tell_of(different, check_same_variables(made))

    def check_expected(self, wanted: list[Placed], given: list[Placed]) -> None:
        """Report variables of expected patterns that the trigger of the pair does not capture."""
        for one in wanted:
            for other in given:
                if one.made and other.made:
                    self._tell_of([one], check_resolvable(one.made, other.made))

    def _tell_of(self, placed: list[Placed], found: list[Diagnostic]) -> None:
        for each in found:
            for one in placed:
                if one.made and one.made.source is each.source:
                    self._tell(one.key, one.node, [each])

    def _tell(self, key: str, node: Scalar, found: list[Diagnostic]) -> None:
        """Report findings with key and pattern in the headline, at their place (DW-040)."""
        which = f"`{self._prefix}{key}: {brief(str(node.value))}`"
        told = [replace(one, headline=f"{which}: {one.headline}") for one in found]
        self._fields.findings.relocate(told, node)
