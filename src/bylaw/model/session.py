"""A session: everything that guards can read, as one value. `fold` computes the next one."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from bylaw.model.calls import Calls
from bylaw.model.deferred import Deferrals
from bylaw.model.event import DEFAULT_SESSION
from bylaw.model.history import History
from bylaw.model.notices import Notices
from bylaw.model.slate import Slate
from bylaw.model.stops import BlockedStops
from bylaw.model.vocabulary import Kind


class Turns(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Counters of turns.

    `completed` turns have ended, and `open` is set while one runs. `before_prompt` is how many
    turns had begun at the last prompt, `answered` how many were complete with the last final
    output.
    """

    completed: int = 0
    open: bool = False
    before_prompt: int = 0
    answered: int = 0

    @property
    def begun(self) -> int:
        """The number of turns that are complete or running."""
        return self.completed + self.open


class FiringCount(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a rule fired, and the turn and time of the last firing."""

    count: int
    turn: int
    at: int


class Session(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of a session, folded from its events. It is never changed in place."""

    id: str = DEFAULT_SESSION
    seq: int = 0
    at: int = 0
    turns: Turns = Turns()
    history: History = History()
    calls: Calls = Calls()
    slate: Slate = Slate()
    firings: Mapping[str, FiringCount] = {}
    notices: Notices = Notices()
    blocked: BlockedStops = BlockedStops()
    deferred: Deferrals = Deferrals()

    @property
    def turn(self) -> int:
        """The number of the running or next turn, from 1."""
        return self.turns.completed + 1

    def turn_during(self, kind: Kind) -> int:
        """As `turn`, but the next turn at a prompt, and the last one at the end of the session."""
        if kind is Kind.PROMPT:
            return self.turns.begun + 1
        if kind is Kind.SESSION_END and not self.turns.open:
            return max(self.turns.completed, 1)
        return self.turn

    def turns_since_prompt(self, kind: Kind) -> int:
        """The number of turns completed since the last prompt; 0 at a prompt itself."""
        if kind is Kind.PROMPT:
            return 0
        return max(self.turns.completed - self.turns.before_prompt, 0)

    def ever_called(self, tool: str) -> bool:
        """Whether the tool was executed in this session."""
        return self.count_calls(tool) > 0

    def count_calls(self, tool: str) -> int:
        """How often the tool was executed in this session."""
        return self.calls.tally(tool).count

    def called_since(self, tool: str, turns: int) -> bool:
        """Whether the tool was executed in the last `turns` turns or in the current one."""
        tally = self.calls.tally(tool)
        return tally.count > 0 and tally.last_turn >= self.turn - turns

    def called_for_answer(self, tool: str) -> bool:
        """Whether the tool was executed, or is running, since the last final output."""
        tally = self.calls.tally(tool)
        called = tally.count > 0 and tally.last_turn > self.turns.answered
        return called or self.calls.pending_of(tool) > 0

    def count_used(self, tool: str) -> int:
        """The number of ended and running calls, for a quota of the session."""
        return self.count_calls(tool) + self.calls.pending_of(tool)

    def count_used_in_turn(self, tool: str) -> int:
        """The number of ended and running calls in this turn, for a quota of the turn."""
        return self.calls.tally(tool).in_turn(self.turn) + self.calls.pending_of(tool)

    def used_since(self, tool: str, turns: int) -> bool:
        """As `called_since`, including running calls, for a tool's cool-down."""
        return self.called_since(tool, turns) or self.calls.pending_of(tool) > 0


# Keys keep their order: a guard may iterate over a map, and a restored session must not differ.
_ENCODER = msgspec.json.Encoder()


def encode_session(session: Session) -> bytes:
    """Encode a session as JSON. Equal histories give equal bytes."""
    return _ENCODER.encode(session)
