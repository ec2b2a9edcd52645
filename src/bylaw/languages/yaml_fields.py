"""Read the keys of a YAML mapping as values of the expected types, and collect findings.

The caller says which keys are allowed; the language defines the codes of the findings. A missing
or wrong value is None. A finding reports a wrong value, and a missing one if it is required.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.yaml import YamlMapping, YamlScalar, YamlSequence
from bylaw.model.diagnostic import (
    MAX_ERRORS,
    Diagnostic,
    FindingList,
    Label,
    error,
    sort_diagnostics,
    warning,
)
from bylaw.model.display import brief
from bylaw.model.suggest import did_you_mean, nearest_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bylaw.languages.yaml import Node
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span

Choice = TypeVar("Choice", bound=StrEnum)


class FieldCodes(Struct, frozen=True):
    """The diagnostic codes of a language for bad keys and values."""

    unknown_key: Code
    missing_key: Code
    wrong_value: Code
    not_a_choice: Code


class YamlFindings(FindingList):
    """The findings about one text, and the codes that they use."""

    def __init__(self, source: SourceFile, codes: FieldCodes) -> None:
        super().__init__()
        self.source = source
        self.codes = codes

    def refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add an error: the text will not load."""
        self.add(error(code, headline, self.source, span, help=help_))

    def warn(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add a warning: the text loads, but probably contains a mistake."""
        self.add(warning(code, headline, self.source, span, help=help_))

    def place(self, node: YamlScalar, inside: Span) -> Span:
        """Return the place of a part of a scalar; the complete scalar if it contains escapes."""
        at = self._start(node)
        return node.span if at is None else inside.shift(at)

    def relocate(self, found: Collection[Diagnostic], node: YamlScalar) -> None:
        """Add findings about the text of a scalar, moved to their places in the source."""
        self.add(*(self._relocate_one(one, node) for one in found))

    def _relocate_one(self, one: Diagnostic, node: YamlScalar) -> Diagnostic:
        exact = self._start(node) is not None
        fix = one.fix if exact else None
        return replace(
            one,
            source=self.source,
            span=self.place(node, one.span),
            labels=tuple(Label(self.place(node, la.span), la.text) for la in one.labels),
            fix=replace(fix, span=self.place(node, fix.span)) if fix else None,
        )

    def _start(self, node: YamlScalar) -> int | None:
        """Return where the text of a scalar starts; None if it is written with escapes."""
        quote = 0 if node.plain else 1
        written = self.source.text[node.span.start + quote : node.span.end - quote]
        return node.span.start + quote if written == node.value else None

    def told(self) -> list[Diagnostic]:
        """Return all findings in order; only the first errors if there are too many."""
        return sort_diagnostics(super().told())


class Fields:
    """One mapping. Messages call it `what`, for example `the rule`, and underline `start`."""

    def __init__(self, node: YamlMapping, what: str, findings: YamlFindings) -> None:
        self.node = node
        self.what = what
        self.findings = findings
        self.start = node.pairs[0].key.span if node.pairs else node.span
        self._pairs = {pair.key.value: pair for pair in node.pairs}

    def closed(
        self,
        required: Collection[str],
        optional: Collection[str] = (),
        former: dict[str, str] | None = None,
    ) -> Fields:
        """Report unknown and missing keys. `former` maps old keys to help texts. Returns self."""
        known = (*required, *optional)
        codes = self.findings.codes
        for pair in self.node.pairs[: MAX_ERRORS + len(known)]:
            if pair.key.value not in known:
                written = self.findings.source.slice(pair.key.span)
                headline = f"unknown key `{brief(written)}` in {self.what}"
                name = str(pair.key.value)
                help_ = (former or {}).get(name) or did_you_mean(name, known)
                self.findings.refuse(codes.unknown_key, headline, pair.key.span, help_)
        for key in required:
            if key not in self._pairs:
                headline = f"{self.what} has no `{key}`"
                self.findings.refuse(codes.missing_key, headline, self.start, f"add `{key}: …`")
        return self

    def has(self, key: str) -> bool:
        """Return whether the mapping has the key."""
        return key in self._pairs

    def node_of(self, key: str) -> Node | None:
        """Return the node of a value; None if the key is missing."""
        pair = self._pairs.get(key)
        return None if pair is None else pair.value

    def key_span(self, key: str) -> Span:
        """Return the place of a key; the start of the mapping if the key is missing."""
        pair = self._pairs.get(key)
        return self.start if pair is None else pair.key.span

    def span(self, key: str) -> Span:
        """Return the place of a value; the place of the key if the value is empty."""
        pair = self._pairs.get(key)
        if pair is None:
            return self.start
        return pair.value.span if pair.value.span.start < pair.value.span.end else pair.key.span

    def scalar(self, key: str) -> YamlScalar | None:
        """Return the scalar of a key that must hold a text."""
        node = self.node_of(key)
        if node is None or (isinstance(node, YamlScalar) and isinstance(node.value, str)):
            return node
        quotes = isinstance(node, YamlScalar) and node.value is not None
        self.wrong(key, "a text", f'put it in quotes: `{key}: "…"`' if quotes else "")
        return None

    def text(self, key: str) -> str | None:
        """Return a text."""
        node = self.scalar(key)
        return None if node is None else str(node.value)

    def flag(self, key: str) -> bool | None:
        """Return true or false."""
        node = self.node_of(key)
        if node is None or (isinstance(node, YamlScalar) and isinstance(node.value, bool)):
            return None if node is None else bool(node.value)
        self.wrong(key, "`true` or `false`", f"write `{key}: true`, without quotes")
        return None

    def integer(self, key: str, least: int, most: int) -> int | None:
        """Return a whole number within bounds. A boolean is not a number here."""
        node = self.node_of(key)
        if node is None:
            return None
        number = _integer(node)
        if number is None:
            self.wrong(key, "a whole number", f"write it as in `{key}: {max(least, 1)}`")
        elif not least <= number <= most:
            self.wrong(key, f"between {least} and {most}")
            return None
        return number

    def choice(self, key: str, choices: type[Choice]) -> Choice | None:
        """Return one of the members of an enum."""
        node = self.scalar(key)
        return None if node is None else self._read_choice(key, node, choices)

    def items(self, key: str) -> tuple[Node, ...]:
        """Return the items of a list."""
        node = self.node_of(key)
        if node is None or isinstance(node, YamlSequence):
            return () if node is None else node.items
        self.wrong(key, "a list", f"write `{key}: [...]`, or `- …` lines below it")
        return ()

    def texts(self, key: str) -> Iterator[YamlScalar]:
        """Yield the items of a list of texts."""
        for item in self.items(key):
            if isinstance(item, YamlScalar) and isinstance(item.value, str):
                yield item
            else:
                self._refuse_item(key, item, "texts only")

    def choices(self, key: str, choices: type[Choice]) -> tuple[Choice, ...]:
        """Return the members of an enum that a list names, without duplicates."""
        found = (self._read_choice(key, item, choices) for item in self.texts(key))
        return tuple(dict.fromkeys(one for one in found if one is not None))

    def integers(self, key: str, least: int, most: int) -> tuple[int, ...]:
        """Return a list of whole numbers within bounds, without duplicates."""
        found: dict[int, None] = {}
        for item in self.items(key):
            number = _integer(item)
            if number is None or not least <= number <= most:
                self._refuse_item(key, item, f"whole numbers from {least} to {most} only")
            else:
                found[number] = None
        return tuple(found)

    def mapping(self, key: str, what: str) -> Fields | None:
        """Return the fields of a nested mapping."""
        node = self.node_of(key)
        if node is None or isinstance(node, YamlMapping):
            return None if node is None else Fields(node, what, self.findings)
        self.wrong(key, "keys and values", f"write `{key}:` with `key: value` lines below it")
        return None

    def mappings(self, key: str, what: str) -> Iterator[Fields]:
        """Yield the fields of each mapping in a list."""
        for item in self.items(key):
            if isinstance(item, YamlMapping):
                yield Fields(item, what, self.findings)
            else:
                self._refuse_item(key, item, "keys and values only")

    def wrong(self, key: str, wanted: str, help_: str = "") -> None:
        """Report that the value of a key is wrong."""
        headline = f"`{key}` must be {wanted}"
        self.findings.refuse(self.findings.codes.wrong_value, headline, self.span(key), help_)

    def _refuse_item(self, key: str, item: Node, wanted: str) -> None:
        span = item.span if item.span.start < item.span.end else self.span(key)
        headline = f"`{key}` must hold {wanted}"
        self.findings.refuse(self.findings.codes.wrong_value, headline, span)

    def _read_choice(self, key: str, node: YamlScalar, choices: type[Choice]) -> Choice | None:
        text = str(node.value)
        names = [one.value for one in choices]
        if text in names:
            return choices(text)
        near = nearest_name(text, names)
        listed = "use one of " + ", ".join(f"`{name}`" for name in names)
        help_ = f"did you mean `{near}`? {listed}" if near else listed
        headline = f"invalid value `{brief(text)}` for `{key}`"
        self.findings.refuse(self.findings.codes.not_a_choice, headline, node.span, help_)
        return None


def _integer(node: Node) -> int | None:
    value = node.value if isinstance(node, YamlScalar) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
