"""The text of a RULE_DSL file → its rules as written, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.law.action_reader import read_actions
from bylaw.dialects.law.names import VERSION
from bylaw.dialects.law.parts_reader import check_not_empty, read_guards, read_trigger
from bylaw.dialects.law.rule_checks import check_approval, check_rule
from bylaw.dialects.law.written import ReleaseLock, WriteBus, WrittenRule
from bylaw.dialects.yaml import Mapping, Scalar, Sequence, load_yaml
from bylaw.dialects.yaml.fields import FieldCodes, Fields, Findings
from bylaw.model.codes import law as codes
from bylaw.model.errors import LoadError
from bylaw.model.visible import brief, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.law.action_reader import ReadAction
    from bylaw.dialects.law.parts_reader import Guards, ReadTrigger
    from bylaw.dialects.yaml import Node
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile

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


def read_rules(source: SourceFile) -> tuple[list[WrittenRule], list[Diagnostic]]:
    """Return the rules without errors, and the findings about the file."""
    try:
        root = load_yaml(source)
    except LoadError as refused:
        return [], refused.diagnostics
    findings = Findings(source, FIELD_CODES)
    rules = [rule for rule in _rules_of(root, findings) if rule is not None]
    return rules, findings.told()


def _rules_of(root: Node, findings: Findings) -> Iterator[WrittenRule | None]:
    """Read the file: either `dsl_version` and `rules`, or the keys of one rule (LD-A35)."""
    if not isinstance(root, Mapping):
        headline = "a RULE_DSL file must contain keys and values"
        help_ = f'write `{VERSION_KEY}: "{VERSION}"`, and the rules below `{RULES_KEY}:`'
        first = root.items[0] if isinstance(root, Sequence) and root.items else root
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
    value = node.value if isinstance(node, Scalar) else None
    if node is None or value == VERSION:
        return
    headline = f"`{VERSION_KEY}` must be a text"
    if isinstance(value, float | int):
        headline = f"`{VERSION_KEY}` is not a text: quote it"
    elif isinstance(value, str):
        headline = f"unsupported language version `{brief(value)}`"
    help_ = f'write `{VERSION_KEY}: "{VERSION}"`'
    file.findings.refuse(codes.LAW_VERSION, headline, file.span(VERSION_KEY), help_)


def _rule(fields: Fields, optional: tuple[str, ...]) -> WrittenRule | None:
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
    return _written(
        fields,
        rule_id,
        priority,
        trigger,
        guards,
        actions=actions,
        after_error=after_error,
        goes_on=goes_on,
    )


def _written(
    fields: Fields,
    rule_id: str,
    priority: int,
    trigger: ReadTrigger,
    guards: Guards,
    *,
    actions: list[ReadAction],
    after_error: list[ReadAction],
    goes_on: bool,
) -> WrittenRule:
    assert trigger.kind is not None, "checked by the caller"
    source, span = fields.findings.source, fields.node.span
    begin = source.position(span.start)
    tell_or_release = [one.made for one in after_error]
    return WrittenRule(
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
