"""The slate: variables and enabled sets. `decide` works on it, `fold` keeps it, by one rule."""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import ResponseUse, RulesEnable, StateSet, Step
from bylaw.model.values import JSON
from bylaw.model.vocabulary import Op

# The steps that change it.
SLATE_OPS = frozenset({Op.STATE_SET, Op.RULES_ENABLE, Op.RESPONSE_USE})
_WRITERS = frozenset({StateSet, RulesEnable, ResponseUse})


def variable_space(dialect: str, space: str = "") -> str:
    """Where variables live: no book reads another's, so the dialect is part of the name."""
    return f"{dialect}:{space}"


def belongs_to(space: str, dialect: str) -> bool:
    """Whether variables of this space are a language's own."""
    return space.startswith(dialect + ":")


class Enabled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is switched on; each command replaces all of it."""

    responses: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


class Slate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variables by space and name, what is enabled, and the selected response."""

    variables: Mapping[str, Mapping[str, JSON]] = {}
    enabled: Enabled = Enabled()
    response: str = ""

    def space(self, name: str) -> Mapping[str, JSON]:
        """The variables of one space; a space that nobody wrote to is empty."""
        return self.variables.get(name, {})

    def after(self, step: Step) -> Self:
        """The slate after a step; steps that do not write to it change nothing."""
        if step.__class__ not in _WRITERS:
            return self
        match step:
            case StateSet():
                space = {**self.space(step.space), step.name: step.value}
                return replace(self, variables={**self.variables, step.space: space})
            case RulesEnable():
                enabled = Enabled(
                    responses=step.responses, workflows=step.workflows, protocols=step.protocols
                )
                # A workflow that is no longer enabled selects nothing any more.
                return replace(self, enabled=enabled, response="")
            case ResponseUse():
                return replace(self, response=step.id)
        return self
