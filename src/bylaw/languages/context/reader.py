"""Texts of all files → one checked document, or the errors of the first phase that found any.

framing → YAML → schema → uniqueness → references → types (AC-A16)

Also the typed access to the keys of a mapping, and the check that names are unique
(AC-049 to AC-056, AC-A15).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.languages.context import VERSION
from bylaw.languages.context.blocks import LANGUAGE_SPEC, MODULE, Phase, all_blocks, read_blocks
from bylaw.languages.context.declarations import Name
from bylaw.languages.context.references import LinkedDocument
from bylaw.languages.context.schema import READERS, read_body, read_module
from bylaw.languages.context.type_check import TypeChecker
from bylaw.languages.yaml import YamlMapping, YamlScalar, YamlSequence
from bylaw.model.codes.context import DUPLICATE_ID, PARSE_ERROR, SCHEMA_VIOLATION
from bylaw.model.display import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Sequence as Many

    from bylaw.languages.context.blocks import Block, Place
    from bylaw.languages.context.declarations import Command, Document, Module
    from bylaw.languages.yaml import Node
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span

# AC-A18: a name has no dot, because a dot separates module and name.
SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
MAX_NAME = 200


class Fields:
    """One mapping of a block.

    `id` is the id of the declared thing, once it is known. `part` is the key that holds this
    mapping, if it is inside such a thing.
    """

    def __init__(
        self, node: YamlMapping, block: Block, phase: Phase, id_: str = "", part: str = ""
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
        if isinstance(node, YamlScalar) and isinstance(node.value, str):
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
        if isinstance(node, YamlScalar) and isinstance(node.value, bool):
            return node.value
        self.wrong(f"`{key}` must be `true` or `false`", node.span)
        return default

    def names(self, key: str) -> tuple[Name, ...] | None:
        """Return a list of texts; None if the key is missing."""
        if not self.has(key):
            return None
        found = []
        for node in self.items(key):
            if isinstance(node, YamlScalar) and isinstance(node.value, str):
                found.append(Name(node.value, self.place(node.span)))
            else:
                self.wrong(f"`{key}` must contain only texts", node.span)
        return tuple(found)

    def items(self, key: str) -> Iterator[Node]:
        """Yield the items of a list."""
        node = self.node_of(key)
        if isinstance(node, YamlSequence):
            yield from node.items
        elif node is not None:
            self.wrong(f"`{key}` must be a list", node.span, "write `- …` lines")

    def mappings(self, key: str) -> Iterator[Fields]:
        """Yield the items of a list of mappings."""
        for node in self.items(key):
            if isinstance(node, YamlMapping):
                yield Fields(node, self.block, self.phase, self.id, key)
            else:
                self.wrong(f"`{key}` must contain keys and values", node.span)

    def mapping(self, key: str) -> Fields | None:
        """Return the mapping of a key."""
        node = self.node_of(key)
        if node is None:
            return None
        if isinstance(node, YamlMapping):
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


def check_uniqueness(modules: Sequence[Module], phase: Phase) -> None:
    """Report every name that is used a second time."""
    _check_once("module", (module.name for module in modules), phase)
    for module in modules:
        for what, named in (
            ("enum", module.enums),
            ("state", module.states),
            ("command", module.commands),
            ("response", module.responses),
            ("workflow", module.workflows),
            ("protocol", module.protocols),
        ):
            _check_once(f"{what} of `{module.name.text}`", (one.name for one in named), phase)
        for protocol in module.protocols:
            rules = (rule.name for rule in protocol.rules)
            _check_once(f"rule of `{protocol.name.text}`", rules, phase, DUPLICATE_ID)
        for command in module.commands:
            _check_effects(command, module.name.text, phase)


def _check_effects(command: Command, module: str, phase: Phase) -> None:
    """`p1` and `m.p1` are the same in the module `m`."""
    for kind, names in command.enable.items():
        _check_once(f"entry of `{kind}`", _qualify(names, module), phase, DUPLICATE_ID)
    sets = (assignment.name for assignment in command.assignments)
    _check_once("entry of `set_state`", _qualify(sets, module), phase, DUPLICATE_ID)


def _qualify(names: Iterable[Name], module: str) -> Iterator[Name]:
    for name in names:
        yield name if "." in name.text else Name(f"{module}.{name.text}", name.place)


def _check_once(
    what: str, names: Iterable[Name], phase: Phase, code: Code = SCHEMA_VIOLATION
) -> None:
    seen: dict[str, Place] = {}
    for name in names:
        first = seen.setdefault(name.text, name.place)
        if first is not name.place:
            where = f"in line {first.line}"
            if first.source is not name.place.source:
                where += f" of `{first.source.path}`"
            message = f"`{brief(name.text)}` is already a{_article_ending(what)} {what}, {where}"
            phase.add(code, message, name.place, "rename or delete one of the two")


def _article_ending(word: str) -> str:
    return "n" if word[0] in "aeiou" else ""


NOT_IN_MODULE = "Block must be contained within a MODULE."


def read_document(sources: Sequence[SourceFile]) -> Document:
    """Return the document of all files; raise DocumentError if it has errors."""
    modules = _read_modules(_read_files(sources))
    phase = Phase()
    check_uniqueness(modules, phase)
    phase.end()
    phase = Phase()
    linked = LinkedDocument(modules, phase)
    phase.end()
    phase = Phase()
    document = TypeChecker(modules, linked, phase).document()
    phase.end()
    return document


def _read_files(sources: Sequence[SourceFile]) -> list[Block]:
    phase = Phase()
    files = [read_blocks(source, phase) for source in sources]
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


def _read_modules(top: list[Block]) -> list[Module]:
    """Run the phases YAML and schema. Schema errors do not hide YAML errors of other blocks."""
    in_yaml, in_schema = Phase(), Phase()
    bodies = {id(block): read_body(block, in_yaml, in_schema) for block in all_blocks(top)}
    in_yaml.end()

    def fields(block: Block) -> Fields | None:
        return _fields_of(bodies[id(block)], block, in_schema)

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


def _fields_of(node: Node | None, block: Block, phase: Phase) -> Fields | None:
    if node is None:
        return None  # a text block, or `read_body` has added an error
    if isinstance(node, YamlMapping):
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
    elif not isinstance(node, YamlScalar) or node.value != VERSION:
        written = brief(fields.block.source.slice(node.span))
        fields.wrong(f"unsupported language version `{written}`", node.span, hint)
