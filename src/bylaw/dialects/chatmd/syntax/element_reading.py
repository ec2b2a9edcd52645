"""The loop that reads an element: from mark to mark, until its end tag or the end of the file."""

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
    """One element while it is read; `MARKS` are what may mean something in it."""

    MARKS: ClassVar[re.Pattern[str]]

    def __init__(self, scan: Scan, tag: Tag, notes: list[Diagnostic]) -> None:
        """`notes` are what an element that takes in the rest of the file should not have noted."""
        self._scan = scan
        self._opened = Opened(scan, tag)
        self._notes = notes
        # Where a tag of the same name begins inside it, if one does.
        self._first_nested: Span | None = None

    def read(self) -> Element:
        """The whole element."""
        known, at = len(self._notes), self._opened.tag.span.end
        while (mark := self._scan.marks.next(self.MARKS, at)) is not None:
            at = self._take(mark)
            if self._opened.done:
                return self._opened.done
        # It took in what was not meant for it.
        del self._notes[known:]
        self._opened.end_of_file(self._first_nested)
        assert self._opened.done is not None
        return self._opened.done

    def _take(self, mark: Mark) -> int:
        """Take in what begins at a mark, and say where it ends."""
        if not mark.name:
            return self._scan.add_plain(self._opened.children, mark)
        return self._end_tag(mark) if mark.closing else self._start_tag(mark)

    @abstractmethod
    def _end_tag(self, mark: Mark) -> int:
        """Take in the end of an element, this one or another."""

    @abstractmethod
    def _start_tag(self, mark: Mark) -> int:
        """Take in an element that begins inside."""
