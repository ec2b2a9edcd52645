"""The guards that everybody has to evaluate: facts of events in, three outcomes out.

An outcome is True, False or FAILED: a guard that has no value for this event must say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAILED = "failed"
Outcomes = tuple[Any, ...]
Facts = dict[str, Any]
Guard: TypeAlias = "Callable[[Any], Any]"


@dataclass(frozen=True)
class Bucket:
    """Three guards of one event kind, and events with the outcomes that everybody must find."""

    name: str
    guards: tuple[str, ...]
    events: tuple[tuple[Facts, Outcomes], ...]

    @property
    def timed(self) -> list[Facts]:
        """The events without a failing guard: failures are checked, and rare enough not to time."""
        return [facts for facts, outcomes in self.events if FAILED not in outcomes]


@dataclass(frozen=True)
class Contender:
    """One way to evaluate a bucket; `prepare` is outside the timed part, `evaluate` is inside."""

    name: str
    inside: str
    prepare: Callable[[Facts], Any]
    evaluate: Callable[[Any], Outcomes]
    # What no host could do: the facts of an event are there before the event comes.
    bare: bool = False

    def check(self, bucket: Bucket) -> None:
        """Refuse to race with different results."""
        for facts, expected in bucket.events:
            found = self.evaluate(self.prepare(facts))
            if found != expected:
                message = f"{bucket.name}: {self.name} finds {found} for {facts}, not {expected}"
                raise AssertionError(message)


def together(
    guards: tuple[Guard, ...], failure: type[Exception] = TypeError
) -> Callable[[Any], Outcomes]:
    """Evaluate three guards in turn; only when one fails, find out which."""
    first, second, third = guards

    def outcome(guard: Guard, view: Any) -> Any:
        try:
            return guard(view)
        except failure:
            return FAILED

    def evaluate(view: Any) -> Outcomes:
        try:
            return first(view), second(view), third(view)
        except failure:
            return tuple(outcome(guard, view) for guard in guards)

    return evaluate


def _chat(turn: int, tokens: int, role: str, tool: str | None, *called: str) -> Facts:
    return {
        "turn_index": turn,
        "context_tokens": tokens,
        "last_role": role,
        "event": {"tool": {"name": tool}},
        "called": list(called),
    }


def _toml(usage: float | None, calls: int, tool: str | None) -> Facts:
    return {
        "turn": {"token_usage": usage},
        "history": {"total_tool_calls": calls},
        "result": None if tool is None else {"tool_name": tool},
    }


CHAT = Bucket(
    "chat",
    (
        "turn_index % 5 == 0",
        'context_tokens > 40000 and last_role == "user"',
        'event.tool.name == "apply_patch" and not ever_called("read_file")',
    ),
    (
        (_chat(7, 41_200, "user", "apply_patch", "read_file", "grep"), (False, True, False)),
        (_chat(10, 39_000, "user", "apply_patch", "grep"), (True, False, True)),
        (_chat(5, 40_000, "assistant", None), (True, False, False)),
        (_chat(8, 90_000, "tool", "grep", "read_file"), (False, False, False)),
        (_chat(15, 40_001, "user", "apply_patch"), (True, True, True)),
    ),
)
TOML = Bucket(
    "toml",
    (
        "context.turn.token_usage > 0.8",
        "context.turn.token_usage > 0.7 and context.history.total_tool_calls > 5",
        "context.result is not None and context.result.tool_name == 'vault_search'",
    ),
    (
        (_toml(0.75, 9, "vault_search"), (False, True, True)),
        (_toml(0.81, 3, None), (True, False, False)),
        (_toml(0.7, 6, "grep"), (False, False, False)),
        (_toml(0.9, 6, "vault_search"), (True, True, True)),
        (_toml(None, 6, "vault_search"), (FAILED, FAILED, True)),
        (_toml(None, 6, None), (FAILED, FAILED, False)),
    ),
)
BUCKETS: Mapping[str, Bucket] = {bucket.name: bucket for bucket in (CHAT, TOML)}
