"""`trigger` and `guards` of a rule → their values, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.law.written import PHASES, Category, CommandType, TriggerKind
from bylaw.dialects.yaml import Sequence
from bylaw.expr.paths import pattern
from bylaw.model.approvals import NEEDED
from bylaw.model.codes import law as codes
from bylaw.model.errors import PatternError
from bylaw.model.rule import ApprovalMode
from bylaw.model.source import Span
from bylaw.model.vocabulary import Authority, Change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.yaml.fields import Fields
    from bylaw.dialects.yaml.nodes import Scalar

MATCH_KEYS = ("paths", "event_types", "command_types")
GUARD_KEYS = ("phase_in", "category_in", "require_lock", "approval")
# Keys that only the other kind of trigger may have (LD-043, LD-045, LD-A31).
_FOREIGN = {
    TriggerKind.FS_EVENT: ("command_types", "category_in", "approval"),
    TriggerKind.BUS_INPUT: ("event_types",),
}
_OTHER = {
    TriggerKind.FS_EVENT: TriggerKind.BUS_INPUT,
    TriggerKind.BUS_INPUT: TriggerKind.FS_EVENT,
}


class ReadTrigger(Struct, frozen=True):
    """The trigger of a rule. `kind` is None if it could not be read."""

    kind: TriggerKind | None = None
    paths: tuple[str, ...] = ()
    event_types: tuple[Change, ...] = ()
    command_types: tuple[CommandType, ...] = ()


class Guards(Struct, frozen=True):
    """The guards of a rule. `mode_place` is the place for findings about the approval mode."""

    phases: tuple[int, ...] = ()
    categories: tuple[Category, ...] = ()
    require_lock: bool = False
    mode: ApprovalMode = ApprovalMode.NONE
    authorities: tuple[Authority, ...] = ()
    mode_place: Span | None = None


def read_trigger(rule: Fields) -> ReadTrigger:
    """Read the trigger. Errors are added to the findings."""
    trigger = rule.mapping("trigger", "`trigger`")
    if trigger is None:
        return ReadTrigger()
    trigger.closed(("kind",), ("match",))
    kind = trigger.choice("kind", TriggerKind)
    match = trigger.mapping("match", "`match`")
    if match is None:
        return ReadTrigger(kind)
    match.closed((), MATCH_KEYS)
    _check_foreign(match, kind)
    for key in MATCH_KEYS:
        check_not_empty(match, key)
    return ReadTrigger(
        kind,
        tuple(dict.fromkeys(_paths(match))),
        match.choices("event_types", Change),
        match.choices("command_types", CommandType),
    )


def read_guards(rule: Fields, kind: TriggerKind | None) -> Guards:
    """Read the guards. Errors are added to the findings."""
    guards = rule.mapping("guards", "`guards`")
    if guards is None:
        return Guards()
    guards.closed((), GUARD_KEYS)
    _check_foreign(guards, kind)
    for key in ("phase_in", "category_in"):
        check_not_empty(guards, key)
    mode, authorities, place = _approval(guards)
    return Guards(
        guards.integers("phase_in", PHASES[0], PHASES[-1]),
        guards.choices("category_in", Category),
        bool(guards.flag("require_lock")),
        mode,
        authorities,
        place or (guards.span("category_in") if guards.has("category_in") else None),
    )


def check_not_empty(fields: Fields, key: str) -> None:
    """Report an empty list, because leaving out the key means any value (LD-A09)."""
    node = fields.node_of(key)
    if isinstance(node, Sequence) and not node.items:
        help_ = "list what the rule does" if key == "actions" else "delete the key to match any"
        headline = f"`{key}` is empty"
        fields.findings.refuse(codes.LAW_EMPTY_LIST, headline, node.span, help_)


def _check_foreign(fields: Fields, kind: TriggerKind | None) -> None:
    if kind is None:
        return
    for key in _FOREIGN[kind]:
        if fields.has(key):
            headline = f"`{key}` cannot be in a rule on `{kind}`"
            help_ = f"delete it; only `kind: {_OTHER[kind]}` has it"
            span = fields.key_span(key)
            fields.findings.refuse(codes.LAW_WRONG_TRIGGER, headline, span, help_)


def _paths(match: Fields) -> Iterator[str]:
    for node in match.texts("paths"):
        _check_pattern(match, node)
        yield str(node.value)


def _check_pattern(match: Fields, node: Scalar) -> None:
    try:
        made = pattern(str(node.value))
    except PatternError as wrong:
        match.findings.relocate(wrong.diagnostics, node)
        return
    for name in made.variables[:1]:
        written = f"{{{name}}}"
        at = made.text.index(written)
        span = match.findings.place(node, Span(at, at + len(written)))
        help_ = "write `*` within a name, `**/` for folders, `{js,ts}` for alternatives"
        headline = f"`{written}` is a variable, but `paths` cannot have variables"
        match.findings.refuse(codes.LAW_PATH_VARIABLE, headline, span, help_)


def _approval(guards: Fields) -> tuple[ApprovalMode, tuple[Authority, ...], Span | None]:
    approval = guards.mapping("approval", "`approval`")
    if approval is None:
        return ApprovalMode.NONE, (), None
    approval.closed(("mode",), ("authorities",))
    mode = approval.choice("mode", ApprovalMode)
    errors_before = approval.findings.errors
    authorities = approval.choices("authorities", Authority)
    needed = NEEDED.get(mode, 0) if mode else 0
    # A misspelled authority was already reported.
    if len(authorities) < needed and approval.findings.errors == errors_before:
        key = "authorities" if approval.has("authorities") else "mode"
        wanted = "two different authorities" if needed > 1 else "an authority"
        headline = f"`mode: {mode}` needs {wanted}"
        listed = ", ".join(Authority)
        help_ = f"write `authorities: [{listed}]`" + ("" if needed > 1 else ", or one of them")
        approval.findings.refuse(codes.LAW_AUTHORITIES, headline, approval.span(key), help_)
    return mode or ApprovalMode.NONE, authorities, approval.span("mode")
