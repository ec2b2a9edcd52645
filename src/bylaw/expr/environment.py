"""What an expression may read and call: names with types, and how compiled code gets at them.

Compiled code reads the fields of a view: `v.turn_index`, or a local `v_turn_index` where many
guards share their reads. So the code of a variable begins with the name of a field, and an `emit`
function is told what stands before it. Both grammars are checked and compiled against one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.expr.tree import Constant
    from bylaw.expr.types import Type
    from bylaw.model.codes import Code


class Argument(Struct, frozen=True):
    """An argument of a call as the compiler hands it over; `literal` only if it is written out."""

    code: str
    literal: Constant = None


# The code of the arguments, the site of the call, what stands before a field of the view.
Emit: TypeAlias = Callable[[Sequence[Argument], int, str], str]


class Variable(Struct, frozen=True):
    """A name that can be read: the field of the view, with what is done to it."""

    type: Type
    code: str


class Parameter(Struct, frozen=True):
    """One parameter; a `literal` argument must be written out as a text, for it is checked."""

    name: str
    kinds: tuple[str, ...] = ()
    required: bool = True
    how: str = "position"  # position, keyword or either
    literal: bool = False
    choices: tuple[str, ...] = ()
    names_rule: bool = False  # it must be the id of a rule of the same file
    # The code and headline of what is wrong with a literal, or nothing.
    problem: Callable[[str], tuple[Code, str] | None] | None = None


class Function(Struct, frozen=True):
    """A function or method: parameters, result, and how it is compiled."""

    parameters: tuple[Parameter, ...]
    result: Type
    emit: Emit
    inlined: bool = False  # reads the view in place, so the compiler tests its arguments
    many: bool = False  # takes any number of arguments like its last parameter
    reads_time: bool = False
    reads_call: bool = False
    owners: tuple[str, ...] = ()  # of a method: the kinds of object that have it

    @property
    def required(self) -> int:
        """How many arguments must be given."""
        return sum(parameter.required for parameter in self.parameters)


class Environment(Struct, frozen=True):
    """The declared world of one expression."""

    variables: Mapping[str, Variable]
    functions: Mapping[str, Function]
    methods: Mapping[str, Function] = field(default_factory=dict)
    # Strict: the guard language (CM-A21). Not strict: Python's rules, bounded.
    strict: bool = True
    # What authors of another language write here, and how it is spelt in this one.
    spellings: Mapping[str, str] = field(default_factory=dict)
    has_call: bool = True
    rule_ids: frozenset[str] | None = None

    def starts(self, name: str) -> list[str]:
        """The declared dotted names below a name: `event.name`, … for `event`."""
        return [known for known in self.variables if known.startswith(name + ".")]
