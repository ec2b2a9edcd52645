"""The few exceptions. A user's mistake is a Diagnostic; these carry one across a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes.engine import GUARD_CRASH
from bylaw.model.diagnostic import error

if TYPE_CHECKING:
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile, Span


class BylawError(Exception):
    """Anything that Bylaw raises on purpose."""


class LoadError(BylawError):
    """A text that was refused before any event was processed; holds why, in source order."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(d.headline for d in diagnostics))
        self.diagnostics = diagnostics

    @property
    def headline(self) -> str:
        """The first reason, in one line."""
        return self.diagnostics[0].headline if self.diagnostics else str(self)


def load_error(
    code: Code,
    headline: str,
    source: SourceFile,
    span: Span,
    *,
    note: str = "",
    help: str = "",  # noqa: A002 - the word that users see
) -> LoadError:
    """A load error with one diagnostic."""
    return LoadError([error(code, headline, source, span, note=note, help=help)])


class RuleError(BylawError):
    """A rule that is not there, or that cannot be switched on or off."""


class PolicyError(LoadError):
    """A file policy that was refused."""


class PatternError(PolicyError):
    """A path pattern that was refused."""


class GuardError(BylawError):
    """An expression that loaded but has no value for this event."""

    def __init__(self, code: str, message: str, part: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.part = part


class RenderError(BylawError):
    """A template that loaded but could not be rendered from these values."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotNeeded(RenderError):  # noqa: N818 - of an action it is no error
    """An action that finds nothing to do, and why; whatever else says so has failed."""

    def __init__(self, why: str) -> None:
        super().__init__(GUARD_CRASH.name, why)
