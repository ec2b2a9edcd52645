"""Decide messages of a person under one context document.

The engine decides, with the rules of the document. There is no second interpreter of the language.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.context.payload import Payload
from bylaw.dialects.context.standing import standing
from bylaw.engine.index import RuleSet
from bylaw.model.event import DEFAULT_SESSION, Prompt
from bylaw.model.slate import Enabled
from bylaw.model.verdict import Verdict
from bylaw.runtime.rehearsal import Rehearsal

if TYPE_CHECKING:
    from bylaw.model.decision import Decision
    from bylaw.model.session import Session
    from bylaw.model.slate import Slate
    from bylaw.model.values import JSON
    from bylaw.tools.context.documents import GivenDocument


class Result(StrEnum):
    """Result of a message."""

    OK = "ok"
    ERROR = "error"
    WARNING = "warning"
    PROSE = "prose"


class Answer(Struct, frozen=True):
    """The result of a message, its visible output, and the state after it.

    The output is empty for prose and for a call that ran, as the language demands. If a message
    has several lines, a warning is shown even if another line is a call that ran.
    """

    message: str
    result: Result
    output: str
    state: dict[str, JSON]
    enabled: Enabled


class Conversation:
    """One session. If the document does not load, every answer is its first error."""

    def __init__(self, given: GivenDocument, session: Session | None = None) -> None:
        self._given = given
        self._rehearsal = Rehearsal(RuleSet((given.book.book,)))
        if session is not None:
            self._rehearsal.sessions[session.id] = session
        self._id = DEFAULT_SESSION if session is None else session.id

    @property
    def slate(self) -> Slate:
        """Current variables and enabled names."""
        return self._rehearsal.session(self._id).slate

    def say(self, message: str) -> Answer:
        """Decide a message of the person. It may have several lines."""
        document = self._given.document
        if document is None:
            payload = Payload.of(self._given.problems[0]).text()
            return Answer(message, Result.ERROR, payload, {}, Enabled())
        said = Prompt(session=self._id, text=message)
        decision = self._rehearsal.submit(said).decision
        slate = self.slate
        return Answer(message, *_told(decision), standing(document, slate), slate.enabled)


def _told(decision: Decision) -> tuple[Result, str]:
    halts = [one.text for one in decision.reasons if one.verdict is Verdict.HALT]
    if halts:
        return Result.ERROR, halts[0]  # a payload is the complete output (AC-132)
    warnings = [one.text for one in decision.reasons if one.verdict is Verdict.WARN]
    if warnings:
        return Result.WARNING, "\n".join(warnings)
    return (Result.OK if decision.plans else Result.PROSE), ""
