"""Rules made by hand for tests of the journal, and a runtime that follows them.

`quota` denies the tool `shell` once it was used so often. `chores` gives every prompt a plan of
three steps, each of which leaves a line in a file when it is performed.
"""

from dataclasses import dataclass
from pathlib import Path

from bylaw.engine.index import RuleSet
from bylaw.engine.plan import DONE
from bylaw.languages.base import FixedReason
from bylaw.model.decision import Match
from bylaw.model.effects import Log
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Filter, Origin, PlanForm, Rule, RuleVerdict, Trigger
from bylaw.model.vocabulary import Kind, Op, Verdict
from bylaw.runtime.submit import Runtime
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import rules_without_texts

CHORES = 3
PROCEDURE = Procedure(
    order=(SortKey.SOURCE,),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.RECORD,
)


@dataclass(frozen=True)
class Used:
    """Holds once the tool was used so often, calls under way included."""

    tool: str
    times: int

    def test(self, view):
        return Match() if view.session.count_used(self.tool) >= self.times else None


@dataclass(frozen=True)
class Chore:
    """One line of a log."""

    text: str
    op: Op = Op.LOG

    def make(self, view, match):
        return (Log(text=self.text),)


def rule(name, **more):
    return Rule(uid=f"test:law#{name}", id=name, origin=Origin("law", 1, 1, ""), **more)


def quota(times):
    """At most so many calls of the tool `shell`."""
    return rule(
        "quota",
        on=Trigger(kinds=(Kind.TOOL_BEFORE,)),
        filter=Filter(tools=("shell",)),
        guard=Used("shell", times),
        judgement=RuleVerdict(Verdict.DENY, FixedReason("that was enough")),
    )


def chores():
    """Three steps for every prompt."""
    steps = tuple(Chore(f"chore {number}") for number in range(1, CHORES + 1))
    return rule("chores", on=Trigger(kinds=(Kind.PROMPT,)), plan=PlanForm(steps=steps))


def book(*rules):
    return Book(
        dialect="test", path="law", files=(), digest="", groups=(Group("law", 0, PROCEDURE, rules),)
    )


def runtime(path, *rules, done=None, **more):
    """A runtime with a journal; each step that it performs leaves a line in the file `done`."""

    def perform(due, event):
        if done is not None:
            with Path(done).open("a") as stream:  # in one piece, however many write
                stream.write(f"{event.seq} {due.number}\n")
        return DONE

    books = (book(*rules),)
    journal = path if isinstance(path, Journal) else Journal(str(path), **more)
    return Runtime(
        RuleSet(books), rules_without_texts(books), journal, performers={Op.LOG: perform}
    )
