"""Resume a chat from its file and the journal of its session.

The journal has what rules can read: once, cool-downs, counters, variables. The file has the
conversation. If the two differ, the file is right, and a `history` event records that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.blocks import BlockKind
from bylaw.hosts.chat.request import count_replies, orphan_responses, size_of, unanswered_calls
from bylaw.hosts.chat.tool_calls import failure
from bylaw.hosts.chat.transcript import message, response
from bylaw.languages.chatmd import NAME
from bylaw.model.display import number_of
from bylaw.model.errors import BylawError
from bylaw.model.event import HistoryChanged, Message, SessionStart, ToolAfter
from bylaw.model.history import WINDOW, HistoryMessage
from bylaw.model.rule import built_in_uid
from bylaw.model.vocabulary import CallStatus, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.driver import Driver

RULE = "resume"
UID = built_in_uid(NAME, RULE)
NO_RECORD = (
    "No record of the earlier part of this conversation was found. What rules count and remember"
    " (once, cool-downs, calls, variables) starts again here."
)
EDITED = (
    "The file of this conversation was edited by hand since its last turn: it now has {messages}."
    " What rules count and remember continues from the record."
)
INTERRUPTED = "the call was interrupted before its response; the tool may have run"
NOT_STARTED = "the call was interrupted before it began"


def resume(driver: Driver) -> None:
    """Make the session match the file, submit what is new, and finish an open turn."""
    transcript, channel = driver.transcript, driver.channel
    _refuse_orphans(transcript.blocks, transcript.file.name)
    known = channel.session().seq > 0
    new = _new_blocks(driver, known=known)
    told = bool(new) and known and _is_submitted(driver, new[0])
    _note_new(driver, new)
    if not known:
        channel.submit(SessionStart())
    channel.recover()
    if transcript.file.cut:
        transcript.listener.note("the last block was incomplete and was removed")
    _answer_interrupted(driver, known=known)
    _submit_call_ends(driver)
    _sync_history(driver, new[told:], known=known)
    _finish_turn(driver)
    if not driver.stopped:
        _submit_new(driver, new, told=told)


def _is_submitted(driver: Driver, block: Block) -> bool:
    """Whether an earlier process submitted the block before it died, so its event is recorded."""
    begun = driver.transcript.file.begun
    return begun >= 0 and driver.channel.has_event_of(block, begun)


def _note_new(driver: Driver, new: Sequence[Block]) -> None:
    """Note where new blocks begin, so that the next process submits them if this one dies.

    Without the note, the writes that come first would make them part of the known text.
    """
    file = driver.transcript.file
    own = [block.element.span.start for block in new if block.source.path == file.name]
    if own:
        after = file.begun if file.begun >= 0 else driver.channel.session().seq
        file.note_submission(len(file.source.text[: own[0]].encode()), after)


def _submit_new(driver: Driver, new: Sequence[Block], *, told: bool) -> None:
    """Submit new blocks. If the process dies, the next one submits the rest."""
    file = driver.transcript.file
    source, at, size = file.source, 0, 0
    for block in new:
        # A rule may have compacted the file meanwhile; then no offset is valid any more.
        if block.source.path == file.name and file.source is source:
            size += len(source.text[at : block.element.span.start].encode())
            at = block.element.span.start
            file.note_submission(size, driver.channel.session().seq)
        driver.told(block, recorded=told)
        told = False
        if driver.stopped:
            return
    file.settle()


def _refuse_orphans(blocks: Sequence[Block], name: str) -> None:
    found = orphan_responses(blocks)
    if found:
        wrong = f"the response `{found[0].call}` answers no earlier call"
        raise BylawError(f"`{name}`: {wrong}")


def _new_blocks(driver: Driver, *, known: bool) -> list[Block]:
    """Return the messages that a person wrote and that no event covers yet."""
    blocks, file = driver.transcript.blocks, driver.transcript.file
    if known and not file.edited and file.known >= 0:
        at = len(file.source.text.encode()[: file.known].decode(errors="ignore"))
        own = [block for block in blocks if _is_after(block, at, file.name)]
    elif file.known < 0 and not count_replies(blocks):
        own = blocks
    else:
        own = _after_last_reply(blocks)
    return [block for block in own if block.kind is BlockKind.MESSAGE and not block.synthetic]


def _is_after(block: Block, at: int, name: str) -> bool:
    return block.source.path == name and block.element.span.start >= at


def _after_last_reply(blocks: Sequence[Block]) -> list[Block]:
    last = max((place for place, block in enumerate(blocks) if block.by_model), default=-1)
    behind = blocks[last + 1 :]
    return [block for block in behind if block.by_person]


def _answer_interrupted(driver: Driver, *, known: bool) -> None:
    """Answer interrupted calls: no call runs twice, and none is left without a response."""
    transcript, channel = driver.transcript, driver.channel
    calls = channel.session().calls
    made = {one.call for one in calls.pending} | {one.call for one in calls.tools}
    for block in unanswered_calls(transcript.blocks):
        begun = block.call in made or not known
        text = failure(INTERRUPTED if begun else NOT_STARTED).text
        (written,) = transcript.add(response(block.call, text, failed=True, rule=block.via_rule))
        # Rules do not react to their own effects, and which event caused a rule's call is lost.
        if not block.synthetic:
            channel.submit(Message(role=Role.TOOL, text=written.text))


def _submit_call_ends(driver: Driver) -> None:
    """Submit the end of model calls that have a response in the file but not in the session."""
    pending = {one.call: one for one in driver.channel.session().calls.pending}
    for block in driver.transcript.blocks:
        if block.kind is BlockKind.RESPONSE and not block.synthetic and block.call in pending:
            begun = pending.pop(block.call)
            status, error = (CallStatus.ERROR, block.text) if block.failed else (CallStatus.OK, "")
            ended = ToolAfter(
                tool=begun.tool,
                also=begun.also,
                args=begun.args,
                call=block.call,
                status=status,
                result=None if error else block.text,
                error=error,
            )
            driver.channel.submit(ended)


def _sync_history(driver: Driver, new: Sequence[Block], *, known: bool) -> None:
    """Set the history that rules read to what the file has."""
    channel, transcript = driver.channel, driver.transcript
    unknown = set(map(id, new))
    old = [block for block in transcript.blocks if id(block) not in unknown]
    length, tokens = size_of(old)
    history = channel.session().history
    edited = transcript.file.edited
    if (history.length, history.tokens) != (length, tokens) or edited:
        why = "edited" if edited else "resume"
        newest = tuple(_history_messages(old))
        event = HistoryChanged(length=length, tokens=tokens, why=why, newest=newest)
        channel.submit(event)
    if not known and count_replies(old):
        _add_note(driver, NO_RECORD)
    elif edited:
        messages = number_of(size_of(transcript.blocks)[0], "message")
        _add_note(driver, EDITED.format(messages=messages))


def _history_messages(blocks: Sequence[Block]) -> list[HistoryMessage]:
    spoken = [block for block in blocks if block.kind is not BlockKind.CALL]
    return [HistoryMessage(role=block.role, content=block.text) for block in spoken[-WINDOW:]]


def _add_note(driver: Driver, text: str) -> None:
    driver.transcript.listener.note(text)
    driver.transcript.add(message(Role.DEVELOPER, text, RULE))
    driver.channel.submit(Message(role=Role.DEVELOPER, text=text, cause=(UID,)))


def _finish_turn(driver: Driver) -> None:
    """Finish a turn that was left open, or repeat its request."""
    blocks = driver.transcript.blocks
    replies = [block for block in blocks if block.by_model]
    called = bool(replies) and replies[-1].kind is BlockKind.CALL
    driver.owes_turn = _owes_turn(driver)
    if not driver.channel.session().turns.open or driver.channel.agent:
        return
    if count_replies(blocks) > driver.transcript.file.replies:
        text = replies[-1].text if not called else _text_before(blocks, replies[-1])
        driver.finish(text, goes_on=called)
    else:
        driver.in_turn = True
        driver.owes_turn = True


def _owes_turn(driver: Driver) -> bool:
    """Whether the model has something to answer.

    The session says so. If it is unknown or the file was edited, the model must answer if a person
    wrote last.
    """
    last = next(filter(_is_conversation, reversed(driver.transcript.blocks)), None)
    if last is None or last.halts or (last.by_person and driver.channel.is_prompt_denied()):
        return False
    if last.kind is BlockKind.CALL:
        return True
    session, file = driver.channel.session(), driver.transcript.file
    if file.known < 0 or file.edited:
        return last.role is Role.USER
    return session.turns.begun == session.turns.before_prompt and last.role is Role.USER


def _is_conversation(block: Block) -> bool:
    return block.by_person or block.by_model or block.halts


def _text_before(blocks: Sequence[Block], call: Block) -> str:
    """Return the assistant's text in the message that ends with this call."""
    place = next(place for place, block in enumerate(blocks) if block is call)
    while place and blocks[place].kind is BlockKind.CALL:
        place -= 1
    said = blocks[place]
    return said.text if said.by_model and said.kind is BlockKind.MESSAGE else ""
