"""Resolved declarations → a checked document: defaults, values, reads and writes, conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.languages.context.declarations import (
    CommandForm,
    Document,
    StateAssignment,
    StateForm,
    conflict,
)
from bylaw.languages.context.output import ERROR_RESPONSE, SAMPLES, violations
from bylaw.languages.context.references import Symbol, SymbolKind, Table
from bylaw.languages.context.types import (
    STRING,
    ArgumentRef,
    Container,
    EnumType,
    Literal,
    Primitive,
    StateRef,
    Template,
    implicit_default,
    listed_values,
    mismatch,
    references,
)
from bylaw.model.codes.context import CONFLICT, SCHEMA_VIOLATION
from bylaw.model.display import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.context.blocks import Phase, Place
    from bylaw.languages.context.declarations import CheckType, Module, ResponseForm
    from bylaw.languages.context.references import (
        LinkedAssignment,
        LinkedCommand,
        LinkedDocument,
        LinkedState,
    )
    from bylaw.languages.context.types import Ref, Type, Value


class TypeChecker:
    """Checks types, and whether the rules that a command enables conflict."""

    def __init__(self, modules: Sequence[Module], linked: LinkedDocument, phase: Phase) -> None:
        self._modules = tuple(modules)
        self._linked = linked
        self._phase = phase

    def document(self) -> Document:
        """Return the document. It is valid only if the phase has no errors."""
        linked = self._linked
        for response in linked.responses.by_qualified.values():
            self._check_error_response(response)
        states = [self._state(one) for one in linked.states.by_qualified.values()]
        commands = [self._command(one) for one in linked.commands.by_qualified.values()]
        return Document(
            self._modules,
            linked.enums,
            Table(SymbolKind.STATE, states),
            Table(SymbolKind.COMMAND, commands),
            linked.responses,
            linked.workflows,
            linked.protocols,
        )

    def _check_error_response(self, symbol: Symbol[ResponseForm]) -> None:
        """Check that every error payload satisfies the constraints on errors (AC-A26)."""
        if symbol.name != ERROR_RESPONSE:
            return
        wrong = (why for one in SAMPLES for why in violations(one, symbol.what.constraints))
        why = next(wrong, "")
        if why:
            message = f"no error payload can satisfy the constraints of `{ERROR_RESPONSE}`: {why}"
            self._wrong(message, symbol.what.place)

    def _state(self, symbol: Symbol[LinkedState]) -> Symbol[StateForm]:
        state, type_ = symbol.what.state, symbol.what.type
        default = implicit_default(type_)
        if state.default is not None:
            default = state.default.to_python()  # type: ignore[assignment]  # checked below
            why = mismatch(default, type_)
            if why:
                place = state.place.at(state.default.span)
                self._wrong(f"invalid default of `{symbol.name}`: {why}", place)
        elif isinstance(type_, EnumType):
            message = f"`{symbol.name}` has an enum type and needs a `default`"
            self._wrong(message, state.place, f"write one of {listed_values(type_.values)}")
        return Symbol(symbol.module, symbol.name, StateForm(type_, default))

    def _command(self, symbol: Symbol[LinkedCommand]) -> Symbol[CommandForm]:
        linked = symbol.what
        for setting in linked.settings:
            self._check_setting(setting, linked)
        self._check_reads_and_writes(linked)
        self._check_conflicts(linked)
        form = CommandForm(
            kind=linked.command.kind,
            parameters=linked.parameters,
            responses=linked.enabled["responses"],
            workflows=linked.enabled["workflows"],
            protocols=linked.enabled["protocols"],
            settings=tuple(
                StateAssignment(one.target.module, one.target.name, one.value)
                for one in linked.settings
                if one.value is not None
            ),
            response=self._response(linked),
            description=linked.command.description,
            place=linked.command.name.place,
        )
        return Symbol(symbol.module, symbol.name, form)

    def _response(self, linked: LinkedCommand) -> str:
        """Return the response of outputs: the one a workflow emits, else the only one (AC-A38)."""
        emitted = self._emitted_responses(linked)
        if emitted:
            return emitted[0]
        responses = linked.enabled["responses"]
        return responses[0] if len(responses) == 1 else ""

    def _emitted_responses(self, linked: LinkedCommand) -> list[str]:
        forms = (self._linked.workflows.by_qualified[name] for name in linked.enabled["workflows"])
        return list(dict.fromkeys(form.what.emits for form in forms if form.what.emits))

    def _check_setting(self, setting: LinkedAssignment, linked: LinkedCommand) -> None:
        target, place = setting.target, setting.written.place
        value = setting.value
        if value is None:
            self._wrong("invalid value: write a String, an Int, a Bool or a reference", place)
            return
        wanted = target.what.type
        if isinstance(value, Literal):
            why = mismatch(value.value, wanted)
        else:
            self._check_template(value, linked, place)
            why = self._type_mismatch(value, wanted, linked)
        if why:
            self._wrong(f"cannot set `{target.name}` of type {_short_type(wanted)}: {why}", place)

    def _type_mismatch(self, value: Value, wanted: Type, linked: LinkedCommand) -> str:
        if isinstance(value, Template):
            return "" if wanted == Primitive(STRING) else "a template produces a String"
        assert isinstance(value, ArgumentRef | StateRef)
        given = self._type_of(value, linked)
        if given is None or given == wanted:
            return ""
        return f"`{_reference_text(value)}` is of type {_short_type(given)}"

    def _check_template(self, value: Value, linked: LinkedCommand, place: Place) -> None:
        if not isinstance(value, Template):
            return
        for ref in references(value):
            if isinstance(self._type_of(ref, linked), Container):
                message = (
                    f"`{_reference_text(ref)}` cannot be in a template: it is a list, set or map"
                )
                self._wrong(message, place)

    def _type_of(self, ref: Ref, linked: LinkedCommand) -> Type | None:
        if isinstance(ref, StateRef):
            found = self._linked.states.find(ref.name, linked.module)
            return found.what.type if isinstance(found, Symbol) else None
        if ref.number is not None and ref.number < len(linked.parameters):
            return linked.parameters[ref.number].type
        named = {one.name: one.type for one in linked.parameters}
        return named.get(ref.name)

    def _check_reads_and_writes(self, linked: LinkedCommand) -> None:
        """Check that `reads_state` and `writes_state` list everything that is used (AC-A31)."""
        for setting in linked.settings:
            name, place = setting.target.qualified, setting.written.place
            if linked.writes is not None and name not in linked.writes:
                message = f"`writes_state` does not list `{setting.target.name}`"
                self._wrong(message, place, "add it, or delete `writes_state`")
            for ref in references(setting.value) if setting.value is not None else ():
                if isinstance(ref, StateRef) and not self._may_read(ref, linked):
                    message = f"`reads_state` does not list `{brief(ref.name)}`"
                    self._wrong(message, place, "add it, or delete `reads_state`")

    def _may_read(self, ref: StateRef, linked: LinkedCommand) -> bool:
        found = self._linked.states.find(ref.name, linked.module)
        if linked.reads is None or not isinstance(found, Symbol):
            return True
        return found.qualified in linked.reads

    def _check_conflicts(self, linked: LinkedCommand) -> None:
        checks: dict[CheckType, set[str]] = {}
        for name in linked.enabled["protocols"]:
            for type_, abouts in self._linked.protocols.by_qualified[name].what.checks.items():
                checks.setdefault(type_, set()).update(abouts)
        why = conflict(checks)
        emitted = self._emitted_responses(linked)
        if not why and len(emitted) > 1:
            why = f"its workflows emit `{emitted[0]}` and `{emitted[1]}` first"
        if why:
            message = f"`{linked.command.name.text}` enables rules that conflict: {why}"
            self._phase.add(CONFLICT, message, linked.command.name.place)

    def _wrong(self, message: str, place: Place, hint: str = "") -> None:
        self._phase.add(SCHEMA_VIOLATION, message, place, hint)


def _reference_text(ref: Ref) -> str:
    return brief(f"$state.{ref.name}" if isinstance(ref, StateRef) else f"${ref.name}")


def _short_type(type_: Type) -> str:
    """Return the type without its module, as people write it."""
    return str(type_).rpartition(".")[2] if isinstance(type_, EnumType) else str(type_)
