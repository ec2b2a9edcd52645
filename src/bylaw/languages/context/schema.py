"""The YAML of blocks → their declarations, checked against the closed schemas of the language.

YAML errors get the error codes of the language (AC-A14).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.languages.context.blocks import LANGUAGE_SPEC, MODULE, YAML_TYPES
from bylaw.languages.context.declarations import (
    ArgumentKind,
    Assignment,
    CheckType,
    Command,
    Constraints,
    Enum,
    Module,
    Name,
    Parameter,
    Protocol,
    Response,
    Rule,
    State,
    Step,
    StepKind,
    Workflow,
)
from bylaw.languages.context.types import BUILT_IN, TypeTextError, parse_type
from bylaw.languages.yaml import YamlMapping, YamlSequence, load_yaml
from bylaw.model.codes import files as yaml_codes
from bylaw.model.codes.context import INVALID_YAML, PARSE_ERROR, SCHEMA_VIOLATION
from bylaw.model.display import brief
from bylaw.model.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.languages.context.blocks import Block, Phase
    from bylaw.languages.context.reader import Fields
    from bylaw.languages.yaml import Node
    from bylaw.model.codes import Code

# The keys of `enable`. Those in TEXT_KINDS are text blocks, which have no ids yet (AC-A30).
ENABLED_KINDS = ("responses", "workflows", "protocols")
TEXT_KINDS = ("guidelines", "checklists", "engineering")
DEFAULT = "default"  # a key of `STATE`: the only one whose value may contain a map
# The key that each check needs (AC-168).
CHECK_FIELDS = {
    CheckType.FORBID_TOOL: "tool",
    CheckType.REQUIRE_TOOL: "tool",
    CheckType.FORBID_BLOCK: "block_type",
    CheckType.REQUIRE_BLOCK: "block_type",
    CheckType.REQUIRE_RESPONSE_ID: "response_id",
}


def read_module(fields: Fields) -> Module | None:
    """Read the header of a module."""
    name = fields.symbol("name")
    fields.closed(("name", "description"))
    description = fields.text("description")
    return None if name is None else Module(name, description)


def read_enum(module: Module, fields: Fields) -> None:
    """Read an `[[ENUM]]` block."""
    name, values = fields.symbol("name"), fields.names("values")
    fields.closed(("name", "values"), ("description",))
    if name is not None and name.text in BUILT_IN:
        message = f"`{name.text}` is a built-in type"
        fields.phase.add(SCHEMA_VIOLATION, message, name.place, "rename the enum")
    if values is not None:
        _check_values(fields, values)
    if name is not None and values is not None:
        texts = tuple(value.text for value in values)
        module.enums.append(Enum(name, texts, fields.text("description")))


def _check_values(fields: Fields, values: tuple[Name, ...]) -> None:
    node = fields.node_of("values")
    if isinstance(node, YamlSequence) and not node.items:
        fields.wrong("an enum needs at least one value", node.span)
    seen: set[str] = set()
    for value in values:
        if value.text in seen:
            message = f"duplicate value `{brief(value.text)}`"
            fields.phase.add(SCHEMA_VIOLATION, message, value.place, "delete one of the two")
        seen.add(value.text)


def read_state(module: Module, fields: Fields) -> None:
    """Read a `[[STATE]]` block."""
    name = fields.symbol("name")
    fields.closed(("name", "type"), (DEFAULT,))
    type_ = _type(fields)
    if name is not None and type_ is not None:
        module.states.append(State(name, type_, fields.node_of(DEFAULT), fields.place()))


def _type(fields: Fields) -> Name | None:
    """Read a type and check its form. The references phase resolves the names in it."""
    name = fields.name("type")
    if name is None:
        return None
    try:
        parse_type(name.text)
    except TypeTextError as wrong:
        message = f"invalid type `{brief(name.text)}`: {wrong}"
        fields.phase.add(SCHEMA_VIOLATION, message, name.place)
        return None
    return name


def read_command(module: Module, fields: Fields) -> None:
    """Read a `[[COMMAND]]` block."""
    name = fields.symbol("name")
    fields.closed(("name",), ("description", "args", "reads_state", "writes_state", "effects"))
    kind, parameters = _signature(fields)
    enable, assignments = _effects(fields)
    command = Command(
        name or Name("", fields.place()),
        fields.text("description"),
        kind,
        parameters,
        fields.names("reads_state"),
        fields.names("writes_state"),
        enable,
        assignments,
    )
    if name is not None:
        module.commands.append(command)


def _signature(fields: Fields) -> tuple[ArgumentKind, tuple[Parameter, ...]]:
    args = fields.mapping("args")
    if args is None:
        return ArgumentKind.POSITIONAL, ()
    args.closed(("kind",), ("positional", "named"))
    written = args.choice("kind", [kind.value for kind in ArgumentKind])
    kind = ArgumentKind(written) if written else ArgumentKind.POSITIONAL
    for other in ArgumentKind:
        if written and other is not kind and args.has(other.value):
            node = args.node_of(other.value)
            message = f"unexpected list `{other}` for arguments of kind `{kind}`"
            args.wrong(message, node.span if node else None)
    return kind, tuple(_parameters(args, kind.value))


def _parameters(args: Fields, key: str) -> Iterator[Parameter]:
    seen: set[str] = set()
    for item in args.mappings(key):
        item.closed(("name", "type"))
        name, type_ = item.symbol("name"), _type(item)
        if name is None or type_ is None:
            continue
        reserved = name.text == "state" or (name.text[:3] == "arg" and name.text[3:].isdigit())
        if reserved or name.text in seen:
            why = "is reserved" if reserved else "is used twice"
            message = f"the argument name `{name.text}` {why}"
            args.phase.add(SCHEMA_VIOLATION, message, name.place, "rename the argument")
        seen.add(name.text)
        yield Parameter(name, type_)


def _effects(fields: Fields) -> tuple[dict[str, tuple[Name, ...]], tuple[Assignment, ...]]:
    effects = fields.mapping("effects")
    if effects is None:
        return {}, ()
    effects.closed((), ("enable", "set_state"))
    enable: dict[str, tuple[Name, ...]] = {}
    lists = effects.mapping("enable")
    if lists is not None:
        lists.closed((), (*ENABLED_KINDS, *TEXT_KINDS))
        for kind in (*ENABLED_KINDS, *TEXT_KINDS):
            enable[kind] = lists.names(kind) or ()
    return enable, tuple(_assignments(effects))


def _assignments(effects: Fields) -> Iterator[Assignment]:
    for item in effects.mappings("set_state"):
        item.closed(("name", "value"))
        name, value = item.name("name"), item.node_of("value")
        if name is not None and value is not None:
            yield Assignment(name, value, item.place(value.span))


def read_responses(module: Module, fields: Fields) -> None:
    """Read a `[[RESPONSE]]` block."""
    fields.closed(("responses",))
    for item in fields.mappings("responses"):
        name = item.symbol("id")
        item.closed(("id",), ("description", "constraints"))
        constraints = item.mapping("constraints")
        limits = Constraints() if constraints is None else _constraints(constraints)
        if name is not None:
            module.responses.append(Response(name, item.text("description"), limits))


def _constraints(fields: Fields) -> Constraints:
    """Read constraints: only those in the example of the language document (AC-A28)."""
    fields.closed((), ("structure", "must_include", "formatting"))
    structure, formatting = fields.mapping("structure"), fields.mapping("formatting")
    if structure is not None:
        structure.closed((), ("sections",))
    if formatting is not None:
        formatting.closed((), ("allow_code_blocks", "forbid_tables"))
    sections = structure.names("sections") if structure is not None else None
    return Constraints(
        sections=tuple(name.text for name in sections or ()),
        must_include=tuple(name.text for name in fields.names("must_include") or ()),
        allow_code_blocks=formatting is None or formatting.flag("allow_code_blocks", True),
        forbid_tables=formatting is not None and formatting.flag("forbid_tables", False),
    )


def read_workflows(module: Module, fields: Fields) -> None:
    """Read a `[[WORKFLOW]]` block."""
    fields.closed(("workflows",))
    for item in fields.mappings("workflows"):
        name = item.symbol("id")
        item.closed(("id", "steps"), ("description",))
        steps = tuple(_steps(item))
        if name is not None:
            module.workflows.append(Workflow(name, steps, item.text("description")))


def _steps(item: Fields) -> Iterator[Step]:
    for step in item.mappings("steps"):
        step.closed(("kind",), ("ref",))
        kind = step.choice("kind", [one.value for one in StepKind])
        ref = step.name("ref")
        if kind:
            needs_ref = kind in (StepKind.EMIT_RESPONSE, StepKind.ENFORCE_PROTOCOL)
            if needs_ref and not step.has("ref"):
                step.wrong(f"missing key `ref` in a step of kind `{kind}`", None)
            yield Step(StepKind(kind), ref, step.place())


def read_protocols(module: Module, fields: Fields) -> None:
    """Read a `[[PROTOCOL]]` block."""
    fields.closed(("protocols",))
    for item in fields.mappings("protocols"):
        name = item.symbol("id")
        item.closed(("id", "rules"), ("description",))
        rules = tuple(_rules(item))
        if name is not None:
            module.protocols.append(Protocol(name, rules, item.text("description")))


def _rules(item: Fields) -> Iterator[Rule]:
    for rule in item.mappings("rules"):
        protocol, rule.id = rule.id, ""
        name = rule.symbol("id")
        rule.id = f"{protocol}.{rule.id}" if rule.id else protocol
        rule.closed(("id", "check"))
        check = rule.mapping("check")
        if name is None or check is None:
            continue
        name = Name(name.text, rule.place(name.place.span))
        type_, about = _check(check)
        if about is not None:
            yield Rule(name, type_, about)


def _check(fields: Fields) -> tuple[CheckType | None, Name | None]:
    """Return the check type (None for a preset) and the subject of the check."""
    if fields.has("preset") and fields.has("type"):
        fields.wrong("a check cannot have both `type` and `preset`", None, "delete one of them")
        return None, None
    if fields.has("preset"):
        return None, fields.closed(("preset",)).name("preset")
    if not fields.has("type"):
        fields.wrong("missing key `type` or `preset` in a check", None)
    written = fields.choice("type", [one.value for one in CheckType])
    if not written:
        return None, None
    type_ = CheckType(written)
    needed = CHECK_FIELDS[type_]
    return type_, fields.closed(("type", needed)).name(needed)


READERS: dict[str, Callable[[Module, Fields], None]] = {
    "ENUM": read_enum,
    "STATE": read_state,
    "COMMAND": read_command,
    "RESPONSE": read_responses,
    "WORKFLOW": read_workflows,
    "PROTOCOL": read_protocols,
}


MAX_BODY = 100_000  # characters: more than any real block has, and longer YAML parses slowly
_CODES: dict[str, Code] = {
    **dict.fromkeys(
        (
            yaml_codes.YAML_ANCHOR.name,
            yaml_codes.YAML_ALIAS.name,
            yaml_codes.YAML_TAG.name,
            yaml_codes.YAML_MERGE_KEY.name,
            yaml_codes.YAML_DIRECTIVE.name,
            yaml_codes.YAML_COMPLEX_KEY.name,
        ),
        INVALID_YAML,
    ),
    yaml_codes.YAML_DUPLICATE_KEY.name: SCHEMA_VIOLATION,
    yaml_codes.YAML_NUMBER.name: SCHEMA_VIOLATION,
}


def read_body(block: Block, yaml_phase: Phase, schema_phase: Phase) -> Node | None:
    """Return the YAML of a block; None for a text block, or after adding an error to a phase."""
    if block.type not in YAML_TYPES:
        return None
    span = block.header if block.type == MODULE else block.body
    if span.end - span.start > MAX_BODY:
        message = f"the body of the block is longer than {MAX_BODY:,} characters"
        yaml_phase.add(PARSE_ERROR, message, block.place(), "split it into several blocks")
        return None
    try:
        node = load_yaml(block.source, span)
    except LoadError as refused:
        for finding in refused.diagnostics:
            code = _CODES.get(finding.code, PARSE_ERROR)
            phase = schema_phase if code is SCHEMA_VIOLATION else yaml_phase
            # An empty body has no line to underline, so underline the marker.
            place = block.place(finding.span if finding.span.end > finding.span.start else None)
            phase.add(code, finding.headline, place, finding.help)
        return None
    if block.type != LANGUAGE_SPEC:
        _check_keys(node, block, yaml_phase)
    return node


def _check_keys(node: Node, block: Block, phase: Phase) -> None:
    """Check that keys are texts. The type check handles keys inside a default (AC-078)."""
    if isinstance(node, YamlSequence):
        for item in node.items:
            _check_keys(item, block, phase)
    elif isinstance(node, YamlMapping):
        for pair in node.pairs:
            if not isinstance(pair.key.value, str):
                written = brief(block.source.slice(pair.key.span))
                place = block.place(pair.key.span)
                phase.add(INVALID_YAML, f"key `{written}` is not a text", place, "put it in quotes")
            if pair.key.value != DEFAULT:
                _check_keys(pair.value, block, phase)
