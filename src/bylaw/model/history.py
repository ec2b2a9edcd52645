"""History as guards read it: length, size, last role and texts, and the newest messages."""

from collections.abc import Iterable
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.text_size import count_tokens
from bylaw.model.vocabulary import Role
from bylaw.model.window import appended

NO_ROLE = "none"


class Said(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    messages: tuple[Said, ...] = ()
    # Characters of the messages in the window, see `appended`.
    chars: int = 0

    def append(self, role: Role, text: str) -> Self:
        """Add a message and the size of its tokens."""
        messages, chars = appended(self.messages, self.chars, Said(role=role, content=text))
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

    def replaced(self, length: int, newest: Iterable[Said]) -> Self:
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

    def _tokens_of(self, length: int, kept: tuple[Said, ...]) -> int:
        if len(kept) == length:
            return sum(count_tokens(said.content) for said in kept)
        # Messages outside the window are only counted. Assume the average size for removed ones.
        # Of added ones nothing is known.
        return self.tokens * length // self.length if length < self.length else self.tokens
