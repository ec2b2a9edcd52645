"""The tree of a ChatMD text, and the scanner that finds marks, tags and attributes in the text.

Every character of a file belongs to exactly one leaf of the tree. A mark is the start of RAW, of a
comment or of a tag. A quoted attribute value may contain `<` and `>`. In ochat's elements, as in
ochat, a backslash keeps a quoted value open, and everything that is not an attribute is skipped. In
our elements (`OURS`) a value ends at its closing quote, and only attributes are allowed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from bylaw.model.codes.chatmd import (
    CHATMD_BROKEN_TAG,
    CHATMD_OPEN_LEAF,
    CHATMD_STRAY_END,
    CHATMD_TOO_DEEP,
    CHATMD_UNCLOSED,
    CHATMD_UNTERMINATED,
)
from bylaw.model.diagnostic import Diagnostic, Label, error, warning
from bylaw.model.display import brief
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile

_CHARACTERS = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
_ENTITY = re.compile("|".join(_CHARACTERS))
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def decode(raw: str) -> str:
    """Return the value of the text between quotes."""
    if "&" not in raw:
        return raw
    return _ENTITY.sub(lambda found: _CHARACTERS[found[0]], raw)


def encode(value: str) -> str:
    """Return a value as it is written between double quotes."""
    return value.translate(_ESCAPES)


def value_places(raw: str, start: int, *, decoded: bool) -> tuple[int, ...]:
    """Return the places of the characters of a value written at `start`, and of its end."""
    found: list[int] = []
    at = 0
    for entity in _ENTITY.finditer(raw) if decoded else ():
        found += range(start + at, start + entity.start() + 1)
        at = entity.end()
    return (*found, *range(start + at, start + len(raw) + 1))


# A tree has no cycles, so the garbage collector need not track its nodes (`gc=False`).


class Attribute(Struct, frozen=True, gc=False):
    """One attribute of a tag. A flag has no value.

    `value` is decoded. `value_span` is the place of the text between the quotes.
    """

    name: str
    value: str | None
    span: Span
    value_span: Span
    quoted: bool

    def places(self, source: SourceFile) -> tuple[int, ...]:
        """Return the places of the characters of the value and of its end, for `EmbeddedText`."""
        return value_places(
            source.slice(self.value_span), self.value_span.start, decoded=self.quoted
        )


class TextNode(Struct, frozen=True, gc=False):
    """Plain text. Entities in it are not decoded."""

    span: Span


class RawNode(Struct, frozen=True, gc=False):
    """`RAW|…|RAW`. `inner` is the place of the text between the marks."""

    span: Span
    inner: Span


class CommentNode(Struct, frozen=True, gc=False):
    """`<!-- … -->`."""

    span: Span


class Element(Struct, frozen=True, gc=False):
    """An element with its attributes and its content.

    `start` is the place of its start tag, `end` that of its end tag. `end` is empty and after the
    content if the tag closes itself, for an old `<doc … local>` without an end tag, or after an
    error.
    """

    name: str
    attributes: tuple[Attribute, ...]
    children: tuple[ChatmdNode, ...]
    span: Span
    start: Span
    end: Span

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute with this name. If there are several, the last one is used."""
        found = [one for one in self.attributes if one.name == name]
        return found[-1] if found else None

    def value(self, name: str, default: str = "") -> str:
        """Return the value of an attribute. A flag or a missing attribute has the default."""
        found = self.attribute(name)
        return default if found is None or found.value is None else found.value


ChatmdNode: TypeAlias = TextNode | RawNode | CommentNode | Element


class ChatDocument(Struct, frozen=True, gc=False):
    """A complete file."""

    source: SourceFile
    children: tuple[ChatmdNode, ...]

    @property
    def elements(self) -> tuple[Element, ...]:
        """The elements at the top of the file."""
        return tuple(node for node in self.children if isinstance(node, Element))


RAW, RAW_END = "RAW|", "|RAW"
COMMENT, COMMENT_END = "<!--", "-->"


class Mark(NamedTuple):
    """The first characters of RAW, a comment or a tag. RAW and comments have no name."""

    start: int
    end: int
    name: str
    closing: bool


class Marks:
    """Finds the marks of one text, from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._raw, self._raw_from = -1, len(text) + 1
        self._tag: re.Match[str] | None = None
        self._tag_from = len(text) + 1
        self._pattern: re.Pattern[str] | None = None

    def next(self, tags: re.Pattern[str], at: int) -> Mark | None:
        """Return the first mark from `at` on. `tags` matches comments, and tags as (`/`, name)."""
        tag, raw = self._next_tag(tags, at), self.next_raw(at)
        if raw >= 0 and (tag is None or raw < tag.start()):
            return Mark(raw, raw + len(RAW), "", closing=False)
        if tag is None:
            return None
        return Mark(tag.start(), tag.end(), tag[2] or "", closing=bool(tag[1]))

    def next_raw(self, at: int) -> int:
        """Return where the first RAW from `at` on starts, or -1."""
        known = self._raw_from <= at and (self._raw >= at or self._raw < 0)
        if not known:
            self._raw, self._raw_from = self._text.find(RAW, at), at
        return self._raw

    def _next_tag(self, tags: re.Pattern[str], at: int) -> re.Match[str] | None:
        known = self._pattern is tags and self._tag_from <= at
        if not known or (self._tag is not None and self._tag.start() < at):
            self._tag, self._tag_from = tags.search(self._text, at), at
            self._pattern = tags
        return self._tag


BLANKS = " \t\r\n\f\v"
# The name of a tag, and what must follow it.
NAME = "[A-Za-z_][A-Za-z0-9_-]*"
NAME_ENDS = rf"(?=[{BLANKS}>]|/>|\Z)"
MAX_ATTRIBUTES = 1_000

_ITEM = re.compile(
    r"([^A-Za-z0-9_:<>-]*)"
    rf"(?:([A-Za-z0-9_:-]+)(?:[{BLANKS}]*=[{BLANKS}]*(?:([\"'])|([^{BLANKS}<>]*)))?)?"
)


class Tag(NamedTuple):
    """A complete start tag. `closed` is true if it ends in `/>`."""

    name: str
    attributes: tuple[Attribute, ...]
    span: Span
    closed: bool


class BrokenTag(NamedTuple):
    """Text that starts like a tag but is not a valid one, with the error."""

    code: Code
    headline: str
    span: Span
    help: str


class TagReader:
    """Reads the start tags of one text, by the rules of ochat's elements or of ours."""

    def __init__(self, text: str, *, ours: bool) -> None:
        self._text = text
        self._ours = ours
        # Offsets that a broken tag reached. More tags may start in its values. A tag that reaches
        # one of these offsets is broken, too, so the same text is not read many times.
        self._dead: set[int] = set()
        self._dead_until = -1
        # For each kind of quote, the offset from which on there are none.
        self._no_quote: dict[str, int] = {}

    def read(self, start: int, name: str) -> Tag | BrokenTag:
        """Read the tag at `start`, which has this name."""
        inside = start + 1 + len(name)
        if self._text.startswith(">", inside):
            return Tag(name, (), Span(start, inside + 1), closed=False)
        if start > self._dead_until:
            self._dead.clear()
        seen: list[int] = []
        found = self._read(Span(start, inside), seen)
        if isinstance(found, BrokenTag):
            self._dead.update(seen)
            self._dead_until = max(self._dead_until, *seen, start)
        return found

    def _read(self, begin: Span, seen: list[int]) -> Tag | BrokenTag:
        attributes: list[Attribute] = []
        at = begin.end
        while at not in self._dead and len(seen) < MAX_ATTRIBUTES:
            seen.append(at)
            item = _ITEM.match(self._text, at)
            assert item is not None, "the pattern also matches an empty text"
            if self._ours and item[1].strip(BLANKS) and not self._is_tag_end(item):
                return _invalid_attribute(item.start(), item[1])
            if item[2] is None:
                return self._end(begin, item.end(), attributes)
            attribute = self._attribute(item)
            if isinstance(attribute, BrokenTag):
                return attribute
            attributes.append(attribute)
            at = attribute.span.end
        many = len(seen) >= MAX_ATTRIBUTES
        why = f"it has {MAX_ATTRIBUTES:,} attributes" if many else "an earlier tag is incomplete"
        return _incomplete_tag(begin, why)

    def _is_tag_end(self, item: re.Match[str]) -> bool:
        """Return whether the item is `/>`."""
        return item[1].lstrip(BLANKS) == "/" and self._text.startswith(">", item.end())

    def _end(self, begin: Span, at: int, attributes: list[Attribute]) -> Tag | BrokenTag:
        if not self._text.startswith(">", at):
            why = "a `<` comes" if self._text.startswith("<", at) else "the file ends"
            return _incomplete_tag(begin, f"{why} before its `>`")
        name = self._text[begin.start + 1 : begin.end]
        closed = self._text[at - 1] == "/"
        return Tag(name, tuple(attributes), Span(begin.start, at + 1), closed)

    def _attribute(self, item: re.Match[str]) -> Attribute | BrokenTag:
        name, start, end = item[2], item.start(2), item.end()
        if item[3]:
            return self._quoted(name, start, end, item[3])
        if item[4] is None:
            return Attribute(name, None, Span(start, end), Span(end, end), quoted=False)
        if item[4].endswith("/") and self._text.startswith(">", end):
            end -= 1  # it closes the tag
        value = Span(item.start(4), end)
        return Attribute(name, self._text[value.start : end], Span(start, end), value, quoted=False)

    def _quoted(self, name: str, start: int, inner: int, quote: str) -> Attribute | BrokenTag:
        end = self._closing(quote, inner)
        if end < 0:
            return _unclosed_value(name, Span(start, inner), quote)
        value = decode(self._text[inner:end])
        return Attribute(name, value, Span(start, end + 1), Span(inner, end), quoted=True)

    def _closing(self, quote: str, inner: int) -> int:
        if inner >= self._no_quote.get(quote, inner + 1):
            return -1
        end = self._text.find(quote, inner)
        while not self._ours and end > inner and self._text[end - 1] == "\\":
            end = self._text.find(quote, end + 1)
        if end < 0:
            self._no_quote[quote] = inner
        return end


def _incomplete_tag(begin: Span, why: str) -> BrokenTag:
    help_ = "write `>` after the attributes"
    return BrokenTag(CHATMD_BROKEN_TAG, f"the tag is not complete: {why}", begin, help_)


def _invalid_attribute(start: int, skipped: str) -> BrokenTag:
    start += len(skipped) - len(skipped.lstrip(BLANKS))
    shown = skipped.strip(BLANKS)
    help_ = 'write attributes as `name="value"`'
    place = Span(start, start + len(shown))
    return BrokenTag(CHATMD_BROKEN_TAG, f"`{brief(shown)}` is not an attribute", place, help_)


def _unclosed_value(name: str, place: Span, quote: str) -> BrokenTag:
    headline = f"the value of `{brief(name)}` has no closing quote"
    return BrokenTag(CHATMD_UNTERMINATED, headline, place, f"add the closing `{quote}`")


# They contain text and inline elements.
MESSAGES = frozenset(
    ("user", "system", "developer", "assistant", "msg", "tool_call", "tool_response", "reasoning")
)
INLINE = frozenset(("doc", "img", "agent", "import"))
# They have no content, so one without an end tag gets none.
LEAVES = frozenset(("doc", "img", "import", "config", "moderator_runtime"))
# Some programs write these without an end tag.
MAY_STAY_OPEN = frozenset(("doc", "img", "import"))
# They have no effect at the top of a file.
IDLE_AT_TOP = frozenset(("doc", "img", "agent", "summary"))
# Every tag in them is an element.
OURS = frozenset(("rules", "policy"))
STRUCTURED = frozenset((*OURS, "tool", "shell_access"))
# In rules and policy these contain text.
BODIES = frozenset(("insert", "agent", "call"))
# Its content is read like the top of a file.
ARCHIVE = "archive"
KNOWN = frozenset((*MESSAGES, *INLINE, *LEAVES, *STRUCTURED, "summary", "script", ARCHIVE))


# A comment, or a tag of a known element.
KNOWN_TAGS = re.compile(rf"<(?:!--|(/?)({'|'.join(sorted(KNOWN, reverse=True))}){NAME_ENDS})")
MAX_FINDINGS = 100  # errors, and the same number of warnings
MAX_DEPTH = 64  # levels of nested elements


class ChildNodes:
    """The nodes in an element or at the top. Characters between them become text nodes."""

    def __init__(self, start: int) -> None:
        self.nodes: list[ChatmdNode] = []
        self.end = start

    def add(self, node: ChatmdNode) -> None:
        """Add a node, and the text before it."""
        self.text_until(node.span.start)
        self.nodes.append(node)
        self.end = node.span.end

    def text_until(self, end: int) -> None:
        """Add everything up to `end` as text."""
        if end > self.end:
            self.nodes.append(TextNode(Span(self.end, end)))
            self.end = end


class TextScanner:
    """One text while it is read, with its findings."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.text = source.text
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.marks = Marks(self.text)
        self._tags = TagReader(self.text, ours=False)
        self._our_tags = TagReader(self.text, ours=True)
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
    def can_warn(self) -> bool:
        """Whether more warnings can be added."""
        return len(self.warnings) < MAX_FINDINGS

    def warn(self, code: Code, headline: str, span: Span, help_: str) -> None:
        """Add a warning, up to a limit."""
        if self.can_warn:
            self.warnings.append(warning(code, headline, self.source, span, help=help_))

    def tag(self, start: int, name: str, *, ours: bool = False) -> Tag | BrokenTag:
        """Read the start tag at a place. The caller knows its name."""
        return (self._our_tags if ours else self._tags).read(start, name)

    def add_plain(self, children: ChildNodes, mark: Mark) -> int:
        """Add the RAW or comment at a mark, and return where it ends. Without an end it is text."""
        node = self._raw_or_comment(mark.start)
        if node is None:
            return mark.end
        children.add(node)
        return node.span.end

    def _raw_or_comment(self, at: int) -> RawNode | CommentNode | None:
        if self.text.startswith(RAW, at):
            end = self._end_of(RAW, RAW_END, at)
            if end < 0:
                return None
            return RawNode(Span(at, end), Span(at + len(RAW), end - len(RAW_END)))
        end = self._end_of(COMMENT, COMMENT_END, at)
        return None if end < 0 else CommentNode(Span(at, end))

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
        children = ChildNodes(tag.span.end)
        if tag.closed:
            return build_element(tag, children)
        at = self.text.find("<", children.end)
        end = f"</{tag.name}>"
        if at < 0 or not self.text.startswith(end, at):
            return None
        if 0 <= self.marks.next_raw(children.end) < at:
            return None
        children.text_until(at)
        return build_element(tag, children, Span(at, at + len(end)))

    def read_leaf(self, tag: Tag) -> Element:
        """Read an element that should have no content. Without an end tag, it is its start tag."""
        flat = self.flat(tag)
        if flat is not None:
            return flat
        self._leave_open(tag)
        return build_element(tag, ChildNodes(tag.span.end))

    def _leave_open(self, tag: Tag) -> None:
        if tag.name not in MAY_STAY_OPEN:
            self.refuse_unclosed(tag)
            return
        headline = f"`<{tag.name}>` is not closed: it is read as empty"
        self.warn(CHATMD_OPEN_LEAF, headline, tag.span, "write `/>` instead of `>`")

    def refuse_unclosed(self, tag: Tag, *labels: Label) -> None:
        """Report an element without an end tag."""
        empty = "" if tag.name in MESSAGES else ", or `/>` if it is empty"
        help_ = f"write `</{tag.name}>` where it ends{empty}"
        self.refuse(
            CHATMD_UNCLOSED, f"`<{tag.name}>` has no end tag", tag.span, help_, labels=labels
        )


def build_element(tag: Tag, children: ChildNodes, end: Span | None = None) -> Element:
    """Build an element from its tag, its content and the place of its end tag, if any."""
    if end is None:
        end = Span(children.end, children.end)
    span = Span(tag.span.start, end.end)
    return Element(tag.name, tag.attributes, tuple(children.nodes), span, tag.span, end)
