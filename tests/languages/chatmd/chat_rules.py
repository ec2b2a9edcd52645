"""Texts with rules and policies → what loading says of them, and sessions under them."""

from driving import Driven

from bylaw.engine.plan import DONE
from bylaw.languages import chatmd
from bylaw.languages.base import RuleFile, SiblingFileError
from bylaw.model.event import ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import CallStatus, Kind, Verdict

PATH = "main.chatmd"
UID = f"chatmd:{PATH}#"
# The sessions of a test.
driven = []


class Beside:
    """Files beside a chat, in memory."""

    def __init__(self, files):
        self.files, self.texts = files, {}

    def read(self, path):
        if path not in self.files:
            raise SiblingFileError(f"`{path}` is not there")
        self.texts[path] = self.files[path]
        return self.files[path]


def loaded(text, files=None):
    """What the language says of a file called `main.chatmd`."""
    return chatmd.load([RuleFile(SourceFile(PATH, text), "digest", Beside(files or {}))])


def findings(text, files=None):
    """Severity, code and underlined text of all findings, in their order."""
    found = sorted(loaded(text, files).diagnostics, key=lambda one: one.span)
    return [(one.severity.value, one.code, one.underlined) for one in found]


def errors(text):
    """Code and underlined text of all errors."""
    return [(code, place) for severity, code, place in findings(text) if severity == "error"]


def helps(text):
    """The help lines of all findings."""
    return [one.help for one in loaded(text).diagnostics]


def headlines(text, files=None):
    return [one.headline for one in loaded(text, files).diagnostics]


def rules_of(text, files=None):
    """The rules of a file that loads, policy first."""
    found = loaded(text, files)
    assert found.diagnostics == (), [one.headline for one in found.diagnostics]
    return [rule for group in found.groups for rule in group.rules]


def book(text, files=None):
    groups = loaded(text, files).groups
    return Book(dialect="chatmd", path=PATH, files=(PATH,), digest="", groups=groups)


def session(text, *, perform=lambda step: DONE, files=None, most=1_000):
    """A session under the rules of a file that loads without errors."""
    assert not errors(text), errors(text)
    driven.append(Driven(book(text, files), perform=perform, most=most))
    return driven[-1]


def on(actions, attributes='event="turn_start"', rules=""):
    """One rule."""
    return f"<rules{rules}><on {attributes}>{actions}</on></rules>"


def policy(elements, tool="X"):
    return f'<policy><tool name="{tool}">{elements}</tool></policy>'


def call(chat, tool, args=None, *, ends=True, call_id=None):
    """A call that is judged and, if it may, runs to its end."""
    call_id = call_id or f"call-{len(chat.record)}"
    before = chat.submit(ToolBefore(tool=tool, args=args or {}, call=call_id))
    if before.verdict < Verdict.DENY and ends:
        chat.submit(ToolAfter(tool=tool, args=args or {}, call=call_id, status=CallStatus.OK))
    return before


def turn(chat):
    """From the end of a turn to the beginning of the next."""
    return chat.submit(TurnEnd(), TurnStart())


def messages(happened):
    """Role and text of the messages that an event caused."""
    caused = (one.event for one in happened.caused if one.event.kind is Kind.MESSAGE)
    return [(event.role.value, event.text) for event in caused]
