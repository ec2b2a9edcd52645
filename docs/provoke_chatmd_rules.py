"""Examples of rules in ChatMD files → what loading and deciding them says; see provoke.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.index import RuleSet
from bylaw.languages import chatmd
from bylaw.languages.base import RuleFile
from bylaw.model.errors import GuardError
from bylaw.model.event import ToolBefore
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.runtime.submit import DryRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.languages.base import LoadResult
    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic

FILE = "main.chatmd"


def _loaded(text: str) -> LoadResult:
    return chatmd.load([RuleFile(SourceFile(FILE, text), "")])


def rules(example: Example) -> Sequence[Diagnostic]:
    """A file with rules or policies."""
    return _loaded(example.text).diagnostics


def action(example: Example) -> Sequence[GuardError]:
    """A rule whose action fails at a call with a long text."""
    groups = _loaded(example.text).groups
    book = Book(dialect=chatmd.name, path=FILE, files=(FILE,), digest="", groups=groups)
    call = ToolBefore(tool="edit", args={"text": "x" * 10_000})
    trace = DryRun(RuleSet([book]), {}).submit(call).decision.trace
    _, code, message = trace[0].detail.split(": ", 2)
    return [GuardError(code, message)]


READERS: dict[str, Callable[[Example], Sequence[Diagnostic | GuardError]]] = {
    "chatmd-action": action,
    "chatmd-rules": rules,
}
