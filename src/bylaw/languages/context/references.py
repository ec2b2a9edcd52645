"""Declarations of all modules → symbols with resolved references (AC-A16: references).

No order of modules or files affects how a reference resolves (AC-A17).
"""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from bylaw.languages.context.declarations import (
    PRESETS,
    ArgumentKind,
    Check,
    CheckType,
    Name,
    ParameterForm,
    ProtocolForm,
    ResponseForm,
    RuleForm,
    StepKind,
    WorkflowForm,
)
from bylaw.languages.context.schema import ENABLED_KINDS, TEXT_KINDS
from bylaw.languages.context.types import (
    BUILT_IN,
    MAX_LISTED,
    ArgumentRef,
    EnumType,
    Literal,
    StateRef,
    ValueTextError,
    parse_type,
    read_value,
    references,
    resolve_type,
)
from bylaw.languages.yaml import YamlScalar
from bylaw.model.codes.context import AMBIGUOUS_ID, REFERENCE_ERROR, SCHEMA_VIOLATION, UNKNOWN_ID
from bylaw.model.display import brief
from bylaw.model.suggest import suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.languages.context.blocks import Phase
    from bylaw.languages.context.declarations import (
        Assignment,
        Command,
        Enum,
        Module,
        Protocol,
        Response,
        Rule,
        State,
        Step,
        Workflow,
    )
    from bylaw.languages.context.types import Type, TypeText, Value
    from bylaw.model.codes import Code

T = TypeVar("T")
MAX_HINTED = 3
# An unknown name and the known ones → the nearest known name, or an empty text.
Near: TypeAlias = "Callable[[str, Iterable[str]], str]"


def _no_suggestion(wrong: str, known: Iterable[str]) -> str:  # noqa: ARG001 - signature of `Near`
    return ""


class SymbolKind(StrEnum):
    """The kinds of things that a reference can name."""

    ENUM = "enum"
    STATE = "state"
    COMMAND = "command"
    RESPONSE = "response"
    WORKFLOW = "workflow"
    PROTOCOL = "protocol"


class Symbol(Struct, Generic[T], frozen=True):
    """A declaration with its name and module."""

    module: str
    name: str
    what: T

    @property
    def qualified(self) -> str:
        """`module.name`."""
        return f"{self.module}.{self.name}"


class ResolutionFailure(Struct, frozen=True):
    """Why a reference cannot be resolved: code, message, hint and candidates."""

    code: Code
    message: str
    hint: str = ""
    candidates: tuple[str, ...] = ()


class Table(Generic[T]):
    """All symbols of one kind."""

    def __init__(self, kind: SymbolKind, symbols: Iterable[Symbol[T]]) -> None:
        self.kind = kind
        self.by_qualified: dict[str, Symbol[T]] = {}
        self._by_name: dict[str, list[Symbol[T]]] = {}
        for symbol in symbols:
            self.by_qualified[symbol.qualified] = symbol
            self._by_name.setdefault(symbol.name, []).append(symbol)

    def find(
        self, reference: str, module: str = "", near: Near = _no_suggestion, what: str = ""
    ) -> Symbol[T] | ResolutionFailure:
        """Resolve a reference inside a module or, without a module, in a call.

        `near` suggests a known name for an unknown one. This takes time, so the default is none.
        `what` names the thing in messages; without it, the kind does.
        """
        what = what or self.kind
        known = self.by_qualified if "." in reference else self._by_name
        if reference not in known:
            message = f"unknown {what} `{brief(reference)}`"
            return ResolutionFailure(UNKNOWN_ID, message, suggest_name(near(reference, known)))
        if "." in reference:
            return self.by_qualified[reference]
        same = self._by_name[reference]
        if module and all(symbol.module != module for symbol in same):
            message = f"{what} `{brief(reference)}` is defined in another module"
            return ResolutionFailure(REFERENCE_ERROR, message, _candidates_hint(_candidates(same)))
        if len(same) > 1:
            message = f"{what} `{brief(reference)}` is defined in several modules"
            candidates = _candidates(same)
            return ResolutionFailure(
                AMBIGUOUS_ID, message, _candidates_hint(candidates), candidates
            )
        return same[0]

    def resolve(
        self, name: Name, module: str, phase: Phase, what: str = "", built_in: Sequence[str] = ()
    ) -> Symbol[T] | None:
        """Resolve a reference as `find` does; report a failure at the place of the reference.

        `what` names the thing in messages; without it, the kind does. `built_in` are more known
        names to suggest.
        """

        def near(wrong: str, known: Iterable[str]) -> str:
            return phase.nearest(wrong, chain(known, built_in))

        found = self.find(name.text, module, near, what)
        if isinstance(found, Symbol):
            return found
        phase.add(found.code, found.message, name.place, found.hint, found.candidates)
        return None


def _candidates(symbols: Iterable[Symbol[T]]) -> tuple[str, ...]:
    """Sort the names, so that the order of modules and files does not matter (AC-103)."""
    return tuple(sorted(symbol.qualified for symbol in symbols))


def _candidates_hint(candidates: tuple[str, ...]) -> str:
    shown = " or ".join(f"`{name}`" for name in candidates[:MAX_HINTED])
    return f"write {shown}" + (" …" if len(candidates) > MAX_HINTED else "")


ContentT = TypeVar("ContentT")


class LinkedState(Struct, frozen=True):
    """A variable with its resolved type."""

    state: State
    type: Type


class LinkedAssignment(Struct, frozen=True):
    """An assignment with its resolved variable and references."""

    written: Assignment
    target: Symbol[LinkedState]
    value: Value | None


class LinkedCommand(Struct, frozen=True):
    """A command with resolved references. Its lists hold qualified names."""

    command: Command
    module: str
    parameters: tuple[ParameterForm, ...]
    reads: tuple[str, ...] | None
    writes: tuple[str, ...] | None
    enabled: dict[str, tuple[str, ...]]
    settings: tuple[LinkedAssignment, ...]


class LinkedDocument:
    """All symbols of all modules. References that fail are reported and left out."""

    def __init__(self, modules: Sequence[Module], phase: Phase) -> None:
        self._phase = phase
        enums = [(module, one) for module in modules for one in module.enums]
        self.enums = Table(SymbolKind.ENUM, (_enum(*one) for one in enums))
        states = [(module, one) for module in modules for one in module.states]
        self.states = Table(SymbolKind.STATE, _without_missing(self._state(*one) for one in states))
        responses = [(module, one) for module in modules for one in module.responses]
        self.responses = Table(SymbolKind.RESPONSE, (_response(*one) for one in responses))
        protocols = [(module, one) for module in modules for one in module.protocols]
        self.protocols = Table(SymbolKind.PROTOCOL, [self._protocol(*one) for one in protocols])
        workflows = [(module, one) for module in modules for one in module.workflows]
        self.workflows = Table(SymbolKind.WORKFLOW, [self._workflow(*one) for one in workflows])
        commands = [(module, one) for module in modules for one in module.commands]
        self.commands = Table(SymbolKind.COMMAND, [self._command(*one) for one in commands])

    def _type(self, name: Name, module: str) -> Type | None:
        """Resolve the type that a text names. The schema phase has checked its form."""

        def enum(written: TypeText) -> EnumType | None:
            wanted = Name(written.name, name.place)
            found = self.enums.resolve(wanted, module, self._phase, "type", BUILT_IN)
            if found is None or not written.of:
                return None if found is None else found.what
            message = f"`{brief(written.name)}` cannot contain other types"
            self._phase.add(SCHEMA_VIOLATION, message, name.place)
            return None

        return resolve_type(parse_type(name.text), enum)

    def _state(self, module: Module, state: State) -> Symbol[LinkedState] | None:
        type_ = self._type(state.type, module.name.text)
        if type_ is None:
            return None
        return Symbol(module.name.text, state.name.text, LinkedState(state, type_))

    def _protocol(self, module: Module, protocol: Protocol) -> Symbol[ProtocolForm]:
        name = module.name.text
        rules = tuple(self._rule(rule, name) for rule in protocol.rules)
        form = ProtocolForm(rules, _by_type(rules), protocol.description, protocol.name.place)
        return Symbol(name, protocol.name.text, form)

    def _rule(self, rule: Rule, module: str) -> RuleForm:
        checks = tuple(self._checks(rule, module))
        preset = rule.about.text if rule.check is None else ""
        return RuleForm(rule.name.text, checks, preset, rule.name.place)

    def _checks(self, rule: Rule, module: str) -> Iterator[Check]:
        about = rule.about
        if rule.check is None:
            if about.text not in PRESETS:
                message = f"unknown preset `{brief(about.text)}`"
                hint = self._phase.near(about.text, PRESETS)
                self._phase.add(UNKNOWN_ID, message, about.place, hint)
            yield from PRESETS.get(about.text, ())
        elif rule.check is CheckType.REQUIRE_RESPONSE_ID:
            found = self.responses.resolve(about, module, self._phase)
            if found is not None:
                yield Check(rule.check, found.qualified)
        else:
            yield Check(rule.check, about.text)

    def _workflow(self, module: Module, workflow: Workflow) -> Symbol[WorkflowForm]:
        name = module.name.text
        steps = tuple((step.kind, self._ref(step, name)) for step in workflow.steps)
        refs = frozenset(ref for _, ref in steps if ref)
        form = WorkflowForm(steps, refs, workflow.description, workflow.name.place)
        return Symbol(name, workflow.name.text, form)

    def _ref(self, step: Step, module: str) -> str:
        """Return the qualified name that a step refers to. Text blocks have no ids (AC-A30)."""
        if step.ref is None:
            return ""
        tables: dict[StepKind, Table[Any]] = {
            StepKind.EMIT_RESPONSE: self.responses,
            StepKind.ENFORCE_PROTOCOL: self.protocols,
        }
        if step.kind not in tables:
            self._report_text_id(step.ref)
            return ""
        found = tables[step.kind].resolve(step.ref, module, self._phase)
        return "" if found is None else found.qualified

    def _report_text_id(self, name: Name) -> None:
        message = f"unknown id `{brief(name.text)}`: text blocks have no ids"
        self._phase.add(UNKNOWN_ID, message, name.place, "delete it")

    def _command(self, module: Module, command: Command) -> Symbol[LinkedCommand]:
        name = module.name.text
        parameters = tuple(
            ParameterForm(one.name.text, type_)
            for one in command.parameters
            if (type_ := self._type(one.type, name)) is not None
        )
        linked = LinkedCommand(
            command,
            name,
            parameters,
            self._names_of(command.reads, name),
            self._names_of(command.writes, name),
            self._enabled(command, name),
            tuple(self._settings(command, name)),
        )
        self._check_workflows(linked)
        return Symbol(name, command.name.text, linked)

    def _names_of(self, names: tuple[Name, ...] | None, module: str) -> tuple[str, ...] | None:
        if names is None:
            return None
        found = [self.states.resolve(name, module, self._phase) for name in names]
        return tuple(one.qualified for one in found if one is not None)

    def _enabled(self, command: Command, module: str) -> dict[str, tuple[str, ...]]:
        tables: dict[str, Table[Any]] = {
            "responses": self.responses,
            "workflows": self.workflows,
            "protocols": self.protocols,
        }
        enabled = {}
        for kind in ENABLED_KINDS:
            names = command.enable.get(kind, ())
            found = [tables[kind].resolve(name, module, self._phase) for name in names]
            enabled[kind] = tuple(one.qualified for one in found if one is not None)
        for kind in TEXT_KINDS:
            for name in command.enable.get(kind, ()):
                self._report_text_id(name)
        return enabled

    def _check_workflows(self, linked: LinkedCommand) -> None:
        """Check that the command enables everything that its workflows refer to (AC-A39)."""
        enabled = {*linked.enabled["responses"], *linked.enabled["protocols"]}
        for name in linked.command.enable.get("workflows", ()):
            found = self.workflows.find(name.text, linked.module)
            missing = found.what.refs - enabled if isinstance(found, Symbol) else ()
            if missing:
                first, *others = sorted(missing)
                more = f" and {len(others)} more" if others else ""
                message = f"workflow `{brief(name.text)}` refers to `{first}`{more}"
                message += ", which the command does not enable"
                hint = f"also enable `{first}`"
                self._phase.add(REFERENCE_ERROR, message, name.place, hint)

    def _settings(self, command: Command, module: str) -> Iterator[LinkedAssignment]:
        for written in command.assignments:
            target = self.states.resolve(written.name, module, self._phase)
            value = self._value(written, command, module)
            if target is not None:
                yield LinkedAssignment(written, target, value)

    def _value(self, written: Assignment, command: Command, module: str) -> Value | None:
        """Return the expression of a value; None if it is invalid or no variable can have it."""
        node = written.value
        if not isinstance(node, YamlScalar):
            return None
        if not isinstance(node.value, str):
            plain = isinstance(node.value, bool | int)
            return Literal(node.value) if plain else None
        try:
            value = read_value(node.value)
        except ValueTextError as wrong:
            self._phase.add(REFERENCE_ERROR, str(wrong), written.place)
            return None
        for ref in references(value):
            if isinstance(ref, StateRef):
                self.states.resolve(Name(ref.name, written.place), module, self._phase)
            elif not _has_argument(ref, command):
                message = f"the command has no argument `${brief(ref.name)}`"
                hint = _argument_hint(command)
                self._phase.add(REFERENCE_ERROR, message, written.place, hint)
        return value


def _enum(module: Module, enum: Enum) -> Symbol[EnumType]:
    name = module.name.text
    type_ = EnumType(f"{name}.{enum.name.text}", enum.values)
    return Symbol(name, enum.name.text, type_)


def _response(module: Module, response: Response) -> Symbol[ResponseForm]:
    form = ResponseForm(response.constraints, response.description, response.name.place)
    return Symbol(module.name.text, response.name.text, form)


def _by_type(rules: Iterable[RuleForm]) -> dict[CheckType, frozenset[str]]:
    found: dict[CheckType, set[str]] = {}
    for rule in rules:
        for check in rule.checks:
            found.setdefault(check.type, set()).add(check.about)
    return {type_: frozenset(abouts) for type_, abouts in found.items()}


def _without_missing(symbols: Iterable[Symbol[ContentT] | None]) -> Iterator[Symbol[ContentT]]:
    return (symbol for symbol in symbols if symbol is not None)


def _has_argument(ref: ArgumentRef, command: Command) -> bool:
    """`$argN` refers to positional arguments only, `$name` to named ones only (AC-A35)."""
    if command.kind is ArgumentKind.POSITIONAL:
        return ref.number is not None and ref.number < len(command.parameters)
    return ref.name in {one.name.text for one in command.parameters}


def _argument_hint(command: Command) -> str:
    if not command.parameters:
        return "the command takes no arguments"
    positional = command.kind is ArgumentKind.POSITIONAL
    names = [
        f"`$arg{number}`" if positional else f"`${one.name.text}`"
        for number, one in enumerate(command.parameters[:MAX_LISTED])
    ]
    return "write " + ", ".join(names)
