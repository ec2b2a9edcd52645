"""Run one chat: its turns, each with its events, blocks and calls.

    turn.start → request → assistant's block → message → calls → turn.end → (agent.stop)

Effects of rules are performed while an event is submitted, so they are in the file before the next
step. If a rule may withhold an output, the output is held until the end of its answer. If what the
context documents enforce changes, the model gets a block with the new state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from bylaw.engine.plan import MAX_CHAIN, chain
from bylaw.hosts.chat.blocks import BlockKind, Request, Usage
from bylaw.hosts.chat.models.base import ScriptEndedError
from bylaw.hosts.chat.request import count_replies, messages_of
from bylaw.hosts.chat.tool_calls import ToolCaller
from bylaw.hosts.chat.transcript import call, halt, message
from bylaw.languages.chatmd.messages import text_of, to_writable
from bylaw.languages.chatmd.scanner import Element
from bylaw.languages.context import NAME
from bylaw.languages.context.output import ERROR_RESPONSE, render_state
from bylaw.languages.context.reader import read_document
from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop, Message, Prompt, SessionEnd, TurnEnd, TurnStart
from bylaw.model.rule import built_in_uid, dialect_of
from bylaw.model.vocabulary import Kind, Role, Verdict, is_not_allowed
from bylaw.worktree.stop_message import stop_demands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.chat.blocks import Block, Reply
    from bylaw.hosts.chat.chat_host import AgentChannel
    from bylaw.hosts.chat.setup import ChatContext
    from bylaw.hosts.chat.transcript import Listener, Transcript
    from bylaw.languages.chatmd.scanner import ChatmdNode
    from bylaw.languages.context.declarations import Document
    from bylaw.model.decision import Decision
    from bylaw.model.procedure import Book
    from bylaw.model.session import Variables
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.loader import Library


class OutputGate:
    """Holds the output of one answer, over all its turns. `withholds`: a rule may withhold it."""

    def __init__(self, channel: AgentChannel, listener: Listener, *, withholds: bool) -> None:
        self._channel = channel
        self._listener = listener
        self._withholds = withholds
        # The texts of this answer that came with calls.
        self._said: list[str] = []

    def forget(self) -> None:
        """Forget the texts: another answer begins."""
        self._said.clear()

    def hold(self) -> None:
        """Hold the output that follows, if a rule may withhold it."""
        if self._withholds:
            self._listener.hold()

    def find_denial(self, reply: Reply) -> Decision | None:
        """Return the decision that denies an output, None if it is allowed. Records nothing."""
        if not self._withholds:
            return None
        decision = self._channel.preview(self.turn_end(reply.text, final=not reply.calls))
        return decision if is_not_allowed(decision.verdict) else None

    def turn_end(self, text: str, *, final: bool) -> TurnEnd:
        """Return the event for the end of a turn, with the earlier texts of the same answer."""
        return TurnEnd(text=text, final=final, earlier="\n".join(self._said))

    def drop_if_denied(self, answer: Answer) -> bool:
        """Whether the answer to the end of a turn denies its output; if so, drop the output."""
        if not self._withholds or not is_not_allowed(answer.verdict):
            return False
        self._listener.drop()
        return True

    def show(self, reply: Reply) -> None:
        """Show the held output if the answer is complete, else keep the text for its end."""
        if reply.calls:
            self._said += [reply.text] if reply.text else []
        else:
            self.forget()
            self._listener.release()


# The rule name of this block. It is not a rule of a document.
RENDER_RULE = "render"
RENDER_UID = built_in_uid(NAME, RENDER_RULE)


class ContextUpdates:
    """Reports what the context documents of a chat enforce; nothing if there are none."""

    def __init__(self, document: Document | None = None) -> None:
        self._document = document

    @classmethod
    def of(cls, library: Library) -> ContextUpdates:
        """Read the active documents. A broken one is skipped: it denies by itself."""
        for loaded in library.books:
            if loaded.dialect.name == NAME and not loaded.broken:
                return cls(read_document([file.source for file in loaded.texts.values()]))
        return cls()

    def since(self, before: Variables, now: Variables) -> str:
        """Return the new state as text for the model, empty if the text did not change."""
        if self._document is None or before == now:
            return ""
        told = render_state(self._document, now)
        return "" if told == render_state(self._document, before) else told.rstrip("\n")


def may_withhold(books: Iterable[Book]) -> bool:
    """Whether a rule of these books can withhold an output."""
    return any(
        Kind.TURN_END in rule.on.kinds and is_not_allowed(rule.judgement.verdict)
        for book in books
        for group in book.groups
        for rule in group.rules
        if rule.judgement is not None
    )


def is_text_prescribed(uid: str) -> bool:
    """Whether the language of a rule prescribes the exact text that a person reads."""
    return dialect_of(uid) == NAME


MESSAGE_DENIED = "a rule does not allow the last message in the file; remove it from the file"
TURN_DENIED = "a rule denies the turn, so no request is sent"


class Driver:
    """Runs a chat. `owes_turn`: the model has something to answer."""

    def __init__(self, channel: AgentChannel, transcript: Transcript, outfit: ChatContext) -> None:
        self.channel = channel
        self.transcript = transcript
        self._outfit = outfit
        self._blocked = 0
        listener = transcript.listener
        self._gate = OutputGate(channel, listener, withholds=outfit.withholds)
        self.owes_turn = False
        # An earlier process left a turn open: go on with it, without another turn start.
        self.in_turn = False
        self.stopped = ""
        self.turns = 0
        self.usage = Usage()

    def run(self, ask: Callable[[], str | None]) -> None:
        """Run turns until the chat ends. `ask` returns the next prompt, None at the end."""
        while not self.stopped:
            if self._has_turn():
                self.turn()
            elif not self._outfit.model.hands_back or (said := ask()) is None:
                return
            else:
                self.prompt(said)

    def answer(self) -> None:
        """Run turns until one has no calls. Raises ScriptEndedError if the model's script ends."""
        while self.owes_turn and not self.stopped:
            if self._outfit.model.ended:
                raise ScriptEndedError("the script of the model has ended")
            self.turn()

    def _has_turn(self) -> bool:
        if self._outfit.model.ended:
            return False
        return self.owes_turn or not self._outfit.model.hands_back

    def end(self) -> None:
        """Submit the end of the session."""
        self.channel.submit(SessionEnd())

    def prompt(self, text: str) -> None:
        """Submit a prompt and write it to the file, unless a rule denies it."""
        text = to_writable(text)
        before = self.channel.session().slate
        answer = self.channel.submit(Prompt(text=text))
        if answer.verdict is not Verdict.HALT and self._is_denied(answer):
            return
        (block,) = self.transcript.add(message(Role.USER, text))
        self._accept_prompt(block, answer, before)

    def told(self, block: Block, *, recorded: bool = False) -> None:
        """Handle a block that is new in the file. `recorded`: its event was submitted before."""
        if recorded or not block.by_person:
            self.owes_turn |= block.by_person
            if not recorded:
                self.channel.submit(Message(role=block.role, text=block.text))
            self._ask_agents(block)
            return
        before = self.channel.session().slate
        answer = self.channel.submit(Prompt(text=block.text))
        if answer.verdict is not Verdict.HALT and self._is_denied(answer):
            self.stopped = answer.problem or MESSAGE_DENIED
            return
        self._accept_prompt(block, answer, before)

    def _accept_prompt(self, block: Block, answer: Answer, before: Variables) -> None:
        """Submit a prompt that is in the file as a message, and let the model answer it.

        `before` are the variables before the prompt was submitted.
        """
        self.channel.submit(Message(role=Role.USER, text=block.text))
        self._blocked = 0
        self._gate.forget()
        # A command may have enabled something before a later line of the message failed.
        self._report_enforced(before)
        if answer.verdict is Verdict.HALT:
            self._halt(answer.deciding)
            return
        self.owes_turn = True
        self._ask_agents(block)

    def _report_enforced(self, before: Variables) -> None:
        """Tell the model what the context documents enforce now, if that changed."""
        news = self._outfit.news.since(before, self.channel.session().slate)
        if news:
            (told,) = self.transcript.add(message(Role.DEVELOPER, news, RENDER_RULE))
            self.channel.submit(Message(role=Role.DEVELOPER, text=told.text, cause=(RENDER_UID,)))

    def _halt(self, decision: Decision) -> str:
        """End the turn with the text of the rules as its only answer, and return this text."""
        reasons = [one for one in decision.reasons if one.verdict is decision.verdict]
        text = "\n".join(reason.text for reason in reasons)
        self._gate.forget()
        self.transcript.listener.drop()
        self.transcript.listener.text(text + "\n")
        (block,) = self.transcript.add(halt(text, reasons[0].rule))
        cause = tuple(dict.fromkeys(reason.uid for reason in reasons))[:MAX_CHAIN]
        self.channel.submit(Message(role=Role.ASSISTANT, text=block.text, cause=cause))
        self.owes_turn = False
        return block.text

    def _ask_agents(self, block: Block) -> None:
        """Run each `<agent>` inside a message and write its answer as a block of its own.

        An agent that answered in an earlier process is not run again.
        """
        agents = [one for one in block.element.children if _is_agent(one)]
        answered = self._writers_from(block) if agents else []
        for element in agents:
            src = element.value("src")
            if f"agent:{src}" in answered:
                answered.remove(f"agent:{src}")
                continue
            try:
                role, text = Role.USER, self._outfit.run_agent(src, text_of(element, block.source))
            except BylawError as problem:
                role, text = Role.DEVELOPER, f"the agent {src} failed: {problem}"
            (written,) = self.transcript.add(message(role, text, f"agent:{src}"))
            self.channel.submit(Message(role=role, text=written.text))

    def _writers_from(self, block: Block) -> list[str]:
        """Return the rules and agents that wrote the blocks from this one on."""
        places = [place for place, one in enumerate(self.transcript.blocks) if one is block]
        return [one.via_rule for one in self.transcript.blocks[places[0] :]] if places else []

    def turn(self) -> None:
        """Get one reply from the model and run its calls."""
        if not self.in_turn and not self._begin():
            return
        self.in_turn = False
        request = Request(
            messages=messages_of(self.transcript.blocks),
            tools=self._outfit.tools.specs,
            options=self._outfit.options,
        )
        self._gate.hold()
        reply = self._outfit.model.reply(request, self.transcript.listener.text)
        self.turns += 1
        self.usage = self.usage.plus(reply.usage)
        if self._withhold(reply):
            return
        calls = self._write(reply)
        tools, channel = self._outfit.tools, self.channel
        caller = ToolCaller(self.transcript, tools, channel.submit, channel.is_allowed)
        caller.answer_all(calls)
        if caller.halted is None:
            if self.finish(reply.text, goes_on=bool(calls)):
                self._gate.show(reply)
        else:
            text = self._halt(caller.halted.deciding)
            self.channel.submit(TurnEnd(text=text, response=ERROR_RESPONSE))

    def _withhold(self, reply: Reply) -> bool:
        """Decide an output before it is shown. If it is withheld, it is only recorded.

        Text with calls is not final. If it is withheld, its calls do not run either, and the turn
        ends with the payload.
        """
        decision = self._gate.find_denial(reply)
        if decision is None:
            return False
        ends = self._gate.turn_end(reply.text, final=True)
        text = self._halt(decision)
        error = TurnEnd(text=text, response=ERROR_RESPONSE)
        self.channel.submit(error if reply.calls else ends)
        return True

    def finish(self, text: str, *, goes_on: bool) -> bool:
        """End the turn. If nothing was called, a person is next.

        Return False if the output stays withheld although it was decided before: the end of the
        turn could not be recorded, or the rules decide differently now. Then the chat stops.
        """
        answer = self.channel.submit(self._gate.turn_end(text, final=not goes_on))
        self.owes_turn = goes_on
        stays_closed = self._gate.drop_if_denied(answer)
        self._show_reasons(answer)
        if stays_closed:
            self.stopped = answer.problem or MESSAGE_DENIED
        elif not goes_on:
            self._stop(text)
        return not stays_closed

    def _begin(self) -> bool:
        self.transcript.file.note_turn(count_replies(self.transcript.blocks))
        answer = self.channel.submit(TurnStart())
        if self._is_denied(answer):
            self.stopped = answer.problem or TURN_DENIED
        return not self.stopped

    def _write(self, reply: Reply) -> list[Block]:
        """Write the complete message at once, so that a kill leaves all of it or nothing."""
        if reply.cut:
            self.transcript.listener.note(f"the answer is incomplete: {reply.cut}")
        written = [message(Role.ASSISTANT, reply.text)] if reply.text or not reply.calls else []
        calls = (
            call(self._outfit.call_ids.take(one.id), one.tool, one.arguments) for one in reply.calls
        )
        blocks = self.transcript.add(*written, *calls)
        if blocks:
            said = blocks[0].text if reply.text else ""
            self.channel.submit(Message(role=Role.ASSISTANT, text=said))
        return [block for block in blocks if block.kind is BlockKind.CALL]

    def _stop(self, text: str) -> None:
        """Submit a stop: the model is done. Rules can block it a limited number of times."""
        outfit = self._outfit
        event = AgentStop(text=text, each=True)
        answer, stop = self.channel.stop(event, outfit.max_blocks, self._blocked)
        shown = outfit.policies.pop_shown()
        if stop.release_records:
            outfit.policies.take_back(answer, stop.let_through)
            for warning in stop.warnings:
                self.transcript.listener.note(warning)
        if answer.problem or (stop.release_records and not stop.blocks):
            self._show_reasons(answer)
            return
        if not stop.blocks:
            return
        self._blocked += 1
        self.owes_turn = True
        for demand in stop_demands(stop.decision, shown, outfit.policies, outfit.rules):
            (told,) = self.transcript.add(message(Role.DEVELOPER, demand.text, demand.rule))
            cause = chain(event, *demand.uids)
            self.channel.submit(Message(role=Role.DEVELOPER, text=told.text, cause=cause))

    def _is_denied(self, answer: Answer) -> bool:
        """Whether rules deny the event. Show the person the reasons."""
        self._show_reasons(answer)
        return is_not_allowed(answer.verdict)

    def _show_reasons(self, answer: Answer) -> None:
        """Show the person the reasons of the rules, including warnings."""
        for reason in answer.deciding.reasons:
            if is_text_prescribed(reason.uid):
                self.transcript.listener.text(f"{reason.text}\n")
            else:
                self.transcript.listener.note(f"{reason.rule}: {reason.text}")


def _is_agent(node: ChatmdNode) -> TypeGuard[Element]:
    return isinstance(node, Element) and node.name == "agent"
