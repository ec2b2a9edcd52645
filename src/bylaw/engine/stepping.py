"""Call the makers of steps and reasons, and check what they make."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bylaw.engine.view import MissingFact
from bylaw.model.codes.engine import FOREIGN_VARIABLE, GUARD_CRASH, VALUE_NOT_FINITE
from bylaw.model.effects import StateSet
from bylaw.model.errors import GuardError, RenderError
from bylaw.model.slate import belongs_to
from bylaw.model.values import is_finite
from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.engine.index import OrderedGroup
    from bylaw.engine.view import View
    from bylaw.model.decision import Match
    from bylaw.model.effects import Step
    from bylaw.model.rule import StepMaker
    from bylaw.model.slate import Slate

Made = TypeVar("Made")


def steps_of(maker: StepMaker, group: OrderedGroup, view: View, match: Match) -> tuple[Step, ...]:
    """Return the steps of a maker. Checks their ops and the variables that they write.

    The steps of the action itself come first. Messages after them may report it.
    """
    try:
        made = tuple(maker.make(view, match))
    except (GuardError, RenderError, MissingFact):
        raise
    except Exception as problem:
        raise _crash(problem) from problem
    expected: tuple[Op, ...] = (maker.op,)
    for step in made:
        if getattr(step, "op", None) not in expected:
            message = f"step does not match its declared type `{maker.op}`"
            raise RenderError(GUARD_CRASH.name, message)
        if isinstance(step, StateSet):
            _check_write(step, group)
        expected = (maker.op, Op.MESSAGE_INSERT)
    return made


def _check_write(step: StateSet, group: OrderedGroup) -> None:
    """Check that a step writes a variable of its own language, and a value that JSON can hold.

    Other values could not be recorded exactly.
    """
    if not is_finite(step.value):
        raise RenderError(VALUE_NOT_FINITE.name, f"`{step.name}` would not be a finite number")
    if not belongs_to(step.space, group.dialect):
        message = f"`{step.name}` of `{step.space}` belongs to another language"
        raise RenderError(FOREIGN_VARIABLE.name, message)


def made_by(make: Callable[[View, Match], Made], view: View, match: Match) -> Made:
    """Call a maker. An unexpected exception means that it failed, as it does for a check."""
    try:
        return make(view, match)
    except (GuardError, RenderError, MissingFact):
        raise
    except Exception as problem:
        raise _crash(problem) from problem


def _crash(problem: Exception) -> RenderError:
    return RenderError(GUARD_CRASH.name, f"{type(problem).__name__}: {problem}")


def after(slate: Slate, steps: Iterable[Step]) -> Slate:
    """Return the slate after these steps."""
    for step in steps:
        slate = slate.after(step)
    return slate
