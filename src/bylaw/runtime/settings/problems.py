"""Collect the mistakes in settings, so that all are reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes.configuration import UNKNOWN_SETTING, UNUSABLE_SETTING, WRONG_SETTING
from bylaw.model.diagnostic import error, in_order
from bylaw.model.errors import LoadError
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile, Span


class Problems:
    """The mistakes in one settings file."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._findings: list[Diagnostic] = []

    def raise_if_any(self) -> None:
        """Raise LoadError with all mistakes, if there are any."""
        if self._findings:
            raise LoadError(in_order(self._findings))

    def unknown(self, key: str, where: str, span: Span, known: Iterable[str]) -> None:
        """Add an unknown key."""
        headline = f"unknown setting `{key}`" + (f" in {where}" if where else "")
        self.refuse(UNKNOWN_SETTING, headline, span, did_you_mean(key, known))

    def wrong(self, key: str, wanted: str, span: Span) -> None:
        """Add a value of the wrong type."""
        headline = f"`{key}` has a value of the wrong type"
        self.refuse(WRONG_SETTING, headline, span, f"write {wanted}")

    def unusable(self, key: str, why: str, span: Span, help_: str) -> None:
        """Add a value of the right type that cannot be used."""
        self.refuse(UNUSABLE_SETTING, f"invalid value for `{key}`: {why}", span, help_)

    def refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        """Add any other mistake."""
        self._findings.append(error(code, headline, self._source, span, help=help_))
