"""Compact an open chat file: make it shorter for the model, and report what was done.

Replaced messages stay in the file, in archives that are never sent. The file is written once, at
the end, so nothing has changed if a model fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.chat.blocks import own_blocks
from bylaw.hosts.chat.compaction.relevance import select_relevant
from bylaw.hosts.chat.compaction.rewrite import HistoryRewrite
from bylaw.hosts.chat.compaction.summary import extract, is_reminder, reminder, summarise
from bylaw.hosts.chat.compaction.units import (
    ChatHistory,
    Strategy,
    kept_units,
    read_keep,
    read_strategy,
)
from bylaw.hosts.chat.request import count_replies, size_of
from bylaw.hosts.chat.transcript import message
from bylaw.model.display import number_of
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.chat_file import ChatFile
    from bylaw.hosts.chat.models.base import Model
    from bylaw.model.effects import HistoryCompact
    from bylaw.model.source import SourceFile


class Compaction(Struct, frozen=True, kw_only=True):
    """The result of a compaction.

    `note` is the report for the model. `length` and `tokens` are the size of the history now,
    without the note. `replaced` is the number of replaced messages; `first` and `last` are the
    numbers of the first and the last of them.
    """

    note: str
    length: int
    tokens: int
    replaced: int = 0
    first: int = 0
    last: int = 0


class Compactor:
    """Compacts the history of a chat. `read` returns the blocks of its file and its imports."""

    def __init__(
        self,
        model: Model | None,
        read: Callable[[SourceFile], list[Block]] = own_blocks,
    ) -> None:
        self._model = model if model is not None and model.summarises else None
        self._read = read

    def compact(self, file: ChatFile, step: HistoryCompact, rule: str) -> Compaction:
        """Compact the file in the name of a rule. If it raises CompactionError, nothing changed."""
        keep, strategies = read_keep(step.keep), read_strategy(step.strategy)
        source = file.read_again()
        history = ChatHistory(self._read(source))
        going = self._removable(history, kept_units(history, keep, source.path), strategies)
        if not going:
            return _no_compaction(history, "no message may be removed")
        stand_in = self._stand_in(history, going, rule) if Strategy.SUMMARY in strategies else ""
        new = HistoryRewrite(source, history, going, rule, stand_in)
        length, tokens = size_of(new.blocks)
        if tokens >= size_of(history.blocks)[1]:
            return _no_compaction(history, "the history would not become shorter")
        replies_gone = count_replies(history.blocks) - count_replies(new.blocks)
        file.rewrite(new.text, max(file.replies - replies_gone, 0))
        numbers = history.messages_of(going)
        return Compaction(
            note=self._note(new, numbers),
            length=length,
            tokens=tokens,
            replaced=len(numbers),
            first=numbers[0],
            last=numbers[-1],
        )

    def _removable(
        self, history: ChatHistory, kept: set[int], strategies: frozenset[Strategy]
    ) -> frozenset[int]:
        going = [unit for unit in range(len(history.units)) if unit not in kept]
        # A summary of nothing but summaries gains nothing.
        if all(map(is_reminder, history.blocks_of(going))):
            return frozenset()
        if Strategy.RELEVANCE in strategies:
            return frozenset(going) - select_relevant(history, going, self._model)
        return frozenset(going)

    def _stand_in(self, history: ChatHistory, going: frozenset[int], rule: str) -> str:
        blocks = history.blocks_of(going)
        told = _count_text(history.messages_of(going))
        if self._model:
            text = reminder(f"Summary of {told}:", summarise(self._model, blocks))
        else:
            text = reminder(f"Extract of {told}, the beginning of each:", extract(blocks))
        return message(Role.USER, text, rule).as_text

    def _note(self, new: HistoryRewrite, numbers: list[int]) -> str:
        summary = "a summary" if self._model else "an extract, because no model is available"
        what = f"replaced by {summary}" if new.stand_in else "removed"
        where = "archive" if len(new.runs) == 1 else "archives"
        told = f"{number_of(len(numbers), 'message')} ({_range(numbers)})"
        return f"[compact] {told} {what}; kept in the {where} of this file"


def _no_compaction(history: ChatHistory, why: str) -> Compaction:
    length, tokens = size_of(history.blocks)
    return Compaction(note=f"[compact] 0 messages replaced: {why}", length=length, tokens=tokens)


def _count_text(numbers: list[int]) -> str:
    return f"{number_of(len(numbers), 'earlier message')} ({_range(numbers)})"


def _range(numbers: list[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if first == last:
        return f"{first:,}"
    all_of_them = last - first + 1 == len(numbers)
    return f"{first:,} to {last:,}" if all_of_them else f"between {first:,} and {last:,}"
