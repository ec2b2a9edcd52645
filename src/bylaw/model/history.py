"""History as guards read it: length, size, last role and texts, and the newest messages."""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.text_size import count_tokens
from bylaw.model.vocabulary import Role

# Guards can look back this far; totals are counters, so nothing else is kept.
WINDOW = 200

NO_ROLE = "none"


class Said(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message in the window."""

    role: Role
    content: str


class History(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was said in the session by its main agent and to it."""

    length: int = 0
    tokens: int = 0
    last_role: str = NO_ROLE
    last_user: str = ""
    last_assistant: str = ""
    last_tool: str = ""
    messages: tuple[Said, ...] = ()

    def append(self, role: Role, text: str) -> Self:
        """One message more; its tokens are added to the size."""
        return replace(
            self,
            length=self.length + 1,
            tokens=self.tokens + count_tokens(text),
            last_role=role.value,
            last_user=text if role is Role.USER else self.last_user,
            last_assistant=text if role is Role.ASSISTANT else self.last_assistant,
            messages=(*self.messages[1 - WINDOW :], Said(role=role, content=text)),
        )

    def shorten(self, length: int) -> Self:
        """The history now has this length; the window cannot show more than there is."""
        kept = self.messages[-length:] if length else ()
        last_role = self.last_role if length else NO_ROLE
        return replace(self, length=length, last_role=last_role, messages=kept)
