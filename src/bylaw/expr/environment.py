"""What an expression may read and call: names with their types, and the code that reads them.

Compiled code reads the fields of a view: `v.turn_index`, or a local variable `v_turn_index` in a
function of many guards. So the code of a variable starts with the name of a field, and an `emit`
function receives the prefix of that name. Both grammars are checked against an environment.
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
    """The code of one argument of a call; `literal` is its value if it is written as a literal."""

    code: str
    literal: Constant = None


# Receives the arguments, the site of the call, and the prefix of a view field.
Emit: TypeAlias = Callable[[Sequence[Argument], int, str], str]


class Variable(Struct, frozen=True):
    """A name that can be read, and the code that reads it from a field of the view."""

    type: Type
    code: str


class Parameter(Struct, frozen=True):
    """One parameter; a `literal` argument must be a quoted text, because it is checked at load."""

    name: str
    kinds: tuple[str, ...] = ()
    required: bool = True
    how: str = "position"  # position, keyword or either
    literal: bool = False
    choices: tuple[str, ...] = ()
    names_rule: bool = False  # it must be the id of a rule of the same file
    # Returns the code and message of a diagnostic if a literal is wrong, else None.
    problem: Callable[[str], tuple[Code, str] | None] | None = None


class Function(Struct, frozen=True):
    """A function or method: parameters, result, and how it is compiled."""

    parameters: tuple[Parameter, ...]
    result: Type
    emit: Emit
    inlined: bool = False  # compiled in place, so the compiler checks the arguments
    many: bool = False  # the last parameter can be repeated
    reads_time: bool = False
    reads_call: bool = False
    owners: tuple[str, ...] = ()  # for a method: the kinds of value that have it

    @property
    def required(self) -> int:
        """The number of required arguments."""
        return sum(parameter.required for parameter in self.parameters)


class Environment(Struct, frozen=True):
    """The names that one expression may use."""

    variables: Mapping[str, Variable]
    functions: Mapping[str, Function]
    methods: Mapping[str, Function] = field(default_factory=dict)
    # True: the rules of the guard language (CM-A21). False: Python's rules, with limits.
    strict: bool = True
    # Spellings from other languages, and the help text for each.
    spellings: Mapping[str, str] = field(default_factory=dict)
    has_call: bool = True
    rule_ids: frozenset[str] | None = None

    def starts(self, name: str) -> list[str]:
        """Return the declared dotted names below a name: `event.name`, … for `event`."""
        return [known for known in self.variables if known.startswith(name + ".")]
