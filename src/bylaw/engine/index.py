"""Books → the few rules that can match an event, in visiting order.

The index is by kind, status, round and tool. Path patterns have their own index. So the cost of an
event does not grow with the number of rules about other things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.engine.fast import Holding, compile_bucket
from bylaw.model.calls import NEVER_HAPPENED
from bylaw.model.event import Bus, Common, Event, File, ToolAfter, ToolBefore
from bylaw.model.procedure import SortKey
from bylaw.model.rule import NO_LIMITS, Filter, Rounds, Rule, uid_of
from bylaw.model.session import VARIABLE_OPS
from bylaw.model.vocabulary import CallStatus
from bylaw.paths import Pattern, normalise_event_path, pattern
from bylaw.paths.index import PathIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bylaw.model.procedure import Book, Group, Procedure

_KEYS: dict[SortKey, Callable[[Rule], object]] = {
    SortKey.RANK: lambda rule: rule.rank,
    SortKey.PRIORITY_ASCENDING: lambda rule: rule.priority,
    SortKey.PRIORITY_DESCENDING: lambda rule: -rule.priority,
    SortKey.FILE: lambda rule: rule.origin.file,
    SortKey.SOURCE: lambda rule: (rule.origin.line, rule.origin.column),
    SortKey.ID: lambda rule: rule.id,
}


def order_rules(group: Group) -> tuple[Rule, ...]:
    """Return the rules in visiting order. Rules lowered from one written rule stay together."""
    keys = [_KEYS[key] for key in group.procedure.order]

    def sort_key(rule: Rule) -> tuple[object, ...]:
        return tuple(key(rule) for key in keys)

    return tuple(sorted(group.rules, key=sort_key))


# Events may have any tool names, so selections are kept for at most this many keys.
MAX_BUCKETS = 1_024

# Class of the event (quicker to hash than its kind), status, round, tools.
Key = tuple[type[Common], CallStatus | None, int, tuple[str, ...]]


class OrderedGroup(Struct, frozen=True):
    """A group with its rules in visiting order, and its book."""

    name: str
    dialect: str
    book: int
    procedure: Procedure
    rules: tuple[Rule, ...]


class Candidates(Struct, frozen=True):
    """The rules of one group that an event can match."""

    group: OrderedGroup
    rules: tuple[Rule, ...]
    closing: tuple[Rule, ...]
    # If lines have keys: the rules by key.
    by_key: Mapping[str, tuple[Rule, ...]] | None = None
    # For the fast path, if rules have siblings: the same rules, grouped by family.
    families: tuple[tuple[Rule, ...], ...] = ()

    def of_line(self, line: str) -> Candidates:
        """Return the candidates for one line of the text."""
        key_of = self.group.procedure.line_key
        if key_of is None or self.by_key is None:
            return self
        return replace(self, rules=self.by_key.get(key_of(line), ()))


class Bucket(Struct):
    """All candidates for events that have the same key in the index, in visiting order."""

    groups: tuple[Candidates, ...]
    # Whether paths, changes or command types must be checked, which the key does not cover.
    is_filtered: bool
    # Whether one of its rules can change what the guards of later rules read.
    writes: bool
    # Whether a limit or a gate can prevent one of its rules from firing.
    has_limits: bool
    # The fast path: which guards hold, as bits in visiting order; see `fast`.
    holding: Holding | None = None
    _chosen: dict[int, tuple[Candidates, ...]] = field(default_factory=dict)

    def select(self, held: int) -> tuple[Candidates, ...]:
        """Return the candidates whose bit is set."""
        found = self._chosen.get(held)
        if found is None:
            if len(self._chosen) >= MAX_BUCKETS:
                self._chosen.clear()
            found = self._chosen[held] = tuple(_select_by_bits(self.groups, held))
        return found


class RuleSet:
    """Books prepared for decisions."""

    def __init__(self, books: Iterable[Book], *, fast: bool = True) -> None:
        self.books = tuple(sorted(books, key=lambda book: (book.dialect, book.path)))
        self.fast = fast
        self._groups = tuple(_order_groups(self.books))
        self._tools = frozenset(name for rule in self.rules() for name in rule.filter.tools)
        self._paths = _PathFilters(self.rules())
        self._buckets: dict[Key, Bucket] = {}

    def rules(self) -> Iterable[Rule]:
        """Yield every rule of every book, including built-in closing rules."""
        for group in self._groups:
            yield from group.rules
            yield from group.procedure.closing

    def bucket(self, event: Event) -> Bucket:
        """Return the candidates by the key of an event, before filtering; see `candidates`."""
        key = self._key(event)
        found = self._buckets.get(key)
        if found is None:
            if len(self._buckets) >= MAX_BUCKETS:
                self._buckets.clear()
            found = self._buckets[key] = self._select(key)
        return found

    def candidates(self, event: Event) -> tuple[Candidates, ...]:
        """Return the rules that the event can match, in visiting order."""
        bucket = self.bucket(event)
        if not bucket.is_filtered:
            return bucket.groups
        hits = self._paths.hits(event)
        return tuple(self._filtered(group, event, hits) for group in bucket.groups)

    def _key(self, event: Event) -> Key:
        if isinstance(event, ToolBefore):
            return ToolBefore, None, event.round, self._names(event)
        if isinstance(event, ToolAfter):
            return ToolAfter, event.status, event.round, self._names(event)
        return event.__class__, None, event.round, ()

    def _names(self, event: ToolBefore | ToolAfter) -> tuple[str, ...]:
        """Return those names of the tool that rules mention."""
        if event.also:
            return tuple(sorted({event.tool, *event.also} & self._tools))
        return (event.tool,) if event.tool in self._tools else ()

    def _select(self, key: Key) -> Bucket:
        groups = []
        for group in self._groups:
            rules = tuple(rule for rule in group.rules if _can_match(rule, key))
            closing = tuple(rule for rule in group.procedure.closing if _can_match(rule, key))
            if rules or closing:
                by_key = _by_key(group.procedure, rules)
                families = _families(rules) if self.fast and not closing else ()
                groups.append(Candidates(group, rules, closing, by_key, families))
        chosen = [rule for found in groups for rule in (*found.rules, *found.closing)]
        looks_further = any(_needs_event_check(rule.filter) for rule in chosen)
        bucket = Bucket(
            tuple(groups),
            looks_further,
            writes=any(_writes(rule) for rule in chosen),
            has_limits=any(rule.limits is not NO_LIMITS or rule.gates for rule in chosen),
        )
        if self.fast and not looks_further:
            bucket.holding = compile_bucket(bucket.groups, key[0].kind)
        return bucket

    def _filtered(self, found: Candidates, event: Event, hits: list[frozenset[int]]) -> Candidates:
        def fits(rule: Rule) -> bool:
            return _fits(rule.filter, event) and self._paths.fits(rule, hits)

        rules, closing = tuple(filter(fits, found.rules)), tuple(filter(fits, found.closing))
        return Candidates(found.group, rules, closing, _by_key(found.group.procedure, rules))


def _order_groups(books: Sequence[Book]) -> list[OrderedGroup]:
    found: list[tuple[int, int, int, Group]] = [
        (group.visit, number, place, group)
        for number, book in enumerate(books)
        for place, group in enumerate(book.groups)
    ]
    found.sort(key=lambda entry: entry[:3])
    return [_order_group(books[number], number, group) for _, number, _, group in found]


def _order_group(book: Book, number: int, group: Group) -> OrderedGroup:
    name = uid_of(book.dialect, book.path, group.name)
    return OrderedGroup(name, book.dialect, number, group.procedure, order_rules(group))


def _can_match(rule: Rule, key: Key) -> bool:
    event_class, status, round_, tools = key
    if event_class.kind not in rule.on.kinds or status in NEVER_HAPPENED:
        return False
    if rule.on.status and status not in rule.on.status:
        return False
    if rule.on.rounds is Rounds.FIRST and round_ != 1:
        return False
    return not rule.filter.tools or any(name in rule.filter.tools for name in tools)


def _by_key(procedure: Procedure, rules: tuple[Rule, ...]) -> Mapping[str, tuple[Rule, ...]] | None:
    if procedure.line_key is None:
        return None
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for key in rule.filter.line_keys:
            found.setdefault(key, []).append(rule)
    return {key: tuple(own) for key, own in found.items()}


def _families(rules: tuple[Rule, ...]) -> tuple[tuple[Rule, ...], ...]:
    """Return the rules in their order, grouped by siblings. Empty if no rule has siblings."""
    if all(rule.siblings is None for rule in rules):
        return ()
    found: list[list[Rule]] = []
    for rule in rules:
        if found and rule.siblings is not None and rule.siblings is found[-1][0].siblings:
            found[-1].append(rule)
        else:
            found.append([rule])
    return tuple(map(tuple, found))


def _select_by_bits(groups: tuple[Candidates, ...], held: int) -> Iterator[Candidates]:
    for candidates in groups:
        rules = tuple(rule for at, rule in enumerate(candidates.rules) if held >> at & 1)
        if rules:
            yield Candidates(candidates.group, rules, ())
        held >>= len(candidates.rules)


def _writes(rule: Rule) -> bool:
    return any(maker.op in VARIABLE_OPS for maker in rule.plan.steps)


def _needs_event_check(filter_: Filter) -> bool:
    return bool(filter_.paths or filter_.changes or filter_.command_types)


def _fits(filter_: Filter, event: Event) -> bool:
    if filter_.changes and not (isinstance(event, File) and event.change in filter_.changes):
        return False
    if not filter_.command_types:
        return True
    message = event.message if isinstance(event, Bus) else None
    return isinstance(message, dict) and message.get("command_type") in filter_.command_types


class _PathFilters:
    """One index over the path patterns of all rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        numbers: dict[str, int] = {}
        self._of_rule: dict[int, frozenset[int]] = {}
        for rule in rules:
            if rule.filter.paths:
                chosen = {numbers.setdefault(text, len(numbers)) for text in rule.filter.paths}
                self._of_rule[id(rule)] = frozenset(chosen)
        patterns: list[Pattern] = [pattern(text) for text in numbers]
        self._index = PathIndex(patterns) if patterns else None

    def hits(self, event: Event) -> list[frozenset[int]]:
        """Return, for each set of paths of the event, which patterns match one of them."""
        if self._index is None:
            return []
        return [
            frozenset(hit for path in paths for hit in self._index.matching(path))
            for paths in _path_sets(event)
        ]

    def fits(self, rule: Rule, hits: list[frozenset[int]]) -> bool:
        wanted = self._of_rule.get(id(rule))
        return wanted is None or (bool(hits) and all(wanted & hit for hit in hits))


def _path_sets(event: Event) -> list[tuple[str, ...]]:
    """Return the sets of paths of an event: a pattern must match one path of each set.

    A rename matches by either of its names (LD-A05), a message only with all its targets (LD-A08).
    A path that names nothing in the repository matches no pattern.
    """
    if isinstance(event, File):
        names, literal = (event.path, event.old_path), event.facts.literal
        return [tuple(path for name in names for path in _normal_paths(name, literal=literal))]
    message = event.message if isinstance(event, Bus) else None
    targets = message.get("target_paths") if isinstance(message, dict) else None
    return [_normal_paths(target) for target in targets] if isinstance(targets, list) else []


def _normal_paths(path: object, *, literal: bool = False) -> tuple[str, ...]:
    found = normalise_event_path(path, literal=literal) if isinstance(path, str) else None
    return () if found is None else (found,)
