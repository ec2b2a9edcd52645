"""The functions and methods of conditions, with limits (TR-A06). None changes its arguments.

Also here: a plain value → its text as Python prints it, built piece by piece up to a limit.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from bylaw.expr.condition_operators import each, equal, key, less
from bylaw.expr.limits import (
    MAX_INT_BITS,
    MAX_ITEMS,
    MAX_ROUND_DIGITS,
    MAX_TEXT_CHARS,
    SCALARS,
    Fault,
    arithmetic,
    charge_growth,
    charge_number,
    charge_search,
    charge_value,
    fail,
    fail_in_element,
    limit_result,
    sort_set,
)
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.expr.limits import Budget

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}


def as_text(value: Any, budget: Budget, site: int) -> str:
    """`str(value)` with a limit, and with sets in order."""
    if value.__class__ in SCALARS:
        charge_number(value, budget)
        return str(value)
    rendering = BoundedText(budget, site)
    rendering.add(value)
    return rendering.text


class BoundedText:
    """A text that is built up to a limit; a subclass can print values in its own way."""

    def __init__(self, budget: Budget, site: int) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._budget = budget
        self._site = site

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def put(self, piece: str) -> None:
        """Append a text unchanged."""
        self.check_room(len(piece))
        self._length += len(piece)
        self._pieces.append(piece)

    def check_room(self, chars: int) -> None:
        """Fail if this many more characters would exceed the limit."""
        if self._length + chars > MAX_TEXT_CHARS:
            limit = f"the text is longer than {MAX_TEXT_CHARS:,} characters"
            fail(codes.GUARD_TOO_LARGE, self._site, limit)

    def add(self, value: Any) -> None:
        """Charge for a value of any size and depth, and append it."""
        charge_value(value, self._budget, self._site)
        self.value(value)

    def value(self, value: Any) -> None:
        """Append a value that is already charged."""
        if value.__class__ in SCALARS:
            charge_number(value, self._budget)
            self.check_room(len(value) if value.__class__ is str else 0)
            self.put(self.scalar(value))
        elif value.__class__ is set and not value:
            self.put("set()")
        else:
            self.collection(value)

    def scalar(self, value: Any) -> str:
        """Return the text of a value without parts."""
        return repr(value)

    def collection(self, value: Any) -> None:
        """Append a value with parts."""
        opening, closing = self.brackets(value)
        self.put(opening)
        for place, item in enumerate(self.items(value)):
            if place:
                self.put(", ")
            self.value(item)
            if value.__class__ is dict:
                self.put(": ")
                self.value(value[item])
        self.put(closing)

    def brackets(self, value: Any) -> tuple[str, str]:
        """Return the brackets around the parts."""
        if value.__class__ is tuple and len(value) == 1:
            return "(", ",)"
        return _BRACKETS[value.__class__]

    def items(self, value: Any) -> Iterable[Any]:
        """Return the parts, in the order in which they are printed."""
        if value.__class__ is set:
            return sort_set(value, self._budget, self._site)
        parts: Iterable[Any] = value
        return parts


# Python converts digits to a number in quadratic time.
_MAX_DIGITS = MAX_INT_BITS // 3
_MIN_BASE, _MAX_BASE = 2, 36


def _require_kind(value: Any, kinds: tuple[type, ...], what: str, site: int) -> None:
    if value.__class__ not in kinds:
        fail(codes.GUARD_TYPE, site, f"{what} is needed", value)


def _try(compute: Callable[[], Any], problem: str, site: int, *values: object) -> Any:
    try:
        return compute()
    except (ValueError, OverflowError):
        fail(codes.GUARD_VALUE, site, problem, *values)


def to_int(budget: Budget, site: int, value: Any, base: Any = None) -> Any:
    """`int(value)`, `int(text, base)`."""
    _require_kind(value, (str, int, float, bool), "a number or a text", site)
    charge_value(value, budget, site)
    if value.__class__ is str and len(value) > _MAX_DIGITS:
        fail(codes.GUARD_TOO_LARGE, site, f"the text has more than {_MAX_DIGITS:,} digits", value)
    if base is None:
        return limit_result(
            _try(lambda: int(value), "this is not a whole number", site, value), site
        )
    _require_kind(value, (str,), "a text", site)
    if base.__class__ is not int or not (base == 0 or _MIN_BASE <= base <= _MAX_BASE):
        fail(codes.GUARD_VALUE, site, "a base must be 0 or from 2 to 36", base)
    return limit_result(
        _try(lambda: int(value, base), "this is not a whole number", site, value), site
    )


def to_float(budget: Budget, site: int, value: Any) -> Any:
    """`float(value)`."""
    _require_kind(value, (str, int, float, bool), "a number or a text", site)
    charge_value(value, budget, site)
    return _try(lambda: float(value), "this is not a number", site, value)


def to_text(budget: Budget, site: int, value: Any) -> str:
    """`str(value)`."""
    return as_text(value, budget, site)


def to_bool(_budget: Budget, _site: int, value: Any) -> bool:
    """`bool(value)`."""
    return bool(value)


def length(_budget: Budget, site: int, value: Any) -> int:
    """`len(value)`."""
    _require_kind(value, (str, list, tuple, set, dict), "a text, list or map", site)
    return len(value)


def absolute(_budget: Budget, site: int, value: Any) -> Any:
    """`abs(value)`."""
    _require_kind(value, (int, float, bool), "a number", site)
    return abs(value)


def rounded(_budget: Budget, site: int, value: Any, ndigits: Any = None) -> Any:
    """`round(value, ndigits)`."""
    _require_kind(value, (int, float, bool), "a number", site)
    if ndigits is None:
        return limit_result(_try(lambda: round(value), "this cannot be rounded", site, value), site)
    _require_kind(ndigits, (int, bool), "a whole number of digits", site)
    if abs(ndigits) > MAX_ROUND_DIGITS:
        fail(codes.GUARD_VALUE, site, f"at most {MAX_ROUND_DIGITS:,} digits", ndigits)
    return _try(lambda: round(value, ndigits), "this cannot be rounded", site, value)


def total(budget: Budget, site: int, values: Any, start: Any = 0) -> Any:
    """`sum(values, start)` of numbers."""
    _require_kind(start, (int, float, bool), "a number", site)
    result = start
    for value in each(values, budget, 1, site):
        if value.__class__ not in (int, float, bool):
            fail_in_element(codes.GUARD_TYPE, site, "a list of numbers is needed", value)
        result = _run_on_elements(arithmetic, operator.add, site, result, value)
    return result


def any_of(budget: Budget, site: int, values: Any) -> bool:
    """`any(values)`."""
    return any(each(values, budget, 1, site))


def all_of(budget: Budget, site: int, values: Any) -> bool:
    """`all(values)`."""
    return all(each(values, budget, 1, site))


def in_sequence(budget: Budget, site: int, values: Any, reverse: Any = False) -> list[Any]:
    """`sorted(values, reverse=…)`."""
    _require_kind(reverse, (bool, int), "true or false", site)
    items = list(each(values, budget, 1, site))
    charge_value(items, budget, site)
    budget.charge(4 * len(items))
    try:
        return sorted(items, reverse=bool(reverse))
    except TypeError:
        maps = any(item.__class__ is dict for item in items)
        problem = "maps have no order" if maps else "only values of one kind can be sorted"
        fail(codes.GUARD_TYPE, site, problem, values)


_NO_DEFAULT = object()


def least(budget: Budget, site: int, *values: Any, default: Any = _NO_DEFAULT) -> Any:
    """`min(values)`, `min(a, b, …)`."""
    return _extreme(budget, site, values, default, lambda a, b: _is_less(a, b, budget, site))


def greatest(budget: Budget, site: int, *values: Any, default: Any = _NO_DEFAULT) -> Any:
    """`max(values)`, `max(a, b, …)`."""
    return _extreme(budget, site, values, default, lambda a, b: _is_less(b, a, budget, site))


def _is_less(left: Any, right: Any, budget: Budget, site: int) -> bool:
    return bool(_run_on_elements(less, left, right, budget, site))


def _run_on_elements(operation: Callable[..., Any], *args: Any) -> Any:
    """Run an operation on elements; its faults are about elements, not operands of the call."""
    try:
        return operation(*args)
    except Fault as fault:
        fail_in_element(fault.code, fault.site, fault.problem, *fault.values_met)


def _extreme(
    budget: Budget, site: int, values: Any, default: Any, better: Callable[[Any, Any], bool]
) -> Any:
    if len(values) > 1 and default is not _NO_DEFAULT:
        fail(codes.GUARD_TYPE, site, "a default is allowed only for one list of values")
    candidates = list(each(values[0] if len(values) == 1 else values, budget, 1, site))
    if not candidates:
        if default is _NO_DEFAULT:
            fail(codes.GUARD_VALUE, site, "an empty list has no least or greatest element")
        return default
    best = candidates[0]
    for candidate in candidates[1:]:
        if better(candidate, best):
            best = candidate
    return best


def method(name: str, budget: Budget, site: int, value: Any, *args: Any, **named: Any) -> Any:
    """Call `value.name(…)` for the kind of the value."""
    known = METHODS[name].get(value.__class__)
    if known is None:
        fail(codes.GUARD_TYPE, site, f"this has no method `{name}`", value)
    return known(budget, site, value, *args, **named)


def _get(budget: Budget, site: int, value: Any, name: Any, default: Any = None) -> Any:
    return value.get(key(name, budget, site), default)


def _has(budget: Budget, site: int, value: Any, name: Any) -> bool:
    return key(name, budget, site) in value


def _keys(budget: Budget, site: int, value: Any) -> list[Any]:
    charge_growth([], len(value), budget, site)
    return list(value)


def _values(budget: Budget, site: int, value: Any) -> list[Any]:
    charge_growth([], len(value), budget, site)
    return list(value.values())


def _items(budget: Budget, site: int, value: Any) -> list[Any]:
    charge_growth([], len(value), budget, site)
    return list(value.items())


def _require_texts(site: int, *args: Any) -> None:
    for arg in args:
        _require_kind(arg, (str,), "a text", site)


def _lower(budget: Budget, site: int, value: str) -> Any:
    charge_growth(value, len(value), budget, site)
    return limit_result(value.lower(), site)


def _upper(budget: Budget, site: int, value: str) -> Any:
    charge_growth(value, len(value), budget, site)
    return limit_result(value.upper(), site)


def _strip(budget: Budget, site: int, value: str, chars: Any = None) -> str:
    _require_kind(chars, (str, type(None)), "a text", site)
    budget.charge(1 + len(value) * len(chars or " ") // 64)
    return value.strip(chars)


def _starts_with(budget: Budget, site: int, value: str, prefix: Any) -> bool:
    return value.startswith(_prefixes(budget, site, prefix))


def _ends_with(budget: Budget, site: int, value: str, suffix: Any) -> bool:
    return value.endswith(_prefixes(budget, site, suffix))


def _prefixes(budget: Budget, site: int, prefix: Any) -> Any:
    charge_value(prefix, budget, site)
    _require_texts(site, *(prefix if prefix.__class__ is tuple else (prefix,)))
    return prefix


def _split(budget: Budget, site: int, value: str, sep: Any = None, maxsplit: Any = -1) -> list[str]:
    _require_kind(sep, (str, type(None)), "a text", site)
    _require_kind(maxsplit, (int, bool), "a whole number", site)
    if sep == "":
        fail(codes.GUARD_VALUE, site, "a separator cannot be empty", sep)
    charge_search(value, sep or " ", budget)
    # One part more than allowed is enough to detect too many.
    parts = value.split(sep, maxsplit if 0 <= maxsplit < MAX_ITEMS else MAX_ITEMS)
    charge_growth(parts, len(parts), budget, site)
    return parts


def _join(budget: Budget, site: int, value: str, parts: Any) -> str:
    texts = list(each(parts, budget, 1, site))
    _require_texts(site, *texts)
    size = sum(map(len, texts)) + len(value) * max(len(texts) - 1, 0)
    charge_growth(value, size, budget, site)
    return value.join(texts)


def _count_text(budget: Budget, site: int, value: str, part: Any) -> int:
    _require_texts(site, part)
    charge_search(value, part, budget)
    return value.count(part)


def _find_text(budget: Budget, site: int, value: str, part: Any) -> int:
    _require_texts(site, part)
    charge_search(value, part, budget)
    at = value.find(part)
    if at < 0:
        fail(codes.GUARD_MISSING, site, "text not found", value, part)
    return at


def _replace(budget: Budget, site: int, value: str, old: Any, new: Any, count: Any = -1) -> str:
    _require_texts(site, old, new)
    _require_kind(count, (int, bool), "a whole number", site)
    charge_search(value, old, budget)
    found = value.count(old)
    times = found if count < 0 else min(count, found)
    charge_growth(value, max(len(value), len(value) + times * (len(new) - len(old))), budget, site)
    return value.replace(old, new, times)


def _count_items(budget: Budget, site: int, value: Any, wanted: Any) -> int:
    return sum(equal(item, wanted, budget, site) for item in each(value, budget, 1, site))


def _find_item(budget: Budget, site: int, value: Any, wanted: Any) -> int:
    for place, item in enumerate(each(value, budget, 1, site)):
        if equal(item, wanted, budget, site):
            return place
    fail(codes.GUARD_MISSING, site, "element not found", value, wanted)


METHODS: dict[str, dict[type, Callable[..., Any]]] = {
    "get": {dict: _get},
    "has": {dict: _has},
    "keys": {dict: _keys},
    "values": {dict: _values},
    "items": {dict: _items},
    "lower": {str: _lower},
    "upper": {str: _upper},
    "strip": {str: _strip},
    "startswith": {str: _starts_with},
    "endswith": {str: _ends_with},
    "split": {str: _split},
    "join": {str: _join},
    "count": {str: _count_text, list: _count_items, tuple: _count_items},
    "index": {str: _find_text, list: _find_item, tuple: _find_item},
    "replace": {str: _replace},
}


def joined(budget: Budget, site: int, *parts: Any) -> str:
    """Return the text of an f-string."""
    texts = [as_text(part, budget, site) for part in parts]
    charge_growth("", sum(map(len, texts)), budget, site)
    return "".join(texts)


def finished(value: Any, budget: Budget, site: int) -> Any:
    """Charge for the result of an evaluation, and return it with sets as sorted lists."""
    if value.__class__ in SCALARS:
        return value
    charge_value(value, budget, site)
    return _to_plain(value, budget, site)


def _to_plain(value: Any, budget: Budget, site: int) -> Any:
    if value.__class__ is dict:
        return {name: _to_plain(item, budget, site) for name, item in value.items()}
    if value.__class__ is set:
        value = sort_set(value, budget, site)
    if value.__class__ in (list, tuple):
        return [_to_plain(item, budget, site) for item in value]
    return value
