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

from bylaw.languages.base import AnswerReason, BuiltInCheck, LoadResult, VisitOrder, WhenBroken
from bylaw.model.display import list_limited, visible
from bylaw.model.event import AgentStop, ToolAfter, ToolBefore
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import BUILT_IN, Origin, Rule, RuleVerdict, Trigger, built_in_uid
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.languages.base import Launch, RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.facts import ProtectedFile
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


def _protected_reason(view: View) -> str:
    event = view.event
    if not isinstance(event, ToolBefore) or not event.facts.protected:
        return ""
    return (
        f"protected from agents: {_file_list(event.facts.protected)}; only a person may change it"
    )


def _waits_reason(view: View) -> str:
    event = view.event
    if not isinstance(event, ToolBefore) or not event.facts.waits:
        return ""
    return (
        f"`{visible(event.facts.waits)}` would wait for typed input, which this client sends "
        "without calling a hook; pass the input in the call itself, for example `bash -c '…'`, "
        "`python3 FILE` or `python3 - <<'END'`"
    )


def _changed_reason(view: View) -> str:
    event = view.event
    if not isinstance(event, ToolBefore | ToolAfter | AgentStop) or not event.facts.changed:
        return ""
    when = "since the last call"
    if isinstance(event, ToolAfter):
        when = f"while `{visible(event.tool)}` ran"
    return f"protected file changed {when}: {_file_list(event.facts.changed)}"


def _file_list(found: Sequence[ProtectedFile]) -> str:
    return list_limited(found, MAX_NAMED, lambda one: f"`{visible(one.path)}` ({one.why})")


def _withheld_reason(view: View) -> str:
    return view.event.facts.withheld if isinstance(view.event, AgentStop) else ""


def _unjudged_reason(view: View) -> str:
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
        guard=BuiltInCheck(ask),
        judgement=RuleVerdict(verdict, AnswerReason()),
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
    _rule("protect", (Kind.TOOL_BEFORE,), _protected_reason),
    _rule("waits", (Kind.TOOL_BEFORE,), _waits_reason),
    _rule(
        "changed",
        (Kind.TOOL_BEFORE, Kind.TOOL_AFTER, Kind.AGENT_STOP),
        _changed_reason,
        Verdict.WARN,
    ),
    _rule("unjudged", (Kind.AGENT_STOP,), _unjudged_reason),
    _rule("output", (Kind.AGENT_STOP,), _withheld_reason),
)


def load(files: Sequence[RuleFile]) -> LoadResult:  # noqa: ARG001 - no rule files
    """Return the built-in rules."""
    return LoadResult(groups=(Group(GROUP, VisitOrder.HOOKS, _PROCEDURE, _RULES),))


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


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:  # noqa: ARG001 - starts none
    """Return nothing: these rules start nothing."""
    return ()
