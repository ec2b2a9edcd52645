"""An element of `<rules>` or `<policy>` → its attributes and children, and what is wrong there.

What is wrong is noted and a stand-in is returned, so that one run finds every problem of a file.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from bylaw.dialects.chatmd.syntax.nodes import Comment, Element
from bylaw.model.codes import chatmd_rules as codes
from bylaw.model.diagnostic import Label, error, warning
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Collection

    from bylaw.dialects.chatmd.syntax.nodes import Attribute, Node
    from bylaw.model.codes import Code
    from bylaw.model.findings import FindingList
    from bylaw.model.source import SourceFile

MAX_DIGITS = 15  # so that every reader of JSON keeps a number exactly
# Where each element belongs.
HOMES = {
    "on": "rules",
    **dict.fromkeys(("insert", "deny", "call", "agent", "compact", "set", "stop"), "on"),
    "tool": "policy",
    **dict.fromkeys(("requires", "validate", "quota", "cooldown"), "tool"),
    "check": "validate",
}
ANY_TOOL = "*"
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_BOOLEANS = {"true": True, "false": False}
Choice = TypeVar("Choice", bound=StrEnum)


class ElementReader:
    """One element, the source in which it stands, and where findings about it go."""

    def __init__(self, findings: FindingList, element: Element, source: SourceFile) -> None:
        self.findings = findings
        self.element = element
        self.source = source

    @property
    def name(self) -> str:
        """As its tag says."""
        return self.element.name

    def refuse(
        self,
        code: Code,
        headline: str,
        span: Span | None = None,
        help_: str = "",
        labels: tuple[Label, ...] = (),
    ) -> None:
        """Note a reason to refuse the file, at the start tag if no other place is said."""
        place = span or self.element.start
        self.findings.add(error(code, headline, self.source, place, help=help_, labels=labels))

    def doubt(self, code: Code, headline: str, span: Span | None = None, help_: str = "") -> None:
        """Note what is allowed and probably not meant."""
        place = span or self.element.start
        self.findings.add(warning(code, headline, self.source, place, help=help_))

    def place(self, name: str) -> Span:
        """Where the value of an attribute stands; where it is empty, the whole attribute."""
        attribute = self.element.attribute(name)
        if attribute is None:
            return self.element.start
        span = attribute.value_span
        return span if span.start < span.end else attribute.span

    def close(self, known: Collection[str], flags: Collection[str] = ()) -> None:
        """Refuse every attribute that is not known, is there twice, or has no proper value."""
        seen: set[str] = set()
        for one in self.element.attributes:
            if one.name not in known and one.name not in flags:
                self._refuse_unknown(one, known)
            elif one.name in seen:
                headline = f"`{one.name}` is there twice"
                self.refuse(codes.REPEATED_ATTRIBUTE, headline, one.span, "keep one of them")
            elif not one.quoted and one.name not in flags:
                self._refuse_unquoted(one)
            seen.add(one.name)

    def _refuse_unknown(self, one: Attribute, known: Collection[str]) -> None:
        headline = f"`{brief(one.name)}` means nothing in `<{self.name}>`"
        help_ = did_you_mean(one.name, known) or f"`<{self.name}>` has no attributes"
        span = Span(one.span.start, one.span.start + len(one.name))
        self.refuse(codes.UNKNOWN_ELEMENT_ATTRIBUTE, headline, span, help_)

    def _refuse_unquoted(self, one: Attribute) -> None:
        what = "has no value" if one.value is None else "has a value without quotes"
        help_ = f'write `{one.name}="…"`'
        self.refuse(codes.UNQUOTED_ATTRIBUTE, f"`{one.name}` {what}", one.span, help_)

    def has(self, name: str) -> bool:
        """Whether an attribute is there with a value."""
        attribute = self.element.attribute(name)
        return attribute is not None and attribute.value is not None

    def required(self, name: str) -> str:
        """A text that must be there; empty if it is not, or is blank."""
        if self.element.attribute(name) is None:
            headline = f"`<{self.name}>` has no `{name}`"
            self.refuse(codes.MISSING_ATTRIBUTE, headline, help_=f'add `{name}="…"`')
        elif self.has(name) and not self.element.value(name).strip():
            self.wrong(name, f"`{name}` is empty", "write something between the quotes")
        return self.element.value(name)

    def wrong(self, name: str, headline: str, help_: str = "") -> None:
        """Note that an attribute has a value that it cannot have."""
        self.refuse(codes.WRONG_ATTRIBUTE_VALUE, headline, self.place(name), help_)

    def integer(self, name: str, default: int, least: int | None = None) -> int:
        """A whole number that is not below `least`."""
        if not self.has(name):
            return default
        text = self.element.value(name)
        if _INTEGER.fullmatch(text) and (least is None or int(text) >= least):
            return int(text)
        bound = "" if least is None else f" that is at least {least}"
        help_ = f'use at most {MAX_DIGITS} digits, as in `{name}="{max(default, least or 0)}"`'
        self.wrong(name, f"`{name}` must be a whole number{bound}", help_)
        return default

    def boolean(self, name: str, *, default: bool) -> bool:
        """A switch."""
        text = self.element.value(name)
        if not self.has(name) or text in _BOOLEANS:
            return _BOOLEANS.get(text, default)
        self.wrong(name, f"`{name}` must be `true` or `false`", f'write `{name}="true"`')
        return default

    def choice(
        self, name: str, choices: type[Choice], default: Choice, *, required: bool = False
    ) -> Choice:
        """One of a closed list; the default also stands for one that is wrong."""
        if required and self.element.attribute(name) is None:
            self.required(name)
        if not self.has(name):
            return default
        text = self.element.value(name)
        try:
            return choices(text)
        except ValueError:
            self._refuse_choice(name, text, choices)
            return default

    def _refuse_choice(self, name: str, text: str, choices: type[StrEnum]) -> None:
        values = [one.value for one in choices]
        if text.strip() in values:
            self.wrong(name, f"`{name}` has blanks around its value", "delete them")
            return
        listed = ", ".join(f"`{value}`" for value in values)
        headline = f"`{brief(text)}` is no `{name}`" if text.strip() else f"`{name}` is empty"
        help_ = f"use one of {listed}"
        self.refuse(codes.UNKNOWN_ATTRIBUTE_VALUE, headline, self.place(name), help_)

    def tool_name(self, name: str) -> str:
        """The name of a tool; names are compared as they are."""
        text = self.required(name)
        if text.strip() and text != text.strip():
            self.wrong(name, f"`{name}` has blanks around the name of the tool", "delete them")
        return text

    def listed(self, name: str, separator: str, default: str = "") -> list[str]:
        """A list without repetition; blanks around its parts do not count."""
        text = self.element.value(name, default)
        parts = [part.strip() for part in text.split(separator)]
        if not all(parts):
            what = "is empty" if not text.strip() else f"has nothing beside a `{separator}`"
            self.wrong(name, f"`{name}` {what}", f"write names with `{separator}` between them")
        counted = Counter(filter(None, parts))
        twice = next((part for part, count in counted.items() if count > 1), None)
        if twice:
            self.wrong(name, f"`{brief(twice)}` is there twice", "keep one of them")
        return list(counted)

    def elements(self) -> list[ElementReader]:
        """The elements inside that may stand here; everything else but comments is refused."""
        found = []
        for node in self.element.children:
            if isinstance(node, Element):
                one = ElementReader(self.findings, node, self.source)
                if HOMES.get(one.name) == self.name:
                    found.append(one)
                else:
                    self._refuse_element(one)
            elif not isinstance(node, Comment):
                self._refuse_text(node)
        return found

    def _refuse_element(self, one: ElementReader) -> None:
        home = HOMES.get(one.name)
        known = [name for name, parent in HOMES.items() if parent == self.name]
        headline = f"`<{brief(one.name)}>` is not allowed in `<{self.name}>`"
        help_ = did_you_mean(one.name, known) or f"`<{self.name}>` holds nothing"
        one.refuse(
            codes.UNKNOWN_ELEMENT, headline, help_=f"it belongs into `<{home}>`" if home else help_
        )

    def _refuse_text(self, node: Node) -> None:
        span = self._shown(node)
        if span is not None:
            headline = f"text cannot stand in `<{self.name}>`"
            help_ = "write it as a comment, `<!-- … -->`"
            self.refuse(codes.TEXT_IN_RULES, headline, span, help_)

    def _shown(self, node: Node) -> Span | None:
        """The first line of a text that is not blank."""
        text = self.source.slice(node.span)
        if not text.strip():
            return None
        start = node.span.start + len(text) - len(text.lstrip())
        line = text.lstrip().splitlines()[0].rstrip()
        return Span(start, start + len(line))
