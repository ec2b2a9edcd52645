"""A session: everything that guards can read, as one value. `fold` computes the next one.

Its parts in this file: variables and enabled names, which `decide` and `fold` change by the same
code; steps that wait for the outcome of earlier steps of their plan (CM-A39); and blocked stops,
counted for each violation, so that no violation blocks forever.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.calls import Calls, Notices
from bylaw.model.decision import Decision, Reason
from bylaw.model.effects import EntryWrite, ResponseUse, RulesEnable, SessionStep, StateSet, Step
from bylaw.model.event import DEFAULT_SESSION, AgentStop, EffectDone
from bylaw.model.history import History
from bylaw.model.values import JSON
from bylaw.model.vocabulary import OPEN_STATUSES, EffectStatus, Kind, Op, is_not_allowed

if TYPE_CHECKING:
    from bylaw.model.facts import Entry

# The steps that change variables and enabled sets.
VARIABLE_OPS = frozenset({Op.STATE_SET, Op.RULES_ENABLE, Op.RESPONSE_USE})
_VARIABLE_STEPS = frozenset({StateSet, RulesEnable, ResponseUse})


def variable_space(dialect: str, space: str = "") -> str:
    """Return the space of variables. It includes the language, so languages share no variables."""
    return f"{dialect}:{space}"


def is_space_of(space: str, dialect: str) -> bool:
    """Whether variables of this space belong to a language."""
    return space.startswith(dialect + ":")


class EnabledNames(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The names that are enabled. Each command replaces all of them."""

    responses: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


class Variables(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variables by space and name, the enabled names, and the selected response."""

    variables: Mapping[str, Mapping[str, JSON]] = {}
    enabled: EnabledNames = EnabledNames()
    response: str = ""

    def space(self, name: str) -> Mapping[str, JSON]:
        """Return the variables of one space, empty if nothing was written to it."""
        return self.variables.get(name, {})

    def after(self, step: Step) -> Self:
        """Return the state after a step. Steps that do not write variables change nothing."""
        if step.__class__ not in _VARIABLE_STEPS:
            return self
        match step:
            case StateSet():
                space = {**self.space(step.space), step.name: step.value}
                return replace(self, variables={**self.variables, step.space: space})
            case RulesEnable():
                enabled = EnabledNames(
                    responses=step.responses, workflows=step.workflows, protocols=step.protocols
                )
                # A workflow that is no longer enabled must not select a response.
                return replace(self, enabled=enabled, response="")
            case ResponseUse():
                return replace(self, response=step.id)
        return self


# Bounded, because a host may never report outcomes.
MAX_DEFERRED = 200


class DeferredStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Step `number` of the decision on event `of`, in a plan that begins with step `first`."""

    of: int
    number: int
    first: int
    uid: str
    rule: str
    step: SessionStep


class DeferredSteps(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The steps that wait, oldest first."""

    waiting: tuple[DeferredStep, ...] = ()

    def put(self, one: DeferredStep) -> Self:
        """Add one step."""
        return replace(self, waiting=(*self.waiting, one)[-MAX_DEFERRED:])

    def settle(self, effect: EffectDone) -> tuple[Self, DeferredStep | None]:
        """Return what still waits after an outcome, and the step that takes effect now."""
        own = [one for one in self.waiting if one.of == effect.of]
        if effect.status is EffectStatus.OK:
            due = next((one for one in own if one.number == effect.step), None)
            return (self._without([due]), due) if due else (self, None)
        dropped = [one for one in own if one.first <= effect.step <= one.number]
        return (self._without(dropped), None) if dropped else (self, None)

    def _without(self, gone: list[DeferredStep]) -> Self:
        return replace(self, waiting=tuple(one for one in self.waiting if one not in gone))


# Older violations were fixed or released long ago.
MAX_BLOCKED = 512
MAX_BLOCKED_AS_ONE = 64  # if all violations of a stop are counted as one
# Per stop. All further ones are counted as one, so that none pushes another out.
MAX_VIOLATIONS = 256
UNANSWERED = "unanswered"
_VIOLATIONS = "violations"
_VIOLATION = "violation"  # in older records: all violations of a stop as one


def blocks_stop(decision: Decision) -> bool:
    """Whether a decision blocks a stop. Ask and halt block it as deny does."""
    return is_not_allowed(decision.verdict)


def violations(event: AgentStop, decision: Decision) -> dict[str, Sequence[Reason]]:
    """Return what blocks a stop: violations by digest, each with its reasons.

    The same digest means the same violation: agent, reason and open entries are unchanged.
    """
    if not event.each:
        reasons = [one for group in _group_reasons(decision) for one in group]
        return {_digest_as_one(event, decision, reasons): reasons}
    entries = list(_open_entries(event, decision))
    return {_digest(event.agent, one, entries): one for one in _group_reasons(decision)}


def _group_reasons(decision: Decision) -> list[list[Reason]]:
    reasons = [one for one in decision.reasons if is_not_allowed(one.verdict)]
    apart = [[one] for one in reasons[:MAX_VIOLATIONS]]
    # A verdict without a reason also blocks.
    return [*apart, reasons[MAX_VIOLATIONS:]] if reasons[MAX_VIOLATIONS:] or not apart else apart


def _digest(agent: str, reasons: list[Reason], entries: list[tuple[str, str, str]]) -> str:
    rules = {one.rule for one in reasons}
    said = [(one.uid, one.text) for one in reasons]
    found = sorted((key, digest) for policy, key, digest in entries if policy in rules)
    return _sha256(agent, said, found)


def _digest_as_one(event: AgentStop, decision: Decision, reasons: list[Reason]) -> str:
    """Compute the digest as older versions did, so that old records fold to the same session."""
    known = (event.facts.entries or {}).items()
    found = {key: one.digest for key, one in known if one and one.status in OPEN_STATUSES}
    for _, _, step in decision.numbered_steps():
        if isinstance(step, EntryWrite) and step.status in OPEN_STATUSES:
            found[step.hash] = step.digest
    said = [(one.uid, one.text) for one in reasons]
    return _sha256(event.agent, said, sorted(found.items()))


def _sha256(agent: str, said: list[tuple[str, str]], found: list[tuple[str, str]]) -> str:
    return sha256(msgspec.json.encode((agent, said, found))).hexdigest()


def _open_entries(event: AgentStop, decision: Decision) -> Iterator[tuple[str, str, str]]:
    """Yield the entries that block a stop: policy, hash, and the digest of its files.

    An entry is as this decision writes it. When a stop is first blocked, the facts do not have the
    entry yet, and a closed entry is gone at the next stop. The number of times that it was shown is
    not used, since it grows with every block.
    """
    entries: dict[str, Entry | EntryWrite | None] = {**(event.facts.entries or {})}
    for _, _, step in decision.numbered_steps():
        if isinstance(step, EntryWrite):
            entries[step.hash] = step
    for key, one in entries.items():
        if one and one.status in OPEN_STATUSES:
            yield one.policy, key, one.digest


class BlockedStop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often one violation blocked a stop, and whether it was ever released."""

    digest: str
    times: int
    let_through: bool = False


class BlockedStops(Struct, frozen=True, forbid_unknown_fields=True):
    """The newest violations that blocked stops, newest last."""

    stops: tuple[BlockedStop, ...] = ()

    def find(self, digest: str) -> BlockedStop:
        """Return the count of this violation."""
        known = (stop for stop in self.stops if stop.digest == digest)
        return next(known, BlockedStop(digest=digest, times=0))

    def add(self, digests: Collection[str], most: int) -> Self:
        """Count one more block of these violations. Keep at most the newest `most`."""
        others = [stop for stop in self.stops if stop.digest not in digests]
        known = [self.find(digest) for digest in digests]
        newest = [replace(stop, times=stop.times + 1) for stop in known]
        return type(self)((*others, *newest)[-most:])

    def take_back(self, effect: EffectDone) -> Self:
        """Undo the last block of violations that a record says were released."""
        let_through = _released_digests(effect, _VIOLATIONS)
        gone = let_through | _released_digests(effect, _VIOLATION)
        if not gone:
            return self
        stops = (
            replace(
                stop,
                times=stop.times - (stop.digest in gone),
                let_through=stop.let_through or stop.digest in let_through,
            )
            for stop in self.stops
        )
        return type(self)(tuple(stop for stop in stops if stop.times > 0))


def release_record(stop: AgentStop, digests: Sequence[str], blocks: int) -> EffectDone:
    """Build the record of violations that were released at a stop after `blocks` blocks."""
    return EffectDone(
        session=stop.session,
        agent=stop.agent,
        of=stop.seq,
        step=0,
        op=Op.ANSWER,
        status=EffectStatus.RELEASED,
        result={"note": f"{UNANSWERED}: {blocked_text(blocks)}", _VIOLATIONS: list(digests)},
    )


def _released_digests(effect: EffectDone, key: str) -> set[str]:
    """Return the violations that a record says were released."""
    if effect.status is not EffectStatus.RELEASED or not isinstance(effect.result, dict):
        return set()
    found = effect.result.get(key)
    return {one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)}


def blocked_text(blocks: int) -> str:
    """Return the number of blocks as text."""
    return "it blocked once" if blocks == 1 else f"it blocked {blocks} times"


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
    slate: Variables = Variables()
    firings: Mapping[str, FiringCount] = {}
    notices: Notices = Notices()
    blocked: BlockedStops = BlockedStops()
    deferred: DeferredSteps = DeferredSteps()

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
        return called or self.calls.count_pending(tool) > 0

    def count_used(self, tool: str) -> int:
        """The number of ended and running calls, for a quota of the session."""
        return self.count_calls(tool) + self.calls.count_pending(tool)

    def count_used_in_turn(self, tool: str) -> int:
        """The number of ended and running calls in this turn, for a quota of the turn."""
        return self.calls.tally(tool).in_turn(self.turn) + self.calls.count_pending(tool)

    def used_since(self, tool: str, turns: int) -> bool:
        """As `called_since`, including running calls, for a tool's cool-down."""
        return self.called_since(tool, turns) or self.calls.count_pending(tool) > 0


# Keys keep their order: a guard may iterate over a map, and a restored session must not differ.
_SESSION_ENCODER = msgspec.json.Encoder()


def encode_session(session: Session) -> bytes:
    """Encode a session as JSON. Equal histories give equal bytes."""
    return _SESSION_ENCODER.encode(session)
