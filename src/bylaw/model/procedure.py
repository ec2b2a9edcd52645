"""How rules are read together. A book has groups, and each group has a procedure, which is data."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.rule import ReasonMaker, Rule


class SortKey(StrEnum):
    """What orders the rules of a group. Later keys order rules that are equal in earlier ones."""

    RANK = "rank"
    PRIORITY_ASCENDING = "priority ascending"
    PRIORITY_DESCENDING = "priority descending"
    FILE = "file"
    SOURCE = "source"
    ID = "id"


class Flow(StrEnum):
    """How many rules of a group can fire."""

    ALL = "all"
    UNTIL_LAST = "all until `last`"
    FIRST = "first unless `continue`"


class Writes(StrEnum):
    """When a variable that a rule writes can be read."""

    IN_ORDER = "in order"
    TOGETHER = "together, from the values before"


class GuardFault(StrEnum):
    """What happens when a guard fails."""

    DENY = "deny"
    SKIP_WITH_NOTE = "skip + note, deny where the rule denies"
    SKIP = "skip + record"
    HALT = "halt"
    NOT_SATISFIED = "not satisfied"


class StepFault(StrEnum):
    """What happens when a step fails."""

    DROP_REST_WITH_NOTE = "drop_rest + developer message"
    RECORD = "record"
    HALT = "halt"
    ON_ERROR = "on_error, ends the group"
    MARK_ENTRY = "mark_entry"


class Procedure(Struct, frozen=True, kw_only=True):
    """How a group is read. None means no limit.

    With `split_lines`, a text is read line by line. `line_key` then returns the key under which the
    rules of a line are found, see `Filter.line_keys`. `closing` are built-in rules that are checked
    after the group and can use its results. `fault_reason` makes the reason of a rule whose guard
    failed. `fault_note` and `step_note` are built-in rules whose steps report a failed guard or
    step; their match has `rule`, `code` and `error`.
    """

    order: tuple[SortKey, ...]
    flow: Flow
    guard_error: GuardFault
    failed_step: StepFault
    writes: Writes = Writes.IN_ORDER
    budget: int | None = None
    call_budget: int | None = None
    split_lines: bool = False
    line_key: Callable[[str], str] | None = None
    quiet_after_deny: bool = False
    closing: tuple[Rule, ...] = ()
    fault_reason: ReasonMaker | None = None
    fault_note: Rule | None = None
    step_note: Rule | None = None


class Group(Struct, frozen=True):
    """Rules that are ordered together. `visit` orders the groups of all books."""

    name: str
    visit: int
    procedure: Procedure
    rules: tuple[Rule, ...]


class Book(Struct, frozen=True, kw_only=True):
    """One ChatMD file, or all active files of one other language.

    `path` is the file. For several files it is their folder or the first of them, and `digest`
    covers all of them.
    """

    dialect: str
    path: str
    files: tuple[str, ...]
    digest: str
    groups: tuple[Group, ...]
