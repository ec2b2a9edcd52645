"""Variables and enabled sets. `decide` and `fold` change them by the same code."""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import ResponseUse, RulesEnable, StateSet, Step
from bylaw.model.values import JSON
from bylaw.model.vocabulary import Op

# The steps that change variables and enabled sets.
SLATE_OPS = frozenset({Op.STATE_SET, Op.RULES_ENABLE, Op.RESPONSE_USE})
_WRITERS = frozenset({StateSet, RulesEnable, ResponseUse})


def variable_space(dialect: str, space: str = "") -> str:
    """Return the space of variables. It includes the language, so languages share no variables."""
    return f"{dialect}:{space}"


def belongs_to(space: str, dialect: str) -> bool:
    """Whether variables of this space belong to a language."""
    return space.startswith(dialect + ":")


class Enabled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The names that are enabled. Each command replaces all of them."""

    responses: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


class Slate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variables by space and name, the enabled names, and the selected response."""

    variables: Mapping[str, Mapping[str, JSON]] = {}
    enabled: Enabled = Enabled()
    response: str = ""

    def space(self, name: str) -> Mapping[str, JSON]:
        """Return the variables of one space, empty if nothing was written to it."""
        return self.variables.get(name, {})

    def after(self, step: Step) -> Self:
        """Return the state after a step. Steps that do not write variables change nothing."""
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
                # A workflow that is no longer enabled must not select a response.
                return replace(self, enabled=enabled, response="")
            case ResponseUse():
                return replace(self, response=step.id)
        return self
