"""Collect the blocks of a case, or of the page before its first case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import fields

from bylaw.tools.suites.page import AnyStep, Case, Expected, ExpectedLines, File, Step

if TYPE_CHECKING:
    from bylaw.model.source import Span


class Blocks(Struct):
    """Contents of blocks by kind, in the order of the page."""

    files: list[File] = field(default_factory=list)
    steps: list[AnyStep] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    decisions: list[ExpectedLines] = field(default_factory=list)
    states: list[Expected] = field(default_factory=list)
    diagnostics: list[ExpectedLines] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of blocks and commands."""
        return sum(len(getattr(self, one.name)) for one in fields(self))

    @property
    def check_events(self) -> bool:
        """Whether a block expects results of the events."""
        return bool(self.decisions or self.states)

    @property
    def check_anything(self) -> bool:
        """Whether a block or command can fail."""
        commands = any(isinstance(step, Step) for step in self.steps)
        return bool(self.check_events or self.diagnostics or commands)

    @property
    def are_empty(self) -> bool:
        """Whether there are no blocks."""
        return self == Blocks()

    def and_then(self, others: Blocks) -> Blocks:
        """Return these blocks followed by the others."""
        return Blocks(
            self.files + others.files,
            self.steps + others.steps,
            self.events + others.events,
            self.decisions + others.decisions,
            self.states + others.states,
            self.diagnostics + others.diagnostics,
        )

    def case(self, title: str, requirements: tuple[str, ...], place: Span) -> Case:
        """Build a case from these blocks. The later of two files with the same path is used."""
        files = {file.path: file for file in self.files}
        return Case(
            title,
            requirements,
            place,
            tuple(files.values()),
            tuple(self.steps),
            tuple(self.events),
            tuple(self.decisions),
            tuple(self.states),
            tuple(self.diagnostics),
        )
