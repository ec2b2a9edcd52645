"""Texts of the context language → documents, and sessions under them."""

from bylaw.engine.index import RuleSet
from bylaw.languages import context
from bylaw.languages.base import RuleFile
from bylaw.languages.context.output import current_values
from bylaw.languages.context.reader import read_document
from bylaw.model.event import Prompt
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Verdict
from bylaw.runtime.submit import DryRun

PATH = "contract.md"


def module(*blocks, name="m"):
    """A module around blocks."""
    return "\n".join(("[[MODULE]]", f"name: {name}", "description: d", *blocks, "[[/MODULE]]", ""))


def block(kind, body):
    """A block around its YAML."""
    return f"[[{kind}]]\n{body.strip()}\n[[/{kind}]]"


class Contract:
    """A document that loads, and one session under it; other books may be in force `beside`."""

    def __init__(self, text, *, fast=True, beside=()):
        self.document = read_document([SourceFile(PATH, text)])
        loaded = context.load([RuleFile(SourceFile(PATH, text), "digest")])
        assert not loaded.diagnostics
        book = Book(
            dialect="context", path=PATH, files=(PATH,), digest="", groups=tuple(loaded.groups)
        )
        self._rehearsal = DryRun(RuleSet((book, *beside), fast=fast))

    @property
    def slate(self):
        return self._rehearsal.session("default").slate

    @property
    def state(self):
        """Every variable by its qualified name."""
        return current_values(self.document, self.slate)

    def submit(self, event):
        """The decision on an event."""
        return self._rehearsal.submit(event).decision

    def say(self, text):
        """The decision on a message of the user."""
        return self.submit(Prompt(text=text))


def answers(decision):
    """The payloads of a decision."""
    return [one.text for one in decision.reasons if one.verdict is Verdict.HALT]


def warnings(decision):
    """The warnings of a decision."""
    return [one.text for one in decision.reasons if one.verdict is Verdict.WARN]
