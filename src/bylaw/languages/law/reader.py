"""The text of a RULE_DSL file → its rules as written, and findings.

Some findings concern a combination of parts, such as an action that its trigger does not allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.law.action_reader import ON_ERROR_ACTIONS, ActionType, read_actions
from bylaw.languages.law.syntax import (
    APPROVAL_CATEGORIES,
    MODES_WITHOUT_APPROVAL,
    PHASES,
    VERSION,
    Category,
    CommandType,
    ReleaseLock,
    RuleSyntax,
    RunCommand,
    TriggerKind,
    WriteBus,
)
from bylaw.languages.yaml import YamlMapping, YamlScalar, YamlSequence, load_yaml
from bylaw.languages.yaml_fields import FieldCodes, Fields, YamlFindings
from bylaw.model.codes import law as codes
from bylaw.model.display import brief, visible
from bylaw.model.errors import LoadError, PatternError
from bylaw.model.rule import APPROVALS_NEEDED, ApprovalMode
from bylaw.model.source import Span
from bylaw.model.vocabulary import Authority, Change
from bylaw.paths import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.languages.law.action_reader import ActionReadResult
    from bylaw.languages.yaml import Node
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile

MATCH_KEYS = ("paths", "event_types", "command_types")
GUARD_KEYS = ("phase_in", "category_in", "require_lock", "approval")
# Keys that only the other kind of trigger may have (LD-043, LD-045, LD-A31).
_FOREIGN_KEYS = {
    TriggerKind.FS_EVENT: ("command_types", "category_in", "approval"),
    TriggerKind.BUS_INPUT: ("event_types",),
}
_OTHER_KIND = {
    TriggerKind.FS_EVENT: TriggerKind.BUS_INPUT,
    TriggerKind.BUS_INPUT: TriggerKind.FS_EVENT,
}


class TriggerReadResult(Struct, frozen=True):
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


def read_trigger(rule: Fields) -> TriggerReadResult:
    """Read the trigger. Errors are added to the findings."""
    trigger = rule.mapping("trigger", "`trigger`")
    if trigger is None:
        return TriggerReadResult()
    trigger.closed(("kind",), ("match",))
    kind = trigger.choice("kind", TriggerKind)
    match = trigger.mapping("match", "`match`")
    if match is None:
        return TriggerReadResult(kind)
    match.closed((), MATCH_KEYS)
    _check_foreign(match, kind)
    for key in MATCH_KEYS:
        check_not_empty(match, key)
    return TriggerReadResult(
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
    if isinstance(node, YamlSequence) and not node.items:
        help_ = "list what the rule does" if key == "actions" else "delete the key to match any"
        headline = f"`{key}` is empty"
        fields.findings.refuse(codes.LAW_EMPTY_LIST, headline, node.span, help_)


def _check_foreign(fields: Fields, kind: TriggerKind | None) -> None:
    if kind is None:
        return
    for key in _FOREIGN_KEYS[kind]:
        if fields.has(key):
            headline = f"`{key}` cannot be in a rule on `{kind}`"
            help_ = f"delete it; only `kind: {_OTHER_KIND[kind]}` has it"
            span = fields.key_span(key)
            fields.findings.refuse(codes.LAW_WRONG_TRIGGER, headline, span, help_)


def _paths(match: Fields) -> Iterator[str]:
    for node in match.texts("paths"):
        _check_pattern(match, node)
        yield str(node.value)


def _check_pattern(match: Fields, node: YamlScalar) -> None:
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
    needed = APPROVALS_NEEDED.get(mode, 0) if mode else 0
    # A misspelled authority was already reported.
    if len(authorities) < needed and approval.findings.errors == errors_before:
        key = "authorities" if approval.has("authorities") else "mode"
        wanted = "two different authorities" if needed > 1 else "an authority"
        headline = f"`mode: {mode}` needs {wanted}"
        listed = ", ".join(Authority)
        help_ = f"write `authorities: [{listed}]`" + ("" if needed > 1 else ", or one of them")
        approval.findings.refuse(codes.LAW_AUTHORITIES, headline, approval.span(key), help_)
    return mode or ApprovalMode.NONE, authorities, approval.span("mode")


_RUN_CATEGORIES = frozenset({*APPROVAL_CATEGORIES, Category.D})


def check_rule(
    rule: Fields,
    trigger: TriggerReadResult,
    guards: Guards,
    actions: Sequence[ActionReadResult],
    after_error: Sequence[ActionReadResult],
) -> None:
    """Report parts of a rule that cannot be combined."""
    _check_after_error(rule, after_error)
    _check_lock_first(rule, guards, actions)
    if CommandType.APPROVAL_REQUEST in trigger.command_types:
        _check_only_evidence(rule, (*actions, *after_error))
    _check_run_of_message(rule, trigger, guards, actions)


def _check_after_error(rule: Fields, after_error: Sequence[ActionReadResult]) -> None:
    """LD-A27: actions after a failure cannot start anything."""
    for action in after_error:
        if action.type not in ON_ERROR_ACTIONS:
            headline = f"`{action.type}` cannot be in `on_error`"
            help_ = "use only `write_bus` and `release_lock`"
            rule.findings.refuse(codes.LAW_MISPLACED_ACTION, headline, action.place, help_)


def _check_lock_first(rule: Fields, guards: Guards, actions: Sequence[ActionReadResult]) -> None:
    """LD-A24: without the lock as first action, `require_lock` would have no effect."""
    if guards.require_lock and actions and actions[0].type is not ActionType.TAKE_LOCK:
        headline = "the rule requires a lock, but does not take one first"
        help_ = "begin with `write_processing_lock`, or write `require_lock: false`"
        rule.findings.refuse(codes.LAW_LOCK_FIRST, headline, actions[0].place, help_)


def _check_only_evidence(rule: Fields, actions: Iterable[ActionReadResult]) -> None:
    """LD-A16: an approval request must not start anything or cause another request."""
    for action in actions:
        if action.type is not ActionType.WRITE_BUS:
            headline = f"a rule on `approval_request` cannot have a `{action.type}`"
            help_ = "use only `write_bus`, or remove `approval_request` from `command_types`"
            rule.findings.refuse(codes.LAW_MISPLACED_ACTION, headline, action.place, help_)


def _check_run_of_message(
    rule: Fields, trigger: TriggerReadResult, guards: Guards, actions: Sequence[ActionReadResult]
) -> None:
    """LD-A18: the commands of a message must not run without approval."""
    limited = guards.categories and _RUN_CATEGORIES.issuperset(guards.categories)
    for action in actions:
        if not (isinstance(action.made, RunCommand) and action.made.of_message):
            continue
        if trigger.kind is TriggerKind.FS_EVENT:
            headline, help_ = "a file event has no commands to run", "write the full command"
            span = action.fields.span("cmd")
            rule.findings.refuse(codes.LAW_INTERPOLATION, headline, span, help_)
        elif not limited:
            headline = "`{{run}}` needs a `category_in` of B, C or D only"
            help_ = "write `category_in: [B]` with an approval: a message could claim category A"
            span = action.fields.span("cmd")
            rule.findings.refuse(codes.LAW_RUN_CATEGORY, headline, span, help_)


def check_approval(
    rule: Fields, trigger: TriggerReadResult, guards: Guards, actions: Sequence[ActionReadResult]
) -> None:
    """Warn about a rule that runs commands for B or C without approval.

    It is not an error, because such messages are held (LD-069).
    """
    runs = any(action.type is ActionType.RUN for action in actions)
    if (
        not runs
        or trigger.kind is not TriggerKind.BUS_INPUT
        or guards.mode not in MODES_WITHOUT_APPROVAL
    ):
        return
    admitted = guards.categories or tuple(Category)
    held = [one for one in APPROVAL_CATEGORIES if one in admitted]
    if held:
        listed = " and ".join(held)
        headline = f"messages of category {listed} need approval: without it they are held here"
        help_ = f"write `mode: single` with `authorities`, or a `category_in` without {listed}"
        span = guards.mode_place or rule.span("rule_id")
        rule.findings.warn(codes.LAW_APPROVAL_NEEDED, headline, span, help_)


MAX_RULE_ID = 200
_MAX_INT = 2**63
FIELD_CODES = FieldCodes(
    unknown_key=codes.LAW_UNKNOWN_KEY,
    missing_key=codes.LAW_MISSING_KEY,
    wrong_value=codes.LAW_WRONG_VALUE,
    not_a_choice=codes.LAW_NOT_A_CHOICE,
)
VERSION_KEY = "dsl_version"
RULES_KEY = "rules"
REQUIRED_KEYS = ("rule_id", "priority", "trigger", "actions")
OPTIONAL_KEYS = ("guards", "on_error", "continue")


def read_rules(source: SourceFile) -> tuple[list[RuleSyntax], list[Diagnostic]]:
    """Return the rules without errors, and the findings about the file."""
    try:
        root = load_yaml(source)
    except LoadError as refused:
        return [], refused.diagnostics
    findings = YamlFindings(source, FIELD_CODES)
    rules = [rule for rule in _rules_of(root, findings) if rule is not None]
    return rules, findings.told()


def _rules_of(root: Node, findings: YamlFindings) -> Iterator[RuleSyntax | None]:
    """Read the file: either `dsl_version` and `rules`, or the keys of one rule (LD-A35)."""
    if not isinstance(root, YamlMapping):
        headline = "a RULE_DSL file must contain keys and values"
        help_ = f'write `{VERSION_KEY}: "{VERSION}"`, and the rules below `{RULES_KEY}:`'
        first = root.items[0] if isinstance(root, YamlSequence) and root.items else root
        findings.refuse(codes.LAW_WRONG_VALUE, headline, first.span, help_)
        return
    file = Fields(root, "the RULE_DSL file", findings)
    _check_version(file)
    if not file.has(RULES_KEY) and any(map(file.has, (*REQUIRED_KEYS, *OPTIONAL_KEYS))):
        file.what = "the rule"
        yield _rule(file, (*OPTIONAL_KEYS, VERSION_KEY))
        return
    file.closed((VERSION_KEY, RULES_KEY))
    for rule in file.mappings(RULES_KEY, "the rule"):
        yield _rule(rule, OPTIONAL_KEYS)


def _check_version(file: Fields) -> None:
    node = file.node_of(VERSION_KEY)
    value = node.value if isinstance(node, YamlScalar) else None
    if node is None or value == VERSION:
        return
    headline = f"`{VERSION_KEY}` must be a text"
    if isinstance(value, float | int):
        headline = f"`{VERSION_KEY}` is not a text: quote it"
    elif isinstance(value, str):
        headline = f"unsupported language version `{brief(value)}`"
    help_ = f'write `{VERSION_KEY}: "{VERSION}"`'
    file.findings.refuse(codes.LAW_VERSION, headline, file.span(VERSION_KEY), help_)


def _rule(fields: Fields, optional: tuple[str, ...]) -> RuleSyntax | None:
    """Read one rule; return None if it has errors."""
    errors_before = fields.findings.errors
    rule_id = _rule_id(fields)
    fields.closed(REQUIRED_KEYS, optional)
    priority = fields.integer("priority", -_MAX_INT, _MAX_INT - 1)
    trigger = read_trigger(fields)
    guards = read_guards(fields, trigger.kind)
    check_not_empty(fields, "actions")
    actions = list(read_actions(fields, "actions", trigger.kind))
    after_error = list(read_actions(fields, "on_error", trigger.kind))
    goes_on = bool(fields.flag("continue"))
    check_rule(fields, trigger, guards, actions, after_error)
    if fields.findings.errors > errors_before:
        return None
    assert priority is not None, "checked above"
    check_approval(fields, trigger, guards, actions)
    return _rule_syntax(
        fields,
        rule_id,
        priority,
        trigger,
        guards,
        actions=actions,
        after_error=after_error,
        goes_on=goes_on,
    )


def _rule_syntax(
    fields: Fields,
    rule_id: str,
    priority: int,
    trigger: TriggerReadResult,
    guards: Guards,
    *,
    actions: list[ActionReadResult],
    after_error: list[ActionReadResult],
    goes_on: bool,
) -> RuleSyntax:
    assert trigger.kind is not None, "checked by the caller"
    source, span = fields.findings.source, fields.node.span
    begin = source.position(span.start)
    tell_or_release = [one.made for one in after_error]
    return RuleSyntax(
        rule_id=rule_id,
        priority=priority,
        kind=trigger.kind,
        line=begin.line,
        column=begin.column,
        last_line=source.position(max(span.start, span.end - 1)).line,
        paths=trigger.paths,
        event_types=trigger.event_types,
        command_types=trigger.command_types,
        phases=guards.phases,
        categories=guards.categories,
        require_lock=guards.require_lock,
        mode=guards.mode,
        authorities=guards.authorities,
        actions=tuple(one.made for one in actions if one.made),
        on_error=tuple(one for one in tell_or_release if isinstance(one, WriteBus | ReleaseLock)),
        goes_on=goes_on,
        id_span=fields.span("rule_id"),
    )


def _rule_id(fields: Fields) -> str:
    text = fields.text("rule_id")
    if text is None:
        return ""
    fields.start = fields.span("rule_id")
    fields.what = f"the rule `{brief(text)}`" if text else fields.what
    if not text.strip() or len(text) > MAX_RULE_ID or visible(text) != text:
        headline = "the `rule_id` is empty" if not text.strip() else "invalid `rule_id`"
        help_ = f"write 1 to {MAX_RULE_ID} visible characters, such as `R-LINT`"
        fields.findings.refuse(codes.LAW_RULE_ID, headline, fields.span("rule_id"), help_)
    return text
