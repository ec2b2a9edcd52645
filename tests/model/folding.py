"""The short words in which the tests of sessions tell what happened."""

from bylaw.model.decision import Decision
from bylaw.model.event import Message, ToolAfter
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.vocabulary import CallStatus, Verdict

ALLOW = Decision()
DENY = Decision(verdict=Verdict.DENY)


def after(*events, session=None, decision=ALLOW):
    """The session after these events, each with the same decision."""
    session = session or Session()
    for event in events:
        session = fold(session, event, decision)
    return session


def call(tool, status=CallStatus.OK, **fields):
    return ToolAfter(tool=tool, status=status, **fields)


def said(role, text, **fields):
    return Message(role=role, text=text, **fields)
