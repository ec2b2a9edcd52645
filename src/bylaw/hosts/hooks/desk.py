"""Decide one hook event of a client under the rules of a root.

    `Heard` → events, each submitted → verdicts and texts → `Told` → what the client can receive

If an event is denied, the events after it are not submitted: see `events`. If subagents are exempt
(`[hooks] subagents = false`), only their calls that touch protected files are decided.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.dialects.base import FixedReason
from bylaw.dialects.file_policies.promises import promises
from bylaw.dialects.hook_rules import CHANGED
from bylaw.engine.index import RuleSet
from bylaw.hosts.base import Loop
from bylaw.hosts.hooks.base import STOPS, Told
from bylaw.hosts.hooks.built_in_rules import built_in_book
from bylaw.hosts.hooks.delivery import delivered
from bylaw.hosts.hooks.events import GATE_EVENTS, events_of
from bylaw.hosts.hooks.hook_host import HookHost, NotForFiles
from bylaw.hosts.hooks.named_files import may_change_files, with_paths_from_root
from bylaw.hosts.hooks.new_words import (
    earlier_texts,
    note_judged,
    only_new,
    with_last_text,
    without_echo,
)
from bylaw.hosts.hooks.notes import changing_notes, digest_of, one_stop_at_a_time, read_notes
from bylaw.hosts.hooks.protect.approvals import ApprovalCalls
from bylaw.hosts.hooks.protect.calls import waiting_in
from bylaw.hosts.hooks.protect.protected_files import ProtectedFiles
from bylaw.hosts.hooks.reasons import ASKED, objections, places, shown, warnings
from bylaw.hosts.worktree.policy_host import FilePolicies
from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop, Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind, Moment, Role
from bylaw.runtime.effects import ABILITIES, SENDS, Ask
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.journal.sources import rules_with_texts
from bylaw.runtime.loading import load_root
from bylaw.runtime.model_facts import with_model_facts
from bylaw.runtime.root import read_configuration
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.stop_gate import BlocksBefore, judged_stop
from bylaw.runtime.switches import read_switches
from bylaw.runtime.switching import Switchboard
from bylaw.runtime.trust import trust_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

    from bylaw.hosts.hooks.base import Heard
    from bylaw.hosts.hooks.disk import Disk
    from bylaw.hosts.hooks.notes import AgentNotes, SessionNotes
    from bylaw.hosts.hooks.transcripts import Said
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.configuration import Configuration
    from bylaw.runtime.loading import Library


class Desk:
    """The active rules of a root for one client. Raises LoadError if they do not load."""

    def __init__(self, root: str, host: str, stack: ExitStack) -> None:
        self._root = root
        library = load_root(root)
        configuration = read_configuration(root)
        books = (*library.in_force(), (own := built_in_book(root)).book)
        trust = partial(trust_of, root, library, configuration)
        self.settings = trust().in_force(configuration.settings)
        self._host = HookHost(host)
        self._abilities = ABILITIES[host]
        self._for_person_once = list(_unheard_of(library, host))
        tell = self._for_person_once.append
        self._protected = ProtectedFiles(root, library, self.settings.protect, tell)
        self._policies = FilePolicies(root, tell)
        self._switches = Switchboard(books, read_switches(root).disabled)
        journal = stack.enter_context(open_journal(root, configuration))
        scripts = stack.enter_context(ScriptRunner())
        self._rules = rules = RuleSet(books)
        self._policies.put_in_force(rules, self.settings.command, trust, journal.redactor.text)
        texts = rules_with_texts((*library.governing, own))
        offer = NotForFiles(self._policies)
        self._loop = Loop(self._host, rules, texts, journal, scripts, offer)
        self._disk = self._watched(root, rules, configuration)
        bus = self.settings.law.bus
        watches = self.settings.protect.enabled and self._protected.has_law
        self._approvals = ApprovalCalls(root, bus) if watches else None

    def hear(self, heard: Heard, session: str) -> Told:
        """Submit the events that a hook event leads to. Return the reply for the client."""
        is_stop = heard.moment in STOPS
        with one_stop_at_a_time(self._root, session) if is_stop else nullcontext():
            before = read_notes(self._root, session)
            own = before.of_agent(heard.agent)
            heard = without_echo(with_last_text(heard, before), before)
            self._tell_watchers(heard, session)
            earlier = earlier_texts(heard, before)
            heard = only_new(heard, own)
            told = self._judged(heard, session, _blocks_before(heard, own), earlier.texts)
            now = self._told_now(heard, session, told, earlier)
            # Last: if anything above fails, the next hook reports the changes again.
            self._protected.note_as_seen(session)
            return now

    def _tell_watchers(self, heard: Heard, session: str) -> None:
        """Update the watch on protected files and approvals, independent of what rules decide."""
        if heard.moment is Moment.PROMPT and heard.text and not heard.agent:
            self._protected.changed(session)  # the person made these changes: do not report them
            self._protected.note_as_seen(session)
        if self._approvals:
            # Even if the call is denied later: a failure in between may let it run.
            self._for_person_once += self._approvals.hear(heard, session)

    def _told_now(self, heard: Heard, session: str, told: Told, earlier: Said) -> Told:
        """Return what the client can receive now. Keep the rest in the notes."""
        # Read the notes again: hooks of one session run in parallel and may have changed them.
        with changing_notes(self._root, session) as notes:
            now = self._fitted(heard, told, notes)
            if earlier.end:
                notes.has_read(heard.transcript, earlier.end)
        if self._approvals and now.refused:
            self._approvals.denied(heard, session)
        return now

    def _fitted(self, heard: Heard, told: Told, notes: SessionNotes) -> Told:
        if heard.moment is Moment.PROMPT and heard.text:
            notes.forget_blocks()
        if heard.moment in STOPS:
            own = notes.newest(heard.agent)
            blocked = told.refused and self._takes_refusals(heard)
            own.of_others = _blocks_before(heard, own).of_others
            own.in_a_row += blocked
            note_judged(heard, own, blocked=blocked)
        self._host.for_person += notes.once(self._for_person_once)
        now = delivered(heard, told, self._host, self._abilities, notes)
        if heard.moment is Moment.STOP:
            notes.blocked_with = digest_of(now.reason) if now.refused else ""
        return now

    @property
    def logged(self) -> list[str]:
        """The lines that rules wrote to the log."""
        return self._host.logged

    def _watched(self, root: str, rules: RuleSet, configuration: Configuration) -> Disk | None:
        """Return the files of the root if a rule is about file changes, else None."""
        if not any(Kind.FILE in rule.on.kinds and not rule.free for rule in rules.rules()):
            return None
        from bylaw.hosts.hooks.disk import Disk  # noqa: PLC0415 - few roots have such rules

        host, law = self._host.name, self.settings.law
        return Disk(root, host, rules, configuration, law, self._for_person_once.append)

    def _takes_refusals(self, heard: Heard) -> bool:
        """Return whether the client obeys a denial here. Some report a stop only afterwards."""
        return heard.moment in self._abilities.denies

    def _leaves_alone(self, heard: Heard) -> bool:
        return bool(heard.agent) and not self.settings.hooks.subagents

    def _judge_files(self, heard: Heard, session: str) -> None:
        """Decide file changes before the event.

        They happened already, and no denial undoes them.
        """
        for event in self._disk.events(heard, session) if self._disk else ():
            answer = self._submit(self._stamped(event, session, heard))
            against = objections(answer.deciding.reasons)
            self._host.for_model += [against] if against else []

    def _judged(
        self, heard: Heard, session: str, blocks: BlocksBefore, said: Sequence[str]
    ) -> Told:
        withheld = ""
        alone = self._leaves_alone(heard)
        if not alone:
            self._judge_files(heard, session)
        promised = [Message(role=Role.ASSISTANT, text=text) for text in said if promises(text)]
        for event in (*promised, *events_of(with_paths_from_root(heard, self._root))):
            stamped = self._stamped(event, session, heard)
            if alone and not _touches_protected(stamped):
                continue
            if isinstance(stamped, AgentStop):
                return self._stopped(stamped, withheld, blocks, heard)
            answer = self._submit(stamped)
            if isinstance(stamped, TurnEnd):
                withheld = objections(answer.deciding.reasons)
            elif isinstance(stamped, GATE_EVENTS) and answer.verdict >= Verdict.ASK:
                return self._refusal(answer)
        return Told()

    def _refusal(self, answer: Answer) -> Told:
        reason = objections(answer.deciding.reasons) or "a rule denies this"
        asks = answer.verdict is Verdict.ASK
        if asks and self._abilities.ask is Ask.PERSON:
            return Told(asked=True, reason=reason)
        return Told(refused=True, reason=f"{reason}\n{ASKED}" if asks else reason)

    def _stopped(self, event: AgentStop, withheld: str, blocks: BlocksBefore, heard: Heard) -> Told:
        """Decide a stop: allow it, block it, or release it with a warning to the person."""
        unjudged = self._disk.unjudged if self._disk else ""
        facts = replace(event.facts, withheld=withheld, unjudged=unjudged)
        answer = self._submit(replace(event, facts=facts))
        stop = judged_stop(answer, self._loop.journal, self.settings.stop.max_blocks, blocks)
        prompts = self._policies.take_shown()
        if stop.release_records:
            self._policies.take_back(answer, stop.let_through)
            self._loop.take(stop.release_records)
            self._host.for_person += stop.warnings
        if not stop.blocks:
            return Told()
        from bylaw.hosts.worktree.demands import demands  # noqa: PLC0415 - few stops are blocked

        texts = demands(stop.decision, prompts, self._policies, self._rules)
        reason = "\n\n".join([*(shown(one.text) for one in texts), places(stop.decision.reasons)])
        if self._takes_refusals(heard):
            # The agent continues, so a turn starts. Its notices wait until they can be delivered.
            self._submit(self._stamped(TurnStart(), event.session, heard))
        return Told(refused=True, reason=reason)

    def _submit(self, event: Event) -> Answer:
        (answer,) = self._loop.take([event])
        if answer.problem:  # not a decision of a rule, but a failure
            raise BylawError(answer.problem)
        reasons = answer.deciding.reasons
        self._host.for_person += warnings(reasons)
        self._host.for_model += warnings(one for one in reasons if one.uid == CHANGED)
        return answer

    def _stamped(self, event: Event, session: str, heard: Heard) -> Event:
        named = replace(self._guarded(event, heard, session), session=session, agent=heard.agent)
        if heard.tokens is not None:
            named = replace(named, tokens=heard.tokens)
        return with_model_facts(self._switches.stamp(named), self.settings.model)

    def _guarded(self, event: Event, heard: Heard, session: str) -> Event:
        """Add the protected files that a call would change, and those that were changed."""
        call = heard.call
        if not isinstance(event, ToolBefore | ToolAfter | AgentStop):
            return event
        if call is not None and not may_change_files(call):
            return event
        if isinstance(event, ToolBefore) and call is not None:
            found, waits = self._protected.before(call, heard.cwd), ""
            if self._abilities.types_unheard:
                waits = waiting_in(call, heard.cwd, self._root)
            event = replace(event, facts=replace(event.facts, protected=found, waits=waits))
        if self._leaves_alone(heard) and not isinstance(event, ToolAfter):
            self._protected.look_first(session)
            return event  # the next event that is not exempt reports the changes
        return replace(event, facts=replace(event.facts, changed=self._protected.changed(session)))


def _unheard_of(library: Library, host: str) -> Iterator[str]:
    """Yield why rule files did not load, if no event of the client reaches their stand-in rules."""
    for book in library.governing:
        for rule in book.stand_ins.values():
            said = rule.judgement.reason if rule.judgement else None
            if isinstance(said, FixedReason) and SENDS[host].isdisjoint(rule.on.kinds):
                yield said.text


def _touches_protected(event: Event) -> bool:
    match event:
        case ToolBefore():
            return bool(event.facts.protected or event.facts.waits)
        case ToolAfter():
            return bool(event.facts.changed)
    return False


def _blocks_before(heard: Heard, own: AgentNotes) -> BlocksBefore:
    """Return the blocks of an agent so far.

    The client may report a block that the notes do not have.
    """
    is_of_another = heard.again and not own.in_a_row
    return BlocksBefore(own.in_a_row, max(own.of_others, int(is_of_another)))
