"""Lines of a text → blocks; and the errors of a document, with the places that payloads name.

A marker is alone on its line; blocks must be nested and closed. This pass knows neither YAML nor
code fences: a line that looks like a marker is one (AC-A07). A phase collects its errors, and the
next phase runs only if there are none.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.model.codes.context import PARSE_ERROR
from bylaw.model.diagnostic import Diagnostic, Severity
from bylaw.model.display import brief
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean, nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

MAX_PROBLEMS = 100  # of one phase: the first ones in the document
# Suggestions take time to compute, and only the first errors are likely to be read.
MAX_HINTS = 20


class Place(Struct, frozen=True, gc=False):
    """A place in a document: file, span, block, and the id of the declared thing."""

    source: SourceFile
    span: Span
    block_type: str = ""
    id: str = ""

    @property
    def line(self) -> int:
        """The line in the file, from 1."""
        return self.source.position(self.span.start).line

    def at(self, span: Span) -> Place:
        """Return the place of another span of the same thing."""
        return Place(self.source, span, self.block_type, self.id)


class Problem(Struct, frozen=True):
    """One error in a document. `candidates` are the symbols that a reference may refer to."""

    code: Code
    message: str
    place: Place
    hint: str = ""
    candidates: tuple[str, ...] = ()

    def diagnostic(self) -> Diagnostic:
        """Return the error as a diagnostic."""
        place = self.place
        return Diagnostic(
            self.code.name,
            Severity.ERROR,
            self.message,
            place.source,
            place.span,
            help=self.hint,
        )


class DocumentError(Exception):
    """The errors of the first phase that found any, in the order of the document."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


class Phase:
    """Collects the errors of one phase. The next phase runs only if there are none."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(
        self,
        code: Code,
        message: str,
        place: Place,
        hint: str = "",
        candidates: tuple[str, ...] = (),
    ) -> None:
        """Add an error."""
        if len(self.problems) >= 2 * MAX_PROBLEMS:
            self.problems = self._first()
        self.problems.append(Problem(code, message, place, hint, candidates))

    def near(self, wrong: str, known: Iterable[str]) -> str:
        """Return a hint with the nearest known name; empty after `MAX_HINTS` errors."""
        return did_you_mean(wrong, known) if self._few else ""

    def nearest(self, wrong: str, known: Iterable[str]) -> str:
        """Return the nearest known name; empty if none is near, or after `MAX_HINTS` errors."""
        return nearest_name(wrong, known) if self._few else ""

    @property
    def _few(self) -> bool:
        return len(self.problems) < MAX_HINTS

    def end(self) -> None:
        """Raise DocumentError if the phase has an error."""
        if self.problems:
            raise DocumentError(self._first())

    def _first(self) -> list[Problem]:
        return sorted(self.problems, key=_order)[:MAX_PROBLEMS]


def _order(problem: Problem) -> tuple[str, int]:
    """Order errors by file path, then by position."""
    return problem.place.source.path, problem.place.span.start


LANGUAGE_SPEC, MODULE = "LANGUAGE_SPEC", "MODULE"
YAML_TYPES = (
    *(LANGUAGE_SPEC, MODULE, "ENUM", "STATE", "COMMAND", "RESPONSE", "WORKFLOW", "PROTOCOL"),
)
TEXT_TYPES = ("COMMANDS", "ENGINEERING", "CHECKLISTS", "GUIDELINES")
BLOCK_TYPES = (*YAML_TYPES, *TEXT_TYPES)
# AC-040: if kinds conflict, the first one wins. Protocols always apply (AC-A21).
PRECEDENCE = (
    *("RESPONSE", "WORKFLOW", "PROTOCOL", "ENGINEERING", "CHECKLISTS", "GUIDELINES"),
    *("COMMAND", "STATE", "ENUM"),
)
# AC-A06: a marker may have any name. A byte order mark is not part of the first line.
MARKER = re.compile(
    r"^(?:\A\ufeff)?[^\S\n]*(?P<marker>\[\[(?P<end>/?)(?P<type>[A-Za-z_]+)\]\])[^\S\n]*$",
    re.MULTILINE,
)
MAX_BLOCKS = 20_000  # of one text


class Block(Struct):
    """A block: its marker, the text between its markers, and the inner blocks of a module."""

    type: str
    source: SourceFile
    marker: Span
    body: Span
    blocks: list[Block] = field(default_factory=list)

    def place(self, span: Span | None = None, id_: str = "") -> Place:
        """Return a place in this block; without a span, its marker."""
        return Place(self.source, span or self.marker, self.type, id_)

    @property
    def header(self) -> Span:
        """The text of a module before its first block (AC-A05)."""
        if not self.blocks:
            return self.body
        # The blanks before the marker are not part of the YAML.
        end = _line_start(self.source.text, self.blocks[0].marker.start)
        return Span(self.body.start, end)


def read_blocks(source: SourceFile, phase: Phase) -> list[Block]:
    """Return the top-level blocks of a text; wrong nesting is added to the phase."""
    framing = _BlockReader(source, phase)
    for found in MARKER.finditer(source.text):
        framing.take(found)
        if framing.count > MAX_BLOCKS:
            phase.add(
                PARSE_ERROR, f"the file has more than {MAX_BLOCKS:,} blocks", framing.at(found)
            )
            return []  # a block that is open here may be closed later, so do not report it
    framing.end()
    return framing.top


def all_blocks(top: list[Block]) -> Iterator[Block]:
    """Yield every block in the order of the text."""
    for block in top:
        yield block
        yield from block.blocks


class _BlockReader:
    def __init__(self, source: SourceFile, phase: Phase) -> None:
        self.top: list[Block] = []
        self.count = 0
        self._source = source
        self._phase = phase
        self._open: list[Block] = []
        self._open_types: Counter[str] = Counter()

    def at(self, found: re.Match[str]) -> Place:
        return Place(self._source, _marker_span(found), found["type"])

    def take(self, found: re.Match[str]) -> None:
        name = found["type"]
        if name not in BLOCK_TYPES:
            message = f"unknown block type `{brief(name)}`"
            place = Place(self._source, _marker_span(found))
            self._phase.add(PARSE_ERROR, message, place, self._phase.near(name, BLOCK_TYPES))
        elif found["end"]:
            self._close(found)
        else:
            self._begin(found)

    def _begin(self, found: re.Match[str]) -> None:
        self.count += 1
        end = _after_line(self._source.text, found.end())
        within = self._open[-1] if self._open else None
        marker = _marker_span(found)
        block = Block(found["type"], self._source, marker, Span(end, end))
        self._check_nesting(block, within)
        if within is None:
            self.top.append(block)
        elif within.type == MODULE:
            within.blocks.append(block)
        self._open.append(block)
        self._open_types[block.type] += 1

    def _check_nesting(self, block: Block, within: Block | None) -> None:
        if within is None:
            return
        if block.type in (LANGUAGE_SPEC, MODULE):
            message = f"`{block.type}` cannot be inside `{within.type}`"
            self._phase.add(PARSE_ERROR, message, block.place(), "move it to the top level")
        elif within.type != MODULE:
            message = f"`{within.type}` cannot contain other blocks"
            hint = f"close it with `[[/{within.type}]]` first"
            self._phase.add(PARSE_ERROR, message, block.place(), hint)

    def _close(self, found: re.Match[str]) -> None:
        name = found["type"]
        if not self._open_types[name]:
            message = f"`[[/{name}]]` has no opening `[[{name}]]`"
            self._phase.add(PARSE_ERROR, message, self.at(found), f"write `[[{name}]]` before it")
            return
        while (block := self._pop()).type != name:
            self._not_closed(block)
        block.body = Span(block.body.start, _line_start(self._source.text, found.start()))

    def _pop(self) -> Block:
        block = self._open.pop()
        self._open_types[block.type] -= 1
        return block

    def end(self) -> None:
        for block in self._open:
            self._not_closed(block)

    def _not_closed(self, block: Block) -> None:
        message = f"`[[{block.type}]]` is not closed"
        hint = f"write `[[/{block.type}]]` on a line of its own"
        self._phase.add(PARSE_ERROR, message, block.place(), hint)


def _marker_span(found: re.Match[str]) -> Span:
    return Span(*found.span("marker"))


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _after_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
