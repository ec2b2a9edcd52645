"""Run one chat: its turns, each with its events, blocks and calls.

    turn.start → request → assistant's block → message → calls → turn.end → (agent.stop)

Effects of rules are performed while an event is submitted, so they are in the file before the next
step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from bylaw.dialects.chatmd.syntax.content import text_of
from bylaw.dialects.chatmd.syntax.nodes import Element
from bylaw.dialects.chatmd.syntax.write import writable
from bylaw.dialects.context.payload import ERROR_RESPONSE
from bylaw.engine.causes import MAX_CHAIN, chain
from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.calling import Caller
from bylaw.hosts.chat.context_news import RENDERED, RENDERED_UID, in_fixed_words
from bylaw.hosts.chat.messages import Request, Usage
from bylaw.hosts.chat.models.base import ScriptEndedError
from bylaw.hosts.chat.output_gate import OutputGate
from bylaw.hosts.chat.request import messages_of, replies_in
from bylaw.hosts.chat.transcript import call, halt, message
from bylaw.hosts.worktree.demands import demands
from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop, Message, Prompt, SessionEnd, TurnEnd, TurnStart
from bylaw.model.verdict import Verdict, is_refused
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.chatmd.syntax.nodes import Node
    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.channel import Channel
    from bylaw.hosts.chat.messages import Reply
    from bylaw.hosts.chat.outfit import Outfit
    from bylaw.hosts.chat.transcript import Transcript
    from bylaw.model.decision import Decision
    from bylaw.model.slate import Slate
    from bylaw.runtime.answer import Answer

KEPT_BACK = "a rule does not allow the last message in the file; remove it from the file"
NOTHING_SENT = "a rule denies the turn, so no request is sent"


class Driver:
    """Runs a chat. `owes_turn`: the model has something to answer."""

    def __init__(self, channel: Channel, transcript: Transcript, outfit: Outfit) -> None:
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
            if self._goes_on():
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

    def _goes_on(self) -> bool:
        if self._outfit.model.ended:
            return False
        return self.owes_turn or not self._outfit.model.hands_back

    def end(self) -> None:
        """Submit the end of the session."""
        self.channel.submit(SessionEnd())

    def prompt(self, text: str) -> None:
        """Submit a prompt and write it to the file, unless a rule denies it."""
        text = writable(text)
        before = self.channel.session().slate
        answer = self.channel.submit(Prompt(text=text))
        if answer.verdict is not Verdict.HALT and self._kept_back(answer):
            return
        (block,) = self.transcript.add(message(Role.USER, text))
        self._heard(block, answer, before)

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
        if answer.verdict is not Verdict.HALT and self._kept_back(answer):
            self.stopped = answer.problem or KEPT_BACK
            return
        self._heard(block, answer, before)

    def _heard(self, block: Block, answer: Answer, before: Slate) -> None:
        """Submit a prompt that is in the file as a message, and let the model answer it.

        `before` are the variables before the prompt was submitted.
        """
        self.channel.submit(Message(role=Role.USER, text=block.text))
        self._blocked = 0
        self._gate.forget()
        # A command may have enabled something before a later line of the message failed.
        self._tell_enabled(before)
        if answer.verdict is Verdict.HALT:
            self._halt(answer.deciding)
            return
        self.owes_turn = True
        self._ask_agents(block)

    def _tell_enabled(self, before: Slate) -> None:
        """Tell the model what the context documents enforce now, if that changed."""
        news = self._outfit.news.since(before, self.channel.session().slate)
        if news:
            (told,) = self.transcript.add(message(Role.DEVELOPER, news, RENDERED))
            self.channel.submit(Message(role=Role.DEVELOPER, text=told.text, cause=(RENDERED_UID,)))

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
        answered = self._behind(block) if agents else []
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

    def _behind(self, block: Block) -> list[str]:
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
        caller = Caller(self.transcript, tools, channel.submit, channel.passes)
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
        decision = self._gate.objection(reply)
        if decision is None:
            return False
        ends = self._gate.end_of(reply.text, final=True)
        text = self._halt(decision)
        error = TurnEnd(text=text, response=ERROR_RESPONSE)
        self.channel.submit(error if reply.calls else ends)
        return True

    def finish(self, text: str, *, goes_on: bool) -> bool:
        """End the turn. If nothing was called, a person is next.

        Return False if the output stays withheld although it was decided before: the end of the
        turn could not be recorded, or the rules decide differently now. Then the chat stops.
        """
        answer = self.channel.submit(self._gate.end_of(text, final=not goes_on))
        self.owes_turn = goes_on
        stays_closed = self._gate.stays_closed(answer)
        self._tell_reasons(answer)
        if stays_closed:
            self.stopped = answer.problem or KEPT_BACK
        elif not goes_on:
            self._hand_back(text)
        return not stays_closed

    def _begin(self) -> bool:
        self.transcript.file.turn_begins(replies_in(self.transcript.blocks))
        answer = self.channel.submit(TurnStart())
        if self._kept_back(answer):
            self.stopped = answer.problem or NOTHING_SENT
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

    def _hand_back(self, text: str) -> None:
        """Submit a stop: the model is done. Rules can block it a limited number of times."""
        outfit = self._outfit
        event = AgentStop(text=text, each=True)
        answer, stop = self.channel.stop(event, outfit.max_blocks, self._blocked)
        shown = outfit.policies.take_shown()
        if stop.release_records:
            outfit.policies.take_back(answer, stop.let_through)
            for warning in stop.warnings:
                self.transcript.listener.note(warning)
        if answer.problem or (stop.release_records and not stop.blocks):
            self._tell_reasons(answer)
            return
        if not stop.blocks:
            return
        self._blocked += 1
        self.owes_turn = True
        for demand in demands(stop.decision, shown, outfit.policies, outfit.rules):
            (told,) = self.transcript.add(message(Role.DEVELOPER, demand.text, demand.rule))
            cause = chain(event, *demand.uids)
            self.channel.submit(Message(role=Role.DEVELOPER, text=told.text, cause=cause))

    def _kept_back(self, answer: Answer) -> bool:
        """Whether rules deny the event. Show the person the reasons."""
        self._tell_reasons(answer)
        return is_refused(answer.verdict)

    def _tell_reasons(self, answer: Answer) -> None:
        """Show the person the reasons of the rules, including warnings."""
        for reason in answer.deciding.reasons:
            if in_fixed_words(reason.uid):
                self.transcript.listener.text(f"{reason.text}\n")
            else:
                self.transcript.listener.note(f"{reason.rule}: {reason.text}")


def _is_agent(node: Node) -> TypeGuard[Element]:
    return isinstance(node, Element) and node.name == "agent"
