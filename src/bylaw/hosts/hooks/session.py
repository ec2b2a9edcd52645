"""Decide one hook event of a client under the rules of a root.

    `HookEvent` → events, each submitted → verdicts and texts → `HookReply`

If an event is denied, the events after it are not submitted. If subagents are exempt
(`[hooks] subagents = false`), only their calls that touch protected files are decided. The result
is fitted into what the client can receive now. Other messages for the model are queued for the
agent whose event caused them. A hook decides file changes, but carries out none of their actions.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.engine.index import RuleSet
from bylaw.engine.plan import DONE, StepOutcome
from bylaw.hosts.clients.base import STOPS, HookReply
from bylaw.hosts.hooks.events import (
    GATE_EVENTS,
    add_last_text,
    clear_echo,
    cut_old_text,
    earlier_texts,
    events_of,
    make_paths_relative,
    may_change_files,
    note_decided_text,
)
from bylaw.hosts.hooks.notes import lock_stop, read_notes, text_digest, update_notes
from bylaw.hosts.hooks.protect.protect import ApprovalCalls, ProtectedFiles, find_waiting_program
from bylaw.languages.base import FixedReason
from bylaw.languages.file_policies.evaluation import promises
from bylaw.languages.hook_rules import CHANGED
from bylaw.languages.hook_rules import name as HOOKS  # noqa: N812 - the name of the language
from bylaw.model.display import number_of, visible, visible_once
from bylaw.model.effects import Log, MessageInsert
from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop, File, Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.rule import BUILT_IN
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import EffectStatus, HookPoint, Kind, Op, Recipient, Role, Verdict
from bylaw.runtime.answer import BlocksBefore, decide_stop
from bylaw.runtime.effects import ABILITIES, SENDS, AskSupport
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loader import load_root, load_texts
from bylaw.runtime.loop import Loop
from bylaw.runtime.needs import NO_GATHERERS, with_model_facts
from bylaw.runtime.root import read_configuration
from bylaw.runtime.rule_files import FoundRuleFile, RuleFileReason, RuleText, SearchResult
from bylaw.runtime.rules_in_force import DisabledRules
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.trust import check_trust
from bylaw.store.journal.records import rules_with_texts
from bylaw.store.switches import read_switches
from bylaw.worktree.policies import FilePolicies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import ExitStack

    from bylaw.engine.plan import DueStep
    from bylaw.hosts.clients.base import HookEvent
    from bylaw.hosts.clients.transcripts import AgentText
    from bylaw.hosts.hooks.disk_changes import Disk
    from bylaw.hosts.hooks.notes import AgentNotes, SessionNotes
    from bylaw.model.decision import Reason
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.effects import ClientAbilities, Performer, Performers
    from bylaw.runtime.loader import Library, LoadedBook
    from bylaw.runtime.loop import HostExtension
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.root import Configuration

# The model reads this.
ASK_UNSUPPORTED = (
    "a person must decide this, and this client cannot ask one: leave it to the person, who can "
    "do it without you or change the rule"
)


def objections(reasons: Iterable[Reason]) -> str:
    """Return the reasons that deny or ask, each with the place of its rule."""
    return "\n".join(reason_with_place(one) for one in reasons if one.verdict >= Verdict.ASK)


def warnings(reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield the reasons that only warn, each with the place of its rule."""
    for one in reasons:
        if one.verdict is Verdict.WARN:
            yield reason_with_place(one)


def reason_with_place(reason: Reason) -> str:
    """Return the text of a reason with its rule, file and line."""
    return f"{visible_lines(reason.text)}\n({_place(reason)})"


def rule_places(reasons: Iterable[Reason]) -> str:
    """Return the rules that deny or ask, with file and line. Their texts are shown elsewhere."""
    found = dict.fromkeys(_place(one) for one in reasons if one.verdict >= Verdict.ASK)
    return f"({'; '.join(found)})"


def _place(reason: Reason) -> str:
    line = f":{reason.line}" if reason.line else ""
    where = f", {reason.file}{line}" if reason.file else ""
    return f"rule {visible(reason.rule)}{visible(where)}"


def visible_lines(text: str) -> str:
    """Return a text of several lines with visible control characters."""
    return "\n".join(visible_once(line) for line in text.expandtabs(4).split("\n"))


def deliver(
    heard: HookEvent,
    told: HookReply,
    host: HookHost,
    abilities: ClientAbilities,
    notes: SessionNotes,
) -> HookReply:
    """Return what the client receives now."""
    asked = told.asked and heard.moment is HookPoint.BEFORE_TOOL
    objects = told.refused or (told.asked and not asked)
    refused = objects and heard.moment in abilities.denies
    for_model = [*notes.take(heard.agent), *host.for_model]
    for_person = [visible_lines(text) for text in host.for_person]
    if objects and not refused:
        for_model.append(told.reason)
        for_person.append(told.reason)
    if heard.moment not in abilities.for_person:
        for_model += (text for text in for_person if text not in for_model)
        # After a stop the model may not run again, so these texts go to the client's log, too.
        host.log_lines += for_person if heard.moment in STOPS else ()
        for_person = []
    decided = HookReply(refused=refused, asked=asked, reason=told.reason)
    return _add_messages(heard, decided, for_model, for_person, abilities, notes)


def _add_messages(
    heard: HookEvent,
    decided: HookReply,
    for_model: list[str],
    for_person: list[str],
    abilities: ClientAbilities,
    notes: SessionNotes,
) -> HookReply:
    """Add the messages that this reply can carry, and queue the others for the model."""
    if decided.refused and heard.moment in STOPS:
        # At a stop, only the reason for the block reaches the model.
        reason = "\n\n".join([decided.reason, *for_model])
        return replace(decided, reason=reason, for_person=tuple(for_person))
    if decided.refused or heard.moment not in abilities.for_model:
        # A subagent that stops has no later hook, so its messages go to the main agent.
        agent = "" if heard.moment is HookPoint.SUBAGENT_STOP else heard.agent
        if dropped := notes.queue_messages(agent, for_model):
            for_person.append(
                f"dropped {number_of(dropped, 'message')} for the model: too many are queued"
            )
        for_model = []
    return replace(decided, for_model=tuple(for_model), for_person=tuple(for_person))


LEFT_TO_WATCHER = StepOutcome(
    EffectStatus.NOT_CARRIED_OUT,
    {"error": "a hook only decides file changes: `bylaw bus run` carries out the actions"},
)


class HookHost:
    """Collects messages for the model, messages for the person, and log lines."""

    scribe = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.for_model: list[str] = []
        self.for_person: list[str] = []
        self.log_lines: list[str] = []

    @property
    def gatherers(self) -> Gatherers:
        """Nothing: a client sends its facts in the payload."""
        return NO_GATHERERS

    @property
    def performers(self) -> Performers:
        """One method for each kind of step."""
        return {Op.MESSAGE_INSERT: self._say, Op.LOG: self._log}

    def _say(self, due: DueStep, _event: Event) -> StepOutcome:
        assert isinstance(due.step, MessageInsert)
        to_person = due.step.to is Recipient.PERSON
        (self.for_person if to_person else self.for_model).append(str(due.step.text))
        return DONE

    def _log(self, due: DueStep, _event: Event) -> StepOutcome:
        assert isinstance(due.step, Log)
        self.log_lines.append(f"{due.step.level}: {due.plan.rule}: {due.step.text!s}")
        return DONE


class OfferWithoutFiles:
    """An offer for hooks whose performers do nothing for file changes."""

    def __init__(self, offer: HostExtension) -> None:
        self._offer = offer

    @property
    def gatherers(self) -> Gatherers:
        """All gatherers of the offer."""
        return self._offer.gatherers

    @property
    def performers(self) -> Performers:
        """All performers of the offer. For file changes they leave the step to the watcher."""
        return {op: _skip_file_changes(perform) for op, perform in self._offer.performers.items()}


def _skip_file_changes(perform: Performer) -> Performer:
    def performed(due: DueStep, event: Event) -> StepOutcome:
        return LEFT_TO_WATCHER if isinstance(event, File) else perform(due, event)

    return performed


def load_built_in_book(root: str) -> LoadedBook:
    """Load the only book of the language `hooks`."""
    found = FoundRuleFile(BUILT_IN, "", HOOKS, RuleFileReason.GIVEN, BUILT_IN, "")
    library = load_texts(SearchResult(root, (found,)), [RuleText(found, SourceFile(BUILT_IN, ""))])
    return library.books[0]


class HookSession:
    """The active rules of a root for one client. Raises LoadError if they do not load."""

    def __init__(self, root: str, host: str, stack: ExitStack) -> None:
        self._root = root
        library = load_root(root)
        configuration = read_configuration(root)
        books = (*library.in_force(), (own := load_built_in_book(root)).book)
        trust = partial(check_trust, root, library, configuration)
        self.settings = trust().in_force(configuration.settings)
        self._host = HookHost(host)
        self._abilities = ABILITIES[host]
        self._for_person_once = list(_unreported_failures(library, host))
        tell = self._for_person_once.append
        self._protected = ProtectedFiles(root, library, self.settings.protect, tell)
        self._policies = FilePolicies(root, tell)
        self._switches = DisabledRules(books, read_switches(root).disabled)
        journal = stack.enter_context(open_journal(root, configuration))
        scripts = stack.enter_context(ScriptRunner())
        self._rules = rules = RuleSet(books)
        self._policies.activate(rules, self.settings.command, trust, journal.redactor.text)
        texts = rules_with_texts((*library.governing, own))
        offer = OfferWithoutFiles(self._policies)
        self._loop = Loop(self._host, rules, texts, journal, scripts, offer)
        self._disk = self._file_watch(root, rules, configuration)
        bus = self.settings.law.bus
        watches = self.settings.protect.enabled and self._protected.has_law
        self._approvals = ApprovalCalls(root, bus) if watches else None

    def hear(self, heard: HookEvent, session: str) -> HookReply:
        """Submit the events that a hook event leads to. Return the reply for the client."""
        is_stop = heard.moment in STOPS
        with lock_stop(self._root, session) if is_stop else nullcontext():
            before = read_notes(self._root, session)
            own = before.of_agent(heard.agent)
            heard = clear_echo(add_last_text(heard, before), before)
            self._update_watchers(heard, session)
            earlier = earlier_texts(heard, before)
            heard = cut_old_text(heard, own)
            told = self._decide(heard, session, _blocks_before(heard, own), earlier.texts)
            now = self._finish_reply(heard, session, told, earlier)
            # Last: if anything above fails, the next hook reports the changes again.
            self._protected.mark_reported(session)
            return now

    def _update_watchers(self, heard: HookEvent, session: str) -> None:
        """Update the watch on protected files and approvals, independent of what rules decide."""
        if heard.moment is HookPoint.PROMPT and heard.text and not heard.agent:
            self._protected.changed(session)  # the person made these changes: do not report them
            self._protected.mark_reported(session)
        if self._approvals:
            # Even if the call is denied later: a failure in between may let it run.
            self._for_person_once += self._approvals.hear(heard, session)

    def _finish_reply(
        self, heard: HookEvent, session: str, told: HookReply, earlier: AgentText
    ) -> HookReply:
        """Return what the client can receive now. Keep the rest in the notes."""
        # Read the notes again: hooks of one session run in parallel and may have changed them.
        with update_notes(self._root, session) as notes:
            now = self._fit_reply(heard, told, notes)
            if earlier.end:
                notes.note_read(heard.transcript, earlier.end)
        if self._approvals and now.refused:
            self._approvals.denied(heard, session)
        return now

    def _fit_reply(self, heard: HookEvent, told: HookReply, notes: SessionNotes) -> HookReply:
        if heard.moment is HookPoint.PROMPT and heard.text:
            notes.forget_blocks()
        if heard.moment in STOPS:
            own = notes.newest(heard.agent)
            blocked = told.refused and self._obeys_denials(heard)
            own.of_others = _blocks_before(heard, own).of_others
            own.in_a_row += blocked
            note_decided_text(heard, own, blocked=blocked)
        self._host.for_person += notes.once(self._for_person_once)
        now = deliver(heard, told, self._host, self._abilities, notes)
        if heard.moment is HookPoint.STOP:
            notes.blocked_with = text_digest(now.reason) if now.refused else ""
        return now

    @property
    def log_lines(self) -> list[str]:
        """The lines that rules wrote to the log."""
        return self._host.log_lines

    def _file_watch(self, root: str, rules: RuleSet, configuration: Configuration) -> Disk | None:
        """Return the files of the root if a rule is about file changes, else None."""
        if not any(Kind.FILE in rule.on.kinds and not rule.free for rule in rules.rules()):
            return None
        from bylaw.hosts.hooks.disk_changes import Disk  # noqa: PLC0415 - few roots have such rules

        host, law = self._host.name, self.settings.law
        return Disk(root, host, rules, configuration, law, self._for_person_once.append)

    def _obeys_denials(self, heard: HookEvent) -> bool:
        """Return whether the client obeys a denial here. Some report a stop only afterwards."""
        return heard.moment in self._abilities.denies

    def _is_exempt(self, heard: HookEvent) -> bool:
        return bool(heard.agent) and not self.settings.hooks.subagents

    def _decide_file_changes(self, heard: HookEvent, session: str) -> None:
        """Decide file changes before the event.

        They happened already, and no denial undoes them.
        """
        for event in self._disk.events(heard, session) if self._disk else ():
            answer = self._submit(self._stamp(event, session, heard))
            against = objections(answer.deciding.reasons)
            self._host.for_model += [against] if against else []

    def _decide(
        self, heard: HookEvent, session: str, blocks: BlocksBefore, said: Sequence[str]
    ) -> HookReply:
        withheld = ""
        alone = self._is_exempt(heard)
        if not alone:
            self._decide_file_changes(heard, session)
        promised = [Message(role=Role.ASSISTANT, text=text) for text in said if promises(text)]
        for event in (*promised, *events_of(make_paths_relative(heard, self._root))):
            stamped = self._stamp(event, session, heard)
            if alone and not _touches_protected(stamped):
                continue
            if isinstance(stamped, AgentStop):
                return self._decide_stop(stamped, withheld, blocks, heard)
            answer = self._submit(stamped)
            if isinstance(stamped, TurnEnd):
                withheld = objections(answer.deciding.reasons)
            elif isinstance(stamped, GATE_EVENTS) and answer.verdict >= Verdict.ASK:
                return self._denial(answer)
        return HookReply()

    def _denial(self, answer: Answer) -> HookReply:
        reason = objections(answer.deciding.reasons) or "a rule denies this"
        asks = answer.verdict is Verdict.ASK
        if asks and self._abilities.ask is AskSupport.PERSON:
            return HookReply(asked=True, reason=reason)
        return HookReply(refused=True, reason=f"{reason}\n{ASK_UNSUPPORTED}" if asks else reason)

    def _decide_stop(
        self, event: AgentStop, withheld: str, blocks: BlocksBefore, heard: HookEvent
    ) -> HookReply:
        """Decide a stop: allow it, block it, or release it with a warning to the person."""
        unjudged = self._disk.unjudged if self._disk else ""
        facts = replace(event.facts, withheld=withheld, unjudged=unjudged)
        answer = self._submit(replace(event, facts=facts))
        stop = decide_stop(answer, self._loop.journal, self.settings.stop.max_blocks, blocks)
        prompts = self._policies.pop_shown()
        if stop.release_records:
            self._policies.take_back(answer, stop.let_through)
            self._loop.take(stop.release_records)
            self._host.for_person += stop.warnings
        if not stop.blocks:
            return HookReply()
        from bylaw.worktree.stop_message import stop_demands  # noqa: PLC0415 - few stops are blocked

        texts = stop_demands(stop.decision, prompts, self._policies, self._rules)
        reason = "\n\n".join(
            [*(visible_lines(one.text) for one in texts), rule_places(stop.decision.reasons)]
        )
        if self._obeys_denials(heard):
            # The agent continues, so a turn starts. Its notices wait until they can be delivered.
            self._submit(self._stamp(TurnStart(), event.session, heard))
        return HookReply(refused=True, reason=reason)

    def _submit(self, event: Event) -> Answer:
        (answer,) = self._loop.take([event])
        if answer.problem:  # not a decision of a rule, but a failure
            raise BylawError(answer.problem)
        reasons = answer.deciding.reasons
        self._host.for_person += warnings(reasons)
        self._host.for_model += warnings(one for one in reasons if one.uid == CHANGED)
        return answer

    def _stamp(self, event: Event, session: str, heard: HookEvent) -> Event:
        named = replace(
            self._add_protected(event, heard, session), session=session, agent=heard.agent
        )
        if heard.tokens is not None:
            named = replace(named, tokens=heard.tokens)
        return with_model_facts(self._switches.stamp(named), self.settings.model)

    def _add_protected(self, event: Event, heard: HookEvent, session: str) -> Event:
        """Add the protected files that a call would change, and those that were changed."""
        call = heard.call
        if not isinstance(event, ToolBefore | ToolAfter | AgentStop):
            return event
        if call is not None and not may_change_files(call):
            return event
        if isinstance(event, ToolBefore) and call is not None:
            found, waits = self._protected.before(call, heard.cwd), ""
            if self._abilities.types_without_event:
                waits = find_waiting_program(call, heard.cwd, self._root)
            event = replace(event, facts=replace(event.facts, protected=found, waits=waits))
        if self._is_exempt(heard) and not isinstance(event, ToolAfter):
            self._protected.record_first_state(session)
            return event  # the next event that is not exempt reports the changes
        return replace(event, facts=replace(event.facts, changed=self._protected.changed(session)))


def _unreported_failures(library: Library, host: str) -> Iterator[str]:
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


def _blocks_before(heard: HookEvent, own: AgentNotes) -> BlocksBefore:
    """Return the blocks of an agent so far.

    The client may report a block that the notes do not have.
    """
    is_of_another = heard.again and not own.in_a_row
    return BlocksBefore(own.in_a_row, max(own.of_others, int(is_of_another)))
