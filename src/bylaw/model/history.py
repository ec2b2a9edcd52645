"""The message history as guards read it: length, size, last role and texts, newest messages.

The window of newest messages and calls is bounded in number and in the size of its text. Tokens are
counted by a fixed formula, so that replays give the same result (CM-A08).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

# Guards can read this many items. Totals are counters, so older items are not kept.
WINDOW = 200
# Characters. With longer texts the oldest items lose theirs, so that a session stays small.
WINDOW_CHARS = 262_144


class HasSize(Protocol):
    """An item of a window."""

    @property
    def chars(self) -> int:
        """The approximate number of characters that it holds."""

    def without_text(self) -> Self:
        """The same item without its long parts. It then has no characters."""


Item = TypeVar("Item", bound=HasSize)


def append_item(window: tuple[Item, ...], chars: int, item: Item) -> tuple[tuple[Item, ...], int]:
    """Return the window with one more item, and its characters.

    The window always has the newest items (TR-A18). If they hold too much text, the oldest lose
    theirs. The sum of characters is carried along, so that the cost of an item does not grow with
    the window.
    """
    chars += item.chars
    leave = max(len(window) + 1 - WINDOW, 0)
    chars -= sum(old.chars for old in window[:leave])
    items = window[leave:] + (item,)  # noqa: RUF005 - unpacking takes twice as long
    return (items, chars) if chars <= WINDOW_CHARS else _drop_texts(items, chars)


def _drop_texts(items: tuple[Item, ...], chars: int) -> tuple[tuple[Item, ...], int]:
    kept = list(items)
    for place, old in enumerate(items):
        if chars <= WINDOW_CHARS:
            break
        if old.chars:
            chars -= old.chars
            kept[place] = old.without_text()
    return tuple(kept), chars


_CHARS_A_TOKEN = 4


def count_tokens(text: str) -> int:
    """Return a quarter of the code points, rounded up (CM-A08)."""
    return -(-len(text) // _CHARS_A_TOKEN)


NO_ROLE = "none"


class HistoryMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message in the window."""

    role: Role
    content: str

    @property
    def chars(self) -> int:
        """The number of its characters."""
        return len(self.content)

    def without_text(self) -> Self:
        """The same message without its text."""
        return replace(self, content="")


class History(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The messages from and to the main agent of a session."""

    length: int = 0
    tokens: int = 0
    last_role: str = NO_ROLE
    last_user: str = ""
    last_assistant: str = ""
    last_tool: str = ""
    messages: tuple[HistoryMessage, ...] = ()
    # Characters of the messages in the window, see `append_item`.
    chars: int = 0

    def append(self, role: Role, text: str) -> Self:
        """Add a message and the size of its tokens."""
        messages, chars = append_item(
            self.messages, self.chars, HistoryMessage(role=role, content=text)
        )
        return replace(
            self,
            length=self.length + 1,
            tokens=self.tokens + count_tokens(text),
            last_role=role.value,
            last_user=text if role is Role.USER else self.last_user,
            last_assistant=text if role is Role.ASSISTANT else self.last_assistant,
            # CM-A07: the response to a denied call is included.
            last_tool=text if role is Role.TOOL else self.last_tool,
            messages=messages,
            chars=chars,
        )

    def replaced(self, length: int, newest: Iterable[HistoryMessage]) -> Self:
        """Return a history of this length that ends with these messages."""
        history = replace(type(self)(), last_tool=self.last_tool)
        for said in newest:
            history = history.append(said.role, said.content)
        return replace(history, length=length)

    def resize(self, length: int) -> Self:
        """Set the length. The newest messages stay; length 0 clears everything."""
        if not length:
            return type(self)()
        kept = self.messages[-length:]
        tokens, chars = self._tokens_of(length, kept), sum(said.chars for said in kept)
        return replace(self, length=length, tokens=tokens, messages=kept, chars=chars)

    def _tokens_of(self, length: int, kept: tuple[HistoryMessage, ...]) -> int:
        if len(kept) == length:
            return sum(count_tokens(said.content) for said in kept)
        # Messages outside the window are only counted. Assume the average size for removed ones.
        # Of added ones nothing is known.
        return self.tokens * length // self.length if length < self.length else self.tokens
