"""The text of a ChatMD file → its tree, with every character, and findings.

A block such as `<rules>` contains elements: every tag in it is an element, even an unknown one,
which later code reports. A body such as `<insert>`, `<call>` or `<script>` contains text that only
its end tag ends. A message is text with a few inline elements; every other tag in it is text, and
so is a tag of the same name together with its end tag. Text outside of elements gives a warning.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from bylaw.languages.chatmd.scanner import (
    ARCHIVE,
    BLANKS,
    BODIES,
    COMMENT,
    COMMENT_END,
    IDLE_AT_TOP,
    INLINE,
    KNOWN,
    KNOWN_TAGS,
    LEAVES,
    MAX_DEPTH,
    NAME,
    NAME_ENDS,
    OURS,
    STRUCTURED,
    BrokenTag,
    ChatDocument,
    ChildNodes,
    CommentNode,
    Element,
    Tag,
    TextScanner,
    build_element,
)
from bylaw.model.codes.chatmd import (
    CHATMD_BROKEN_TAG,
    CHATMD_KEPT_AS_TEXT,
    CHATMD_NO_EFFECT_HERE,
    CHATMD_TEXT_OUTSIDE,
)
from bylaw.model.diagnostic import Label, sort_diagnostics
from bylaw.model.source import BOM, Span
from bylaw.model.suggest import nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.languages.chatmd.scanner import ChatmdNode, Mark
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile

_SHOWN_LINE = re.compile(rf"[^\s{BOM}][^\r\n]*")
_ANY_TAG = re.compile(rf"</?({NAME})")
MAX_TAGS = 20  # tags of a run that are compared with known names


def warn_about_text(scan: TextScanner, children: Iterable[ChatmdNode]) -> None:
    """Warn about text at the top and in archives, once for each run."""
    warned = False
    for node in children:
        if isinstance(node, Element):
            warned = False
            _warn_inside(scan, node)
        elif not isinstance(node, CommentNode):
            warned = warned or (scan.can_warn and _warn(scan, node.span))


def _warn_inside(scan: TextScanner, element: Element) -> None:
    if element.name == ARCHIVE:
        warn_about_text(scan, element.children)


def _warn(scan: TextScanner, run: Span) -> bool:
    shown = _SHOWN_LINE.search(scan.text, run.start, run.end)
    if shown is None or any(run.start <= one.span.start < run.end for one in scan.errors):
        return shown is not None
    for tag in islice(_ANY_TAG.finditer(scan.text, run.start, run.end), MAX_TAGS):
        if tag[1] not in KNOWN and (near := nearest_name(tag[1], KNOWN)):
            headline = f"`{tag[0]}` is not an element: it is kept as text, but no model sees it"
            help_ = f"did you mean `{near}`?"
            scan.warn(CHATMD_TEXT_OUTSIDE, headline, Span(*tag.span()), help_)
            return True
    headline = "text outside of elements is kept, but no model sees it"
    help_ = "move it into a message, such as `<user>`, or into a comment"
    scan.warn(CHATMD_TEXT_OUTSIDE, headline, Span(*shown.span()), help_)
    return True


class OpenElement:
    """A stack that starts with one tag. `done` is the element of that tag after its end."""

    def __init__(self, scan: TextScanner, tag: Tag) -> None:
        self._scan = scan
        self._tags = [tag]
        self._children = [ChildNodes(tag.span.end)]
        self.done: Element | None = None

    @property
    def tag(self) -> Tag:
        """The innermost open tag."""
        return self._tags[-1]

    @property
    def depth(self) -> int:
        """The number of open elements."""
        return len(self._tags)

    @property
    def children(self) -> ChildNodes:
        """The content of the innermost element so far."""
        return self._children[-1]

    def open(self, tag: Tag) -> None:
        """Add an element, and open it unless its tag closes itself. If too deep, it is text."""
        if self.depth >= MAX_DEPTH:
            self._scan.refuse_depth(tag)
            return
        self.children.text_until(tag.span.start)
        self._tags.append(tag)
        self._children.append(ChildNodes(tag.span.end))
        if tag.closed:
            self._close(None)

    def knows(self, name: str) -> bool:
        """Return whether an element with this name is open."""
        return any(tag.name == name for tag in self._tags)

    def end(self, name: str, end: Span) -> None:
        """Close the element with this name. Elements that are still open in it are errors."""
        self.children.text_until(end.start)
        found = (Label(end, "this end tag comes first"),) if end.end > end.start else ()
        while self.tag.name != name:
            self._scan.refuse_unclosed(self.tag, *found)
            self._close(None)
        self._close(end)

    def close_all(self, nested: Span | None = None) -> None:
        """Close all open elements as errors. `nested` may have taken the outermost end tag."""
        self.children.text_until(len(self._scan.text))
        labels = (Label(nested, "the end tag closes this tag"),) if nested else ()
        while self.done is None:
            self._scan.refuse_unclosed(self.tag, *(labels if self.depth == 1 else ()))
            self._close(None)

    def _close(self, end: Span | None) -> None:
        made = build_element(self._tags.pop(), self._children.pop(), end)
        if self._tags:
            self.children.add(made)
        else:
            self.done = made


class OpenElementReader(ABC):
    """Reads one element. `MARKS` matches everything that can have a meaning in it."""

    MARKS: ClassVar[re.Pattern[str]]

    def __init__(self, scan: TextScanner, tag: Tag, notes: list[Diagnostic]) -> None:
        """New findings in `notes` are dropped if the element takes the rest of the file."""
        self._scan = scan
        self._opened = OpenElement(scan, tag)
        self._notes = notes
        # The first tag of the same name inside it.
        self._first_nested: Span | None = None

    def read(self) -> Element:
        """Read the complete element."""
        known, at = len(self._notes), self._opened.tag.span.end
        while (mark := self._scan.marks.next(self.MARKS, at)) is not None:
            at = self._read_mark(mark)
            if self._opened.done:
                return self._opened.done
        # Its end tag is missing, so it took text that belongs to other elements.
        del self._notes[known:]
        self._opened.close_all(self._first_nested)
        assert self._opened.done is not None
        return self._opened.done

    def _read_mark(self, mark: Mark) -> int:
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


# The model writes these without escapes, so a start tag in them rarely has an end tag.
_NEVER_NEST = frozenset(("reasoning", "summary"))
_WHOLE_TAG = re.compile(r"[^<>]*>")


def read_message(scan: TextScanner, tag: Tag) -> Element:
    """Read the message that starts with this tag."""
    return scan.flat(tag) or _MessageReader(scan, tag).read()


class _MessageReader(OpenElementReader):
    """Reads one message."""

    MARKS = KNOWN_TAGS

    def __init__(self, scan: TextScanner, tag: Tag) -> None:
        super().__init__(scan, tag, scan.warnings)
        self._name = tag.name
        # The number of open start tags of the same name. They and their end tags are text.
        self._nested = 0
        self._warned = False

    def _end_tag(self, mark: Mark) -> int:
        name, end = mark.name, mark.end
        if not self._scan.text.startswith(">", end):
            return end  # `</user >` is text
        inner = self._opened.depth > 1 and name == self._opened.tag.name
        if name == self._name and self._nested and not inner:
            self._nested -= 1
        elif name == self._name or inner:
            self._opened.end(name, Span(mark.start, end + 1))
        return end + 1

    def _start_tag(self, mark: Mark) -> int:
        name = mark.name
        if not self._is_element(name):
            return self._text_tag(mark)
        tag = self._scan.tag(mark.start, name)
        if isinstance(tag, BrokenTag):
            return mark.end
        if name in LEAVES:
            leaf = self._scan.read_leaf(tag)
            self._opened.children.add(leaf)
            return leaf.span.end
        self._opened.open(tag)
        return tag.span.end

    def _is_element(self, name: str) -> bool:
        if name == "summary":
            return self._opened.tag.name == "reasoning"
        return name in INLINE

    def _text_tag(self, mark: Mark) -> int:
        """Read a tag that is text here, but an element in other places."""
        if not self._warned and (whole := _WHOLE_TAG.match(self._scan.text, mark.end)):
            self._warn(Span(mark.start, whole.end()), mark.name)
        if mark.name != self._name or mark.name in _NEVER_NEST:
            return mark.end
        tag = self._scan.tag(mark.start, mark.name)
        if isinstance(tag, BrokenTag):
            return mark.end
        if not tag.closed:
            self._nested += 1
            self._first_nested = self._first_nested or tag.span
        return tag.span.end

    def _warn(self, place: Span, name: str) -> None:
        self._warned = True
        headline = f"`<{name}>` inside `<{self._name}>` is kept as text"
        help_ = "put text with tags in `RAW|…|RAW`; other readers may drop it"
        self._scan.warn(CHATMD_KEPT_AS_TEXT, headline, place, help_)


_NAMED_TAG = re.compile(rf"<(?:!--|(/?)({NAME}){NAME_ENDS})")
_END_TAG = re.compile(rf"</({NAME})[{BLANKS}]*>")
END_TAG_ENDS = re.compile(rf"[{BLANKS}]*>")
MAX_REREAD = 1024 * 1024  # characters of calls that are not JSON

# A JSON string is on one line. A quote without a closing quote on its line matches alone.
_JSON_MARK = re.compile(
    r'"(?:[^"\\\r\n]|\\[^\r\n])*"|"|<!--|[\[{(]|[\]})]|</call(?=[ \t\r\n\f\v>])'
)


def read_script(scan: TextScanner, tag: Tag) -> Element:
    """Read a program: everything up to the first end tag."""
    children = ChildNodes(tag.span.end)
    if tag.closed:
        return build_element(tag, children)
    end = scan.text.find(f"</{tag.name}>", children.end)
    if end < 0:
        return _unclosed_element(scan, tag, children, len(scan.text))
    children.text_until(end)
    return build_element(tag, children, Span(end, end + len(tag.name) + 3))


def read_body(scan: TextScanner, tag: Tag, outer: tuple[str, ...]) -> Element:
    """Read an element of rules that contains text. `outer` has the names of its ancestors."""
    if tag.name == "call":
        return _read_call(scan, tag, outer)
    if not scan.lost:
        found = _BodyReader(scan, tag, ()).read()
        if found is not None:
            return found
    # This body or an earlier one has no end tag, so the file is refused. To report its other
    # errors, each body now ends at the latest with an ancestor. So only one search goes too far.
    scan.lost = True
    bounded = _BodyReader(scan, tag, outer)
    return bounded.read() or _unclosed_element(scan, tag, bounded.children, bounded.at)


class _BodyReader:
    """Reads the text of one element. Tags of the same name nest; all other tags are text."""

    def __init__(self, scan: TextScanner, tag: Tag, outer: tuple[str, ...]) -> None:
        self._scan = scan
        self._tag = tag
        self._depth = 0
        self._outer = outer
        self.children = ChildNodes(tag.span.end)
        self.at = tag.span.end

    def read(self) -> Element | None:
        """Return the element; None if an ancestor or the file ends before its end tag."""
        while (mark := self._scan.marks.next(_NAMED_TAG, self.at)) is not None:
            self.at = mark.end
            if not mark.name:
                self.at = self._scan.add_plain(self.children, mark)
            elif mark.closing:
                end = END_TAG_ENDS.match(self._scan.text, self.at)
                if end and mark.name in self._outer:
                    self.at = mark.start
                    return None
                if end and mark.name == self._tag.name and self._closes():
                    self.children.text_until(mark.start)
                    return build_element(self._tag, self.children, Span(mark.start, end.end()))
            elif mark.name == self._tag.name:
                self._nested(mark)
        self.at = len(self._scan.text)
        return None

    def _closes(self) -> bool:
        self._depth -= 1
        return self._depth < 0

    def _nested(self, mark: Mark) -> None:
        tag = self._scan.tag(mark.start, mark.name, ours=True)
        if not isinstance(tag, BrokenTag):
            self._depth += not tag.closed
            self.at = tag.span.end


def _read_call(scan: TextScanner, tag: Tag, outer: tuple[str, ...]) -> Element:
    children = ChildNodes(tag.span.end)
    end = _end_after_json(scan, children.end) or _first_end(scan, ("call",), children.end)
    if end is None:
        stop = _first_end(scan, outer, children.end)
        return _unclosed_element(scan, tag, children, stop.start if stop else len(scan.text))
    children.text_until(end.start)
    return build_element(tag, children, end)


def _end_after_json(scan: TextScanner, start: int) -> Span | None:
    """Return the end tag after a value with matching brackets. Skips texts and comments."""
    if scan.reread > MAX_REREAD:
        return None
    at = _skip_json(scan.text, start)
    end = _END_TAG.match(scan.text, at)
    if end is None:
        scan.reread += at - start
        return None
    return Span(*end.span())


def _skip_json(text: str, start: int) -> int:
    """Return the place of the first possible end tag, or where it is clear that none follows."""
    depth, at = 0, start
    while (mark := _JSON_MARK.search(text, at)) is not None:
        at, found = mark.end(), mark[0]
        if found == COMMENT:
            comment_end = text.find(COMMENT_END, at)
            if comment_end < 0:
                break
            at = comment_end + len(COMMENT_END)
        elif found == '"':
            return at
        elif len(found) == 1:
            depth += 1 if found in "[{(" else -1
        elif found[0] == "<":
            return at if depth else mark.start()
    return len(text)


def _first_end(scan: TextScanner, names: tuple[str, ...], at: int) -> Span | None:
    # If an earlier search found nothing, there is nothing to find after it.
    for found in _END_TAG.finditer(scan.text, at) if names not in scan.endless else ():
        if found[1] in names:
            return Span(*found.span())
    scan.endless.add(names)
    return None


def _unclosed_element(scan: TextScanner, tag: Tag, children: ChildNodes, at: int) -> Element:
    """Return an element without an end tag, and report it."""
    scan.refuse_unclosed(tag)
    children.text_until(at)
    return build_element(tag, children)


_ANY_MARK = re.compile(rf"<(?:!--|(/?)({NAME}))")
_NAME_ENDS = re.compile(NAME_ENDS)


def read_block(scan: TextScanner, tag: Tag) -> Element:
    """Read the block that starts with this tag."""
    return (
        build_element(tag, ChildNodes(tag.span.end))
        if tag.closed
        else _BlockReader(scan, tag).read()
    )


class _BlockReader(OpenElementReader):
    """Reads one block."""

    MARKS = _ANY_MARK

    def __init__(self, scan: TextScanner, tag: Tag) -> None:
        super().__init__(scan, tag, scan.errors)
        self._block = tag.name
        self._ours = tag.name in OURS

    def _end_tag(self, mark: Mark) -> int:
        rest = END_TAG_ENDS.match(self._scan.text, mark.end)
        if rest is None:
            return self._broken(mark)
        place = Span(mark.start, rest.end())
        if self._opened.knows(mark.name):
            self._opened.end(mark.name, place)
        else:
            self._scan.refuse_end(mark.name, place)
        return rest.end()

    def _start_tag(self, mark: Mark) -> int:
        if _NAME_ENDS.match(self._scan.text, mark.end) is None:
            return self._broken(mark)
        tag = self._scan.tag(mark.start, mark.name, ours=self._ours)
        if isinstance(tag, BrokenTag):
            self._scan.refuse_tag(mark.name, tag)
            return mark.end
        if self._ours and tag.name in BODIES and not tag.closed:
            body = read_body(self._scan, tag, (self._block, self._opened.tag.name))
            self._opened.children.add(body)
            return body.span.end
        self._opened.open(tag)
        return tag.span.end

    def _broken(self, mark: Mark) -> int:
        headline = f"`{self._scan.text[mark.start : mark.end]}` is not a complete tag"
        help_ = "end the name with a blank, `>` or `/>`; write `&lt;` for a `<` in a value"
        self._scan.refuse(CHATMD_BROKEN_TAG, headline, Span(mark.start, mark.end), help_)
        return mark.end


_WHOLE_FILE = Tag("", (), Span(0, 0), closed=False)


def parse(source: SourceFile) -> tuple[ChatDocument, list[Diagnostic]]:
    """Parse a text, even one with errors. The findings are in the order of the text."""
    scan = TextScanner(source)
    opened = OpenElement(scan, _WHOLE_FILE)
    at = 0
    while (mark := scan.marks.next(KNOWN_TAGS, at)) is not None:
        at = _read_mark(scan, opened, mark)
    end = len(source.text)
    opened.end(_WHOLE_FILE.name, Span(end, end))
    assert opened.done is not None
    children = opened.done.children
    warn_about_text(scan, children)
    return ChatDocument(source, children), sort_diagnostics([*scan.errors, *scan.warnings])


def _read_mark(scan: TextScanner, opened: OpenElement, mark: Mark) -> int:
    """Read what starts at a mark, and return where it ends."""
    if not mark.name:
        return scan.add_plain(opened.children, mark)
    if mark.closing:
        return _end_tag(scan, opened, mark)
    tag = scan.tag(mark.start, mark.name, ours=mark.name in OURS)
    if isinstance(tag, BrokenTag):
        scan.refuse_tag(mark.name, tag)
        return mark.end
    if mark.name == ARCHIVE:
        opened.open(tag)
        return tag.span.end
    element = _element(scan, tag)
    opened.children.add(element)
    return element.span.end


def _end_tag(scan: TextScanner, opened: OpenElement, mark: Mark) -> int:
    end = mark.end
    if not scan.text.startswith(">", end):
        return end
    place = Span(mark.start, end + 1)
    if opened.knows(mark.name):
        opened.end(mark.name, place)
    else:
        scan.refuse_end(mark.name, place)
    return end + 1


def _element(scan: TextScanner, tag: Tag) -> Element:
    if tag.name in IDLE_AT_TOP:
        _warn_about_idle(scan, tag)
    if tag.name in LEAVES:
        return scan.read_leaf(tag)
    if tag.name in STRUCTURED:
        return read_block(scan, tag)
    return read_script(scan, tag) if tag.name == "script" else read_message(scan, tag)


def _warn_about_idle(scan: TextScanner, tag: Tag) -> None:
    headline = f"`<{tag.name}>` has no effect here"
    where = "`<reasoning>`" if tag.name == "summary" else "a message, such as `<user>`"
    scan.warn(CHATMD_NO_EFFECT_HERE, headline, tag.span, f"move it into {where}")


def parse_cached(source: SourceFile) -> tuple[ChatDocument, list[Diagnostic]]:
    """Same as `parse`, but the last text is not parsed again."""
    document, findings = _cached_parse(source)
    return document, list(findings)


@lru_cache(maxsize=1)
def _cached_parse(source: SourceFile) -> tuple[ChatDocument, tuple[Diagnostic, ...]]:
    document, findings = parse(source)
    return document, tuple(findings)
