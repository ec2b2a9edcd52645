"""Random events and decisions for the property tests of the model."""

from hypothesis import strategies as st
from msgspec import UNSET

from bylaw.model import effects, event, facts
from bylaw.model.decision import Decision, OnFailure, Plan, Reason, TraceLine, TraceResult
from bylaw.model.session import variable_space
from bylaw.model.values import MAX_COUNT
from bylaw.model.vocabulary import (
    ActorHint,
    ApprovalState,
    Authority,
    CallStatus,
    Category,
    Change,
    Channel,
    DeliverAt,
    EffectStatus,
    EntryStatus,
    FileStatus,
    Level,
    Op,
    PolicyMode,
    Priority,
    Recipient,
    Role,
    Verdict,
)

texts = st.text(max_size=12)
words = st.sampled_from(["", "a", "b", "ä😀", "\x00", "default", "none"])
lists_of_words = st.lists(words, max_size=3).map(tuple)
counts = st.integers(0, 5) | st.integers(0, MAX_COUNT)
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)


def known(strategy):
    """A fact, or its absence."""
    return st.just(UNSET) | strategy


parties = st.builds(facts.Principal, id=texts, settings=objects)
script_results = (
    st.builds(facts.ScriptResult, value=values)
    | st.builds(facts.ScriptResult, error=texts)
    | st.builds(facts.ScriptResult, killed=st.booleans())
)
change_sets = st.builds(
    facts.ChangeSet,
    ref=texts,
    files=st.lists(
        st.builds(
            facts.ChangedFile,
            path=texts,
            status=st.sampled_from(FileStatus),
            old_path=words,
            digest=words,
        ),
        max_size=2,
    ).map(tuple),
)
entries = st.builds(
    facts.Entry, policy=texts, status=st.sampled_from(EntryStatus), digest=words, shown=counts
)
approvals = st.builds(
    facts.Approval,
    id=texts,
    authority=words,
    category=words,
    state=st.sampled_from(ApprovalState),
    digest=words,
)
common_facts = {
    "token_budget": known(counts),
    "context_window": known(counts),
    "user": known(parties),
    "project": known(parties),
    "scripts": known(st.dictionaries(texts, script_results, max_size=2)),
    "disabled": known(lists_of_words),
}
protected = st.lists(st.builds(facts.ProtectedFile, path=texts, why=texts), max_size=2).map(tuple)
work_facts = st.builds(
    facts.WorkFacts,
    **common_facts,
    changes=known(
        st.builds(
            facts.Changes,
            base=known(change_sets),
            default_tip=known(change_sets),
            prompt=known(change_sets),
        )
    ),
    entries=known(st.dictionaries(texts, st.none() | entries, max_size=2)),
    withheld=texts,
    changed=protected,
    unjudged=texts,
)
tool_facts = st.builds(
    facts.ToolFacts,
    **common_facts,
    protected=protected,
    changed=protected,
)
law_facts = st.builds(
    facts.LawFacts,
    **common_facts,
    approvals=known(st.lists(approvals, max_size=2).map(tuple)),
    phase=known(st.none() | st.integers(0, 4)),
    allowed_roots=known(lists_of_words),
    policy_mode=known(st.sampled_from(PolicyMode)),
)
plain_facts = st.builds(facts.Facts, **common_facts)


def _common(facts_of_kind=plain_facts):
    return {
        "session": words,
        "seq": st.just(event.UNSTAMPED) | counts,
        "at": st.just(event.UNSTAMPED) | counts,
        "agent": st.sampled_from(["", "", "sub"]),
        "actor": words,
        "cause": lists_of_words,
        "round": st.sampled_from([1, 1, 1, 2]),
        "tokens": known(counts),
        "facts": facts_of_kind,
    }


tool_fields = {
    "tool": st.sampled_from(["Bash", "Edit", "shell"]),
    "also": st.sampled_from([(), ("shell",), ("shell", "shell", "Bash")]),
    "args": objects,
    "call": st.sampled_from(["", "c1", "c2", "c3"]),
}
ms = st.none() | counts

events = st.one_of(
    st.builds(event.SessionStart, **_common()),
    st.builds(event.Prompt, **_common(work_facts), text=texts),
    st.builds(event.TurnStart, **_common()),
    st.builds(event.Message, **_common(work_facts), role=st.sampled_from(Role), text=texts),
    st.builds(event.ToolBefore, **_common(tool_facts), **tool_fields),
    st.builds(
        event.ToolAfter,
        **_common(tool_facts),
        **tool_fields,
        status=st.sampled_from(CallStatus),
        result=values,
        error=texts,
        ms=ms,
    ),
    st.builds(event.TurnEnd, **_common(), text=texts, response=words),
    st.builds(event.AgentStop, **_common(work_facts), text=texts, each=st.booleans()),
    st.builds(
        event.File,
        **_common(law_facts) | {"actor": st.sampled_from(ActorHint)},
        change=st.sampled_from(Change),
        path=texts,
        old_path=words,
    ),
    st.builds(event.Bus, **_common(law_facts), message=values, digest=words, retry=counts),
    st.builds(event.Custom, **_common(), type=texts, payload=objects),
    st.builds(event.SessionEnd, **_common()),
    st.builds(
        event.EffectDone,
        **_common(),
        of=st.integers(0, 5),
        step=st.integers(1, 5),
        op=st.sampled_from(Op),
        status=st.sampled_from(EffectStatus),
        result=values,
        ms=ms,
    ),
    st.builds(event.HistoryChanged, **_common(), length=counts, why=texts),
    st.builds(
        event.ApprovalGiven,
        **_common(law_facts),
        id=texts,
        authority=words,
        granted=st.booleans(),
        digest=words,
    ),
    st.builds(
        event.RulesChanged,
        **_common(),
        digest=texts,
        enabled=lists_of_words,
        disabled=lists_of_words,
    ),
)

outcomes = st.builds(effects.Outcome, st.sampled_from(effects.OutcomePart))
step_texts = texts | outcomes | st.lists(texts | outcomes, max_size=3).map(tuple)
session_steps = st.one_of(
    st.builds(
        effects.StateSet,
        space=st.sampled_from([variable_space("toml"), variable_space("chatmd", "a.chatmd")]),
        name=st.sampled_from(["x", "y"]),
        value=values,
    ),
    st.builds(
        effects.RulesEnable,
        responses=lists_of_words,
        workflows=lists_of_words,
        protocols=lists_of_words,
    ),
    st.builds(effects.ResponseUse, id=texts),
    st.builds(
        effects.Notify,
        text=texts,
        category=st.sampled_from(Category),
        priority=st.sampled_from(Priority),
        deliver_at=st.sampled_from(DeliverAt),
    ),
)
steps = st.one_of(
    session_steps,
    st.builds(
        effects.MessageInsert,
        role=st.sampled_from(Role),
        text=step_texts,
        to=st.sampled_from(Recipient),
    ),
    st.builds(effects.ToolCall, tool=texts, args=objects),
    st.builds(effects.AgentRun, src=texts, input=step_texts),
    st.builds(
        effects.HistoryCompact, keep=texts, strategy=texts, threshold_tokens=st.none() | counts
    ),
    st.builds(effects.Log, text=texts, level=st.sampled_from(Level)),
    st.builds(effects.EventEmit, type=texts, payload=objects),
    st.builds(
        effects.CommandRun,
        argv=lists_of_words,
        cwd=texts,
        timeout_s=counts,
        check_idempotent=st.booleans(),
        files=lists_of_words,
    ),
    st.builds(effects.LockAcquire, key=texts),
    st.builds(effects.LockRelease, key=texts),
    st.builds(effects.BusWrite, channel=st.sampled_from(Channel), text=step_texts),
    st.builds(effects.ApprovalRequest, to=st.sampled_from(Authority), text=step_texts),
    st.builds(
        effects.PromptShow, policy=texts, text=texts, files=lists_of_words, missing=lists_of_words
    ),
    st.builds(effects.BaselineCapture, ref=texts),
    st.builds(
        effects.EntryWrite,
        hash=texts,
        status=st.sampled_from(EntryStatus),
        policy=texts,
        baseline=texts,
        trigger_files=lists_of_words,
        expected_files=lists_of_words,
        matched_files=lists_of_words,
        digest=words,
        shown=counts,
        command=texts,
        result=st.none() | step_texts,
    ),
    st.builds(effects.OutputReplace, text=step_texts),
)
uids = st.sampled_from(["toml:a.toml#a", "chatmd:b.chatmd#b"])


def decisions(of_steps=steps):
    """Decisions whose plans are made of these steps."""
    plans = st.builds(
        Plan,
        uid=uids,
        rule=words,
        group=words,
        steps=st.lists(of_steps, max_size=3).map(tuple),
        on_failure=st.sampled_from(OnFailure),
        ends_group_on_failure=st.booleans(),
        on_error=st.lists(of_steps, max_size=1).map(tuple),
        again=st.booleans(),
        delivers=st.integers(0, 4),
        broken=words,
    )
    reasons = st.builds(
        Reason,
        rule=words,
        uid=uids,
        file=texts,
        line=counts,
        verdict=st.sampled_from(list(Verdict)),
        text=texts,
    )
    trace = st.builds(TraceLine, uid=uids, result=st.sampled_from(TraceResult), detail=texts)
    return st.builds(
        Decision,
        verdict=st.sampled_from(list(Verdict)),
        reasons=st.lists(reasons, max_size=2).map(tuple),
        plans=st.lists(plans, max_size=2).map(tuple),
        fired=st.lists(uids, max_size=2).map(tuple),
        trace=st.lists(trace, max_size=2).map(tuple),
    )
