"""The exceptions of Bylaw. A user's mistake is a diagnostic, which some of them carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes.runtime import GUARD_CRASH
from bylaw.model.diagnostic import error

if TYPE_CHECKING:
    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile, Span


class BylawError(Exception):
    """Base class of every exception that Bylaw raises on purpose."""


class LoadError(BylawError):
    """A text was rejected before any event was processed. Holds the reasons in source order."""

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
    """Build a load error with one diagnostic."""
    return LoadError([error(code, headline, source, span, note=note, help=help)])


class RuleError(BylawError):
    """A rule does not exist, or cannot be enabled or disabled."""


class PolicyError(LoadError):
    """A file policy was rejected."""


class PatternError(PolicyError):
    """A path pattern was rejected."""


class GuardError(BylawError):
    """An expression that loaded has no value for this event."""

    def __init__(self, code: str, message: str, part: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.part = part


class RenderError(BylawError):
    """A template that loaded cannot be rendered from these values."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class NotNeeded(RenderError):  # noqa: N818 - for an action this is not an error
    """An action has nothing to do, and why. Any other exception means that it failed."""

    def __init__(self, why: str) -> None:
        super().__init__(GUARD_CRASH.name, why)
