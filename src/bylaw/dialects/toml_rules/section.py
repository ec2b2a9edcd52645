"""One table of a rule file → typed values, and findings about wrong ones.

For a wrong value the reader adds a finding and returns a default, so that one run reports every
problem of a file.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from bylaw.model.codes.toml_rules import MISSING_KEY, NOT_A_CHOICE, UNKNOWN_KEY, WRONG_VALUE
from bylaw.model.diagnostic import error, warning
from bylaw.model.findings import MAX_ERRORS, FindingList
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bylaw.dialects.toml import Document
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import Span

# What a value must be, and an example.
TEXT = ("a text", '"…"')
BOOLEAN = ("`true` or `false`", "true")
INTEGER = ("a whole number", "100")
Path: TypeAlias = "tuple[str | int, ...]"
Choice = TypeVar("Choice", bound=StrEnum)


class Findings(FindingList):
    """The findings about one document, and its templates, which are checked later."""

    def __init__(self, document: Document) -> None:
        super().__init__()
        self.document = document
        self.templates: list[tuple[Path, str]] = []

    def refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add an error: the file will not load."""
        self.add(error(code, headline, self.document.source, span, help=help_))

    def doubt(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add a warning: the file loads, but probably contains a mistake."""
        self.add(warning(code, headline, self.document.source, span, help=help_))

    def relocate(self, found: Sequence[Diagnostic], path: Path) -> None:
        """Add findings about a string, moved to their places in the document."""
        if found:
            place = self.document.string(*path)
            self.add(*(place.relocated(one) for one in found))

    def section(self, name: str) -> Section | None:
        """Return a table of the document; None if it is missing or not a table."""
        values = self.document.values.get(name)
        if isinstance(values, dict):
            return Section(self, name, values)
        if values is not None:
            headline = f"`{name}` must be a table"
            span = self.document.value_span(name)
            self.refuse(WRONG_VALUE, headline, span, f"write `[{name}]` once")
        return None

    def close(self, known: Collection[str], *path: str) -> None:
        """Report every unknown key of a table."""
        table = self.document.values
        for step in path:
            table = table[step]
        for key in [key for key in table if key not in known][:MAX_ERRORS]:
            where = f" in `[{'.'.join(path)}]`" if path else ""
            headline = f"unknown key `{brief(key)}`{where}"
            span = self.document.key_span(*path, key)
            self.refuse(UNKNOWN_KEY, headline, span, did_you_mean(key, known))


class Section:
    """The values of one table."""

    def __init__(self, findings: Findings, name: str, values: dict[str, Any]) -> None:
        self.findings = findings
        self.name = name
        self.values = values

    @property
    def span(self) -> Span:
        """The place of the table header."""
        return self.findings.document.value_span(self.name)

    def place(self, key: str) -> Span:
        """Return the place of the value of a key."""
        return self.findings.document.value_span(self.name, key)

    def require(self, key: str, code: Code = MISSING_KEY) -> None:
        """Report a key that is missing."""
        if key not in self.values:
            self.findings.refuse(code, f"`[{self.name}]` has no `{key}`", self.span, "add it")

    def text(self, key: str, default: str = "") -> str:
        """Return a text."""
        value = self.values.get(key, default)
        return value if isinstance(value, str) else self._wrong(key, TEXT, default)

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(key, default)
        return value if isinstance(value, bool) else self._wrong(key, BOOLEAN, default)

    def integer(self, key: str, default: int) -> int:
        """Return a whole number. A boolean is not a number here."""
        value = self.values.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        wrong: int = self._wrong(key, INTEGER, default)
        return wrong

    def choice(self, key: str, choices: type[Choice], default: Choice) -> Choice:
        """Return one of the members of an enum."""
        text = self.text(key, default.value)
        try:
            return choices(text)
        except ValueError:
            self._refuse_choice(key, text, choices)
            return default

    def fill_in(self, text: str, path: Path) -> None:
        """Collect a template of this table, to be checked later."""
        self.findings.templates.append(((self.name, *path), text))

    def _refuse_choice(self, key: str, text: str, choices: type[StrEnum]) -> None:
        listed = ", ".join(f"`{one.value}`" for one in choices)
        headline = (
            f"invalid value `{brief(text)}` for `{key}`" if text.strip() else f"`{key}` is empty"
        )
        self.findings.refuse(NOT_A_CHOICE, headline, self.place(key), f"use one of {listed}")

    def _wrong(self, key: str, wanted: tuple[str, str], default: Any) -> Any:
        what, written = wanted
        help_ = f"write it as in `{key} = {written}`"
        self.findings.refuse(WRONG_VALUE, f"`{key}` must be {what}", self.place(key), help_)
        return default
