"""The bus of the demo: a message is held, a person approves it, and its command runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.hosts.bus.new_message import NewMessages, Wish
from bylaw.hosts.bus.opening import Telling, open_bus
from bylaw.runtime.shared_files import TOKENS

if TYPE_CHECKING:
    from bylaw.hosts.bus.handled import Handled

RELEASE = Wish(
    title="Release 1.1",
    category="B",
    command_type="exec",
    paths=("src/shapes.py",),
    run=(),
    notes="area() multiplies now.",
    origin="",
    by="agent",
    approval_by=(),
    requires_approval=False,
    slug="",
    phase=None,
)


class Office:
    """Send one message and run the bus."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._msg_id = ""

    def ask(self) -> str:
        """Send the message and return what the bus does with it."""
        messages = NewMessages(self._root)
        draft, _ = messages.put(messages.draft(RELEASE))
        self._msg_id = draft.msg_id
        return self._handled()

    def approve(self) -> str:
        """Approve the message as the person would, and return what the bus does."""
        tokens = Path(self._root, TOKENS)
        tokens.mkdir(parents=True)
        (tokens / f"{self._msg_id}.human").write_text("Approved\n", encoding="utf-8")
        return self._handled()

    def _handled(self) -> str:
        """Run the bus once. The demo wrote the rules itself, so it trusts their command."""
        found: list[Handled] = []
        telling = Telling(found.append, lambda _: None)
        with open_bus(self._root, telling, trust=True) as opened:
            opened.orchestrator.run_once()
        return "\n".join(f"{one.status.value}: {', '.join(one.evidence)}" for one in found)
