"""The loop that reads an element from mark to mark, until its end tag or the end of the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bylaw.dialects.chatmd.syntax.opened import Opened

if TYPE_CHECKING:
    import re

    from bylaw.dialects.chatmd.syntax.marks import Mark
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.dialects.chatmd.syntax.scan import Scan
    from bylaw.dialects.chatmd.syntax.tags import Tag
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import Span


class ElementReading(ABC):
    """Reads one element. `MARKS` matches everything that can have a meaning in it."""

    MARKS: ClassVar[re.Pattern[str]]

    def __init__(self, scan: Scan, tag: Tag, notes: list[Diagnostic]) -> None:
        """New findings in `notes` are dropped if the element takes the rest of the file."""
        self._scan = scan
        self._opened = Opened(scan, tag)
        self._notes = notes
        # The first tag of the same name inside it.
        self._first_nested: Span | None = None

    def read(self) -> Element:
        """Read the complete element."""
        known, at = len(self._notes), self._opened.tag.span.end
        while (mark := self._scan.marks.next(self.MARKS, at)) is not None:
            at = self._take(mark)
            if self._opened.done:
                return self._opened.done
        # Its end tag is missing, so it took text that belongs to other elements.
        del self._notes[known:]
        self._opened.end_of_file(self._first_nested)
        assert self._opened.done is not None
        return self._opened.done

    def _take(self, mark: Mark) -> int:
        """Read what starts at a mark, and return where it ends."""
        if not mark.name:
            return self._scan.add_plain(self._opened.children, mark)
        return self._end_tag(mark) if mark.closing else self._start_tag(mark)

    @abstractmethod
    def _end_tag(self, mark: Mark) -> int:
        """Read the end tag of this or another element, and return where it ends."""

    @abstractmethod
    def _start_tag(self, mark: Mark) -> int:
        """Read a start tag inside the element, and return where reading continues."""
