"""Typed access to the keys of a mapping. Wrong values are reported, never guessed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.context.declared import Name
from bylaw.dialects.yaml import Mapping, Scalar, Sequence
from bylaw.model.codes.context import SCHEMA_VIOLATION
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Many

    from bylaw.dialects.context.framing import Block
    from bylaw.dialects.context.problems import Phase, Place
    from bylaw.dialects.yaml import Node
    from bylaw.model.source import Span

# AC-A18: a name has no dot, because a dot separates module and name.
SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
MAX_NAME = 200


class Fields:
    """One mapping of a block.

    `id` is the id of the declared thing, once it is known. `part` is the key that holds this
    mapping, if it is inside such a thing.
    """

    def __init__(
        self, node: Mapping, block: Block, phase: Phase, id_: str = "", part: str = ""
    ) -> None:
        self.node = node
        self.block = block
        self.phase = phase
        self.id = id_
        self._part = part if id_ else ""
        self._values = {str(pair.key.value): pair for pair in node.pairs}

    def closed(self, required: Many[str], optional: Many[str] = ()) -> Fields:
        """Report unknown and missing keys."""
        allowed = [*required, *optional]
        for pair in self.node.pairs:
            key = str(pair.key.value)
            if key not in allowed:
                help_ = self.phase.near(key, allowed)
                self.wrong(f"unknown key `{brief(key)}` in {self._what()}", pair.key.span, help_)
        for key in required:
            if key not in self._values:
                self.wrong(f"missing key `{key}` in {self._what()}", None, f"write `{key}: …`")
        return self

    def _what(self) -> str:
        part = f"`{self._part}` of " if self._part else ""
        return f"{part}`{self.block.type}`" + (f" `{brief(self.id)}`" if self.id else "")

    def has(self, key: str) -> bool:
        """Return whether the mapping has the key."""
        return key in self._values

    def node_of(self, key: str) -> Node | None:
        """Return the value of a key as written."""
        pair = self._values.get(key)
        return None if pair is None else pair.value

    def symbol(self, key: str) -> Name | None:
        """Return a name without a dot, so that a module can qualify it."""
        name = self.name(key)
        if name is None:
            return None
        if len(name.text) > MAX_NAME or not SYMBOL.fullmatch(name.text):
            message = f"invalid name `{brief(name.text)}`"
            hint = f"use at most {MAX_NAME} letters, digits, `_` and `-`, and no digit first"
            self.phase.add(SCHEMA_VIOLATION, message, name.place, hint)
            return None
        self.id = self.id or name.text
        return Name(name.text, self.place(name.place.span))

    def name(self, key: str) -> Name | None:
        """Return a text with its place."""
        node = self.node_of(key)
        if node is None:
            return None
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return Name(node.value, self.place(node.span))
        self.wrong(f"`{key}` must be a text", node.span)
        return None

    def text(self, key: str) -> str:
        """Return a text; empty if the key is missing."""
        name = self.name(key)
        return "" if name is None else name.text

    def flag(self, key: str, default: bool) -> bool:
        """Return `true` or `false`."""
        node = self.node_of(key)
        if node is None:
            return default
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        self.wrong(f"`{key}` must be `true` or `false`", node.span)
        return default

    def names(self, key: str) -> tuple[Name, ...] | None:
        """Return a list of texts; None if the key is missing."""
        if not self.has(key):
            return None
        found = []
        for node in self.items(key):
            if isinstance(node, Scalar) and isinstance(node.value, str):
                found.append(Name(node.value, self.place(node.span)))
            else:
                self.wrong(f"`{key}` must contain only texts", node.span)
        return tuple(found)

    def items(self, key: str) -> Iterator[Node]:
        """Yield the items of a list."""
        node = self.node_of(key)
        if isinstance(node, Sequence):
            yield from node.items
        elif node is not None:
            self.wrong(f"`{key}` must be a list", node.span, "write `- …` lines")

    def mappings(self, key: str) -> Iterator[Fields]:
        """Yield the items of a list of mappings."""
        for node in self.items(key):
            if isinstance(node, Mapping):
                yield Fields(node, self.block, self.phase, self.id, key)
            else:
                self.wrong(f"`{key}` must contain keys and values", node.span)

    def mapping(self, key: str) -> Fields | None:
        """Return the mapping of a key."""
        node = self.node_of(key)
        if node is None:
            return None
        if isinstance(node, Mapping):
            return Fields(node, self.block, self.phase, self.id, key)
        self.wrong(f"`{key}` must contain keys and values", node.span)
        return None

    def choice(self, key: str, allowed: Many[str]) -> str:
        """Return one of a closed set of words; empty if the value is not in the set."""
        name = self.name(key)
        if name is None:
            return ""
        if name.text in allowed:
            return name.text
        message = f"invalid value `{brief(name.text)}` for `{key}`"
        self.phase.add(SCHEMA_VIOLATION, message, name.place, self.phase.near(name.text, allowed))
        return ""

    def place(self, span: Span | None = None) -> Place:
        """Return a place in this mapping."""
        return self.block.place(span or self.node.span, self.id)

    def wrong(self, message: str, span: Span | None, hint: str = "") -> None:
        """Add an error to the phase."""
        self.phase.add(SCHEMA_VIOLATION, message, self.place(span), hint)
