"""The scanner that all readers of one text share: marks, tags, nodes and findings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.marks import COMMENT, COMMENT_END, RAW, RAW_END, Marks
from bylaw.dialects.chatmd.syntax.names import KNOWN, MAY_STAY_OPEN, MESSAGES
from bylaw.dialects.chatmd.syntax.nodes import Comment, Element, Node, Raw, Text
from bylaw.dialects.chatmd.syntax.tags import NAME_ENDS, BrokenTag, Tag, Tags
from bylaw.model.codes.chatmd import (
    CHATMD_OPEN_LEAF,
    CHATMD_STRAY_END,
    CHATMD_TOO_DEEP,
    CHATMD_UNCLOSED,
    CHATMD_UNTERMINATED,
)
from bylaw.model.diagnostic import Diagnostic, Label, error, warning
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.marks import Mark
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

# A comment, or a tag of a known element.
KNOWN_TAGS = re.compile(rf"<(?:!--|(/?)({'|'.join(sorted(KNOWN, reverse=True))}){NAME_ENDS})")
MAX_FINDINGS = 100  # errors, and the same number of warnings
MAX_DEPTH = 64  # levels of nested elements


class Children:
    """The nodes in an element or at the top. Characters between them become text nodes."""

    def __init__(self, start: int) -> None:
        self.nodes: list[Node] = []
        self.end = start

    def add(self, node: Node) -> None:
        """Add a node, and the text before it."""
        self.text_until(node.span.start)
        self.nodes.append(node)
        self.end = node.span.end

    def text_until(self, end: int) -> None:
        """Add everything up to `end` as text."""
        if end > self.end:
            self.nodes.append(Text(Span(self.end, end)))
            self.end = end


class Scan:
    """One text while it is read, with its findings."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.text = source.text
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.marks = Marks(self.text)
        self._tags = Tags(self.text, ours=False)
        self._our_tags = Tags(self.text, ours=True)
        # Names of refused start tags, which are not in the tree.
        self._refused: set[str] = set()
        self._too_deep = False
        # Marks and end tags that do not occur in the rest of the text.
        self.endless: set[str | tuple[str, ...]] = set()
        # Whether a body had no end tag, and how many characters were read again: see `read_body`.
        self.lost = False
        self.reread = 0

    def refuse(
        self, code: Code, headline: str, span: Span, help_: str, labels: tuple[Label, ...] = ()
    ) -> None:
        """Add an error, up to a limit."""
        if len(self.errors) < MAX_FINDINGS:
            found = error(code, headline, self.source, span, help=help_, labels=labels)
            self.errors.append(found)

    def refuse_tag(self, name: str, broken: BrokenTag) -> None:
        """Report an invalid tag."""
        self._refused.add(name)
        self.refuse(broken.code, broken.headline, broken.span, broken.help)

    def refuse_depth(self, tag: Tag) -> None:
        """Report once that elements are nested too deeply."""
        self._refused.add(tag.name)
        if not self._too_deep:
            self._too_deep = True
            headline = f"elements are nested more than {MAX_DEPTH} levels deep"
            self.refuse(CHATMD_TOO_DEEP, headline, tag.span, "nest less deeply")

    def refuse_end(self, name: str, place: Span) -> None:
        """Report an end tag without a start tag, unless its start tag was refused."""
        if name not in self._refused:
            help_ = f"delete it, or write `<{name}>` before it"
            self.refuse(CHATMD_STRAY_END, f"`</{name}>` has no start tag", place, help_)

    @property
    def warns(self) -> bool:
        """Whether more warnings can be added."""
        return len(self.warnings) < MAX_FINDINGS

    def warn(self, code: Code, headline: str, span: Span, help_: str) -> None:
        """Add a warning, up to a limit."""
        if self.warns:
            self.warnings.append(warning(code, headline, self.source, span, help=help_))

    def tag(self, start: int, name: str, *, ours: bool = False) -> Tag | BrokenTag:
        """Read the start tag at a place. The caller knows its name."""
        return (self._our_tags if ours else self._tags).read(start, name)

    def add_plain(self, children: Children, mark: Mark) -> int:
        """Add the RAW or comment at a mark, and return where it ends. Without an end it is text."""
        node = self._raw_or_comment(mark.start)
        if node is None:
            return mark.end
        children.add(node)
        return node.span.end

    def _raw_or_comment(self, at: int) -> Raw | Comment | None:
        if self.text.startswith(RAW, at):
            end = self._end_of(RAW, RAW_END, at)
            if end < 0:
                return None
            return Raw(Span(at, end), Span(at + len(RAW), end - len(RAW_END)))
        end = self._end_of(COMMENT, COMMENT_END, at)
        return None if end < 0 else Comment(Span(at, end))

    def _end_of(self, begin: str, end: str, at: int) -> int:
        # If one has no end, later ones have none, either.
        found = -1 if begin in self.endless else self.text.find(end, at + len(begin))
        if found >= 0:
            return found + len(end)
        if begin not in self.endless:
            self.endless.add(begin)
            help_ = f"write `{end}` where it ends"
            place = Span(at, at + len(begin))
            self.refuse(CHATMD_UNTERMINATED, f"`{begin}` is not closed", place, help_)
        return -1

    def flat(self, tag: Tag) -> Element | None:
        """Return the element if it contains only text; otherwise None."""
        children = Children(tag.span.end)
        if tag.closed:
            return element(tag, children)
        at = self.text.find("<", children.end)
        end = f"</{tag.name}>"
        if at < 0 or not self.text.startswith(end, at):
            return None
        if 0 <= self.marks.next_raw(children.end) < at:
            return None
        children.text_until(at)
        return element(tag, children, Span(at, at + len(end)))

    def leaf(self, tag: Tag) -> Element:
        """Read an element that should have no content. Without an end tag, it is its start tag."""
        flat = self.flat(tag)
        if flat is not None:
            return flat
        self._leave_open(tag)
        return element(tag, Children(tag.span.end))

    def _leave_open(self, tag: Tag) -> None:
        if tag.name not in MAY_STAY_OPEN:
            self.unclosed(tag)
            return
        headline = f"`<{tag.name}>` is not closed: it is read as empty"
        self.warn(CHATMD_OPEN_LEAF, headline, tag.span, "write `/>` instead of `>`")

    def unclosed(self, tag: Tag, *labels: Label) -> None:
        """Report an element without an end tag."""
        empty = "" if tag.name in MESSAGES else ", or `/>` if it is empty"
        help_ = f"write `</{tag.name}>` where it ends{empty}"
        self.refuse(
            CHATMD_UNCLOSED, f"`<{tag.name}>` has no end tag", tag.span, help_, labels=labels
        )


def element(tag: Tag, children: Children, end: Span | None = None) -> Element:
    """Build an element from its tag, its content and the place of its end tag, if any."""
    if end is None:
        end = Span(children.end, children.end)
    span = Span(tag.span.start, end.end)
    return Element(tag.name, tag.attributes, tuple(children.nodes), span, tag.span, end)
