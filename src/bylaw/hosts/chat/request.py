"""The blocks of a file → the messages of a request; pure.

In a file, blocks are in the order of events. Providers want all responses right after the message
with their calls. So blocks between a call and the last response to the same message are moved after
that response. All other blocks keep their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.blocks import BlockKind, ModelCall, RequestMessage
from bylaw.model.history import count_tokens
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.hosts.chat.blocks import Block


def messages_of(blocks: Sequence[Block]) -> tuple[RequestMessage, ...]:
    """Return the messages to send."""
    return tuple(_ordered_messages(list(blocks)))


def unanswered_calls(blocks: Sequence[Block]) -> list[Block]:
    """Return the calls without a response, in order. An id may be used again later."""
    waiting: dict[str, Block] = {}
    for block in blocks:
        if block.kind is BlockKind.CALL:
            waiting[block.call] = block
        elif block.kind is BlockKind.RESPONSE:
            waiting.pop(block.call, None)
    return list(waiting.values())


def orphan_responses(blocks: Sequence[Block]) -> list[Block]:
    """Return the responses without an earlier call, or to a call that already has one."""
    waiting: set[str] = set()
    found = []
    for block in blocks:
        if block.kind is BlockKind.CALL:
            waiting.add(block.call)
        elif block.kind is BlockKind.RESPONSE:
            if block.call not in waiting:
                found.append(block)
            waiting.discard(block.call)
    return found


def size_of(blocks: Sequence[Block]) -> tuple[int, int]:
    """Return the number of messages and of their tokens, as the events of a chat count them.

    A call is a part of the assistant's message. A call that a rule made is not counted.
    """
    length = tokens = 0
    before: Block | None = None
    for block in blocks:
        length += begins_message(block, before)
        tokens += 0 if block.kind is BlockKind.CALL else count_tokens(block.text)
        before = block
    return length, tokens


def begins_message(block: Block, before: Block | None) -> bool:
    """Whether a message begins with this block, given the block before it."""
    if block.kind is not BlockKind.CALL:
        return True
    # The message of the assistant has calls and no text.
    return block.by_model and not (before is not None and before.by_model)


def count_replies(blocks: Sequence[Block]) -> int:
    """Return the number of turns of the model."""
    ends = [*blocks[1:], None]
    return sum(
        1
        for block, follower in zip(blocks, ends, strict=False)
        if block.by_model and not has_next_call(block, follower)
    )


def has_next_call(block: Block, follower: Block | None) -> bool:
    """Whether the next block is a call of the same message."""
    return (
        follower is not None
        and block.by_model
        and follower.by_model
        and follower.kind is BlockKind.CALL
    )


def _ordered_messages(blocks: list[Block]) -> Iterator[RequestMessage]:
    # The moved blocks may themselves have calls with blocks between them. A stack, because a file
    # can nest them to any depth.
    stack = [(blocks, 0)]
    while stack:
        run, at = stack.pop()
        if at >= len(run):
            continue
        end = _end_of_message(run, at)
        message = run[at:end]
        yield _message(message)
        calls = {block.call for block in message if block.kind is BlockKind.CALL}
        if not calls:
            stack.append((run, end))
            continue
        behind_all = _end_of_responses(run, end, calls)
        behind = run[end:behind_all]
        yield from (_message([one]) for one in behind if _is_response_to(one, calls))
        stack.append((run, behind_all))
        stack.append(([one for one in behind if not _is_response_to(one, calls)], 0))


def _end_of_message(blocks: list[Block], at: int) -> int:
    """Return the place after the assistant's text and calls. A rule's call is its own message."""
    end = at + 1
    while end < len(blocks) and has_next_call(blocks[end - 1], blocks[end]):
        end += 1
    return end


def _end_of_responses(blocks: list[Block], at: int, calls: set[str]) -> int:
    missing, place = set(calls), at
    while missing and place < len(blocks):
        block = blocks[place]
        if _is_response_to(block, missing):
            missing.discard(block.call)
            at = place + 1
        place += 1
    return at


def _is_response_to(block: Block, calls: set[str]) -> bool:
    return block.kind is BlockKind.RESPONSE and block.call in calls


def _message(message: list[Block]) -> RequestMessage:
    first = message[0]
    calls = tuple(
        ModelCall(block.call, block.tool, block.text)
        for block in message
        if block.kind is BlockKind.CALL
    )
    is_response = first.kind is BlockKind.RESPONSE
    return RequestMessage(
        role=first.role if not calls else Role.ASSISTANT,
        text="" if first.kind is BlockKind.CALL else first.text,
        calls=calls,
        answers=first.call if is_response else "",
        failed=first.failed,
        images=first.images,
    )
