"""Checks of the hooks themselves, as built-in rules, so that records and explanations show them.

This language has no rule files: its only text is empty, and no listing shows the language. The
host adds its book to the others and stamps the facts that these rules read.

    protect    a call would change a protected file                          deny
    waits      a shell would wait for typed input, which no hook can check   deny
    changed    a protected file changed during a call or since the last one  warn
    unjudged   not all file changes could be checked                         deny (of the stop)
    output     the output of the turn should have been withheld              deny (of the stop)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Loaded, Visit, WhenBroken
from bylaw.dialects.questions import Question, Said
from bylaw.model.event import AgentStop, ToolAfter, ToolBefore
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Judgement, Origin, Rule, Trigger
from bylaw.model.uid import BUILT_IN, built_in_uid
from bylaw.model.verdict import Verdict
from bylaw.model.visible import listed, visible
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.dialects.base import RuleFile, Start
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.facts import Protected
    from bylaw.model.procedure import Book
    from bylaw.model.rule import View
    from bylaw.model.source import SourceFile

name = "hooks"
spec = "the rules of Bylaw's own hooks"
suffixes: tuple[str, ...] = ()
common_ending = False
one_book_per_file = False
GROUP = "hooks"
CHANGED = built_in_uid(name, "changed")
when_broken = WhenBroken(group=GROUP, kinds=(Kind.TOOL_BEFORE,), verdict=Verdict.DENY)
MAX_NAMED = 5  # files in a reason


def _protected(view: View) -> str:
    event = view.event
    if not isinstance(event, ToolBefore) or not event.facts.protected:
        return ""
    return f"protected from agents: {_named(event.facts.protected)}; only a person may change it"


def _waits(view: View) -> str:
    event = view.event
    if not isinstance(event, ToolBefore) or not event.facts.waits:
        return ""
    return (
        f"`{visible(event.facts.waits)}` would wait for typed input, which this client sends "
        "without calling a hook; pass the input in the call itself, for example `bash -c '…'`, "
        "`python3 FILE` or `python3 - <<'END'`"
    )


def _changed(view: View) -> str:
    event = view.event
    if not isinstance(event, ToolBefore | ToolAfter | AgentStop) or not event.facts.changed:
        return ""
    when = "since the last call"
    if isinstance(event, ToolAfter):
        when = f"while `{visible(event.tool)}` ran"
    return f"protected file changed {when}: {_named(event.facts.changed)}"


def _named(found: Sequence[Protected]) -> str:
    return listed(found, MAX_NAMED, lambda one: f"`{visible(one.path)}` ({one.why})")


def _withheld(view: View) -> str:
    return view.event.facts.withheld if isinstance(view.event, AgentStop) else ""


def _unjudged(view: View) -> str:
    return view.event.facts.unjudged if isinstance(view.event, AgentStop) else ""


def _rule(
    rule_id: str,
    kinds: tuple[Kind, ...],
    ask: Callable[[View], str],
    verdict: Verdict = Verdict.DENY,
) -> Rule:
    return Rule(
        uid=built_in_uid(name, rule_id),
        id=rule_id,
        origin=Origin(BUILT_IN, 1, 1, ""),
        on=Trigger(kinds=kinds),
        guard=Question(ask),
        judgement=Judgement(verdict, Said()),
        free=True,
        core=True,
    )


_PROCEDURE = Procedure(
    order=(SortKey.SOURCE,),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.RECORD,
)
_RULES = (
    _rule("protect", (Kind.TOOL_BEFORE,), _protected),
    _rule("waits", (Kind.TOOL_BEFORE,), _waits),
    _rule("changed", (Kind.TOOL_BEFORE, Kind.TOOL_AFTER, Kind.AGENT_STOP), _changed, Verdict.WARN),
    _rule("unjudged", (Kind.AGENT_STOP,), _unjudged),
    _rule("output", (Kind.AGENT_STOP,), _withheld),
)


def load(files: Sequence[RuleFile]) -> Loaded:  # noqa: ARG001 - no rule files
    """Return the built-in rules."""
    return Loaded(groups=(Group(GROUP, Visit.HOOKS, _PROCEDURE, _RULES),))


def detect(source: SourceFile) -> bool:  # noqa: ARG001 - no rule files
    """Return False: this language has no files."""
    return False


def rule_text(source: SourceFile) -> str:
    """Return the complete text."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Return the finding unchanged."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - no rule files
    """Return False."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - starts none
    """Return nothing: these rules start nothing."""
    return ()
