"""The functions and methods of conditions, with limits (TR-A06). None changes its arguments."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from bylaw.expr.arithmetic import arithmetic, bounded
from bylaw.expr.condition_operators import each, equal, key, less
from bylaw.expr.faults import Fault, fail, fail_inside
from bylaw.expr.limits import MAX_INT_BITS, MAX_ITEMS, MAX_ROUND_DIGITS
from bylaw.expr.rendering import as_text
from bylaw.expr.weight import SCALARS, charge_search, grown, in_order, weigh
from bylaw.model.codes import expressions as codes

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.expr.limits import Budget

# Python converts digits to a number in quadratic time.
_MAX_DIGITS = MAX_INT_BITS // 3
_MIN_BASE, _MAX_BASE = 2, 36


def _needs(value: Any, kinds: tuple[type, ...], what: str, site: int) -> None:
    if value.__class__ not in kinds:
        fail(codes.GUARD_TYPE, site, f"{what} is needed", value)


def _try(compute: Callable[[], Any], problem: str, site: int, *values: object) -> Any:
    try:
        return compute()
    except (ValueError, OverflowError):
        fail(codes.GUARD_VALUE, site, problem, *values)


def to_int(budget: Budget, site: int, value: Any, base: Any = None) -> Any:
    """`int(value)`, `int(text, base)`."""
    _needs(value, (str, int, float, bool), "a number or a text", site)
    weigh(value, budget, site)
    if value.__class__ is str and len(value) > _MAX_DIGITS:
        fail(codes.GUARD_TOO_LARGE, site, f"the text has more than {_MAX_DIGITS:,} digits", value)
    if base is None:
        return bounded(_try(lambda: int(value), "this is not a whole number", site, value), site)
    _needs(value, (str,), "a text", site)
    if base.__class__ is not int or not (base == 0 or _MIN_BASE <= base <= _MAX_BASE):
        fail(codes.GUARD_VALUE, site, "a base must be 0 or from 2 to 36", base)
    return bounded(_try(lambda: int(value, base), "this is not a whole number", site, value), site)


def to_float(budget: Budget, site: int, value: Any) -> Any:
    """`float(value)`."""
    _needs(value, (str, int, float, bool), "a number or a text", site)
    weigh(value, budget, site)
    return _try(lambda: float(value), "this is not a number", site, value)


def to_text(budget: Budget, site: int, value: Any) -> str:
    """`str(value)`."""
    return as_text(value, budget, site)


def to_bool(_budget: Budget, _site: int, value: Any) -> bool:
    """`bool(value)`."""
    return bool(value)


def length(_budget: Budget, site: int, value: Any) -> int:
    """`len(value)`."""
    _needs(value, (str, list, tuple, set, dict), "a text, list or map", site)
    return len(value)


def absolute(_budget: Budget, site: int, value: Any) -> Any:
    """`abs(value)`."""
    _needs(value, (int, float, bool), "a number", site)
    return abs(value)


def rounded(_budget: Budget, site: int, value: Any, ndigits: Any = None) -> Any:
    """`round(value, ndigits)`."""
    _needs(value, (int, float, bool), "a number", site)
    if ndigits is None:
        return bounded(_try(lambda: round(value), "this cannot be rounded", site, value), site)
    _needs(ndigits, (int, bool), "a whole number of digits", site)
    if abs(ndigits) > MAX_ROUND_DIGITS:
        fail(codes.GUARD_VALUE, site, f"at most {MAX_ROUND_DIGITS:,} digits", ndigits)
    return _try(lambda: round(value, ndigits), "this cannot be rounded", site, value)


def total(budget: Budget, site: int, values: Any, start: Any = 0) -> Any:
    """`sum(values, start)` of numbers."""
    _needs(start, (int, float, bool), "a number", site)
    result = start
    for value in each(values, budget, 1, site):
        if value.__class__ not in (int, float, bool):
            fail_inside(codes.GUARD_TYPE, site, "a list of numbers is needed", value)
        result = _inside(arithmetic, operator.add, site, result, value)
    return result


def any_of(budget: Budget, site: int, values: Any) -> bool:
    """`any(values)`."""
    return any(each(values, budget, 1, site))


def all_of(budget: Budget, site: int, values: Any) -> bool:
    """`all(values)`."""
    return all(each(values, budget, 1, site))


def in_sequence(budget: Budget, site: int, values: Any, reverse: Any = False) -> list[Any]:
    """`sorted(values, reverse=…)`."""
    _needs(reverse, (bool, int), "true or false", site)
    items = list(each(values, budget, 1, site))
    weigh(items, budget, site)
    budget.charge(4 * len(items))
    try:
        return sorted(items, reverse=bool(reverse))
    except TypeError:
        maps = any(item.__class__ is dict for item in items)
        problem = "maps have no order" if maps else "only values of one kind can be sorted"
        fail(codes.GUARD_TYPE, site, problem, values)


_NOTHING = object()


def least(budget: Budget, site: int, *values: Any, default: Any = _NOTHING) -> Any:
    """`min(values)`, `min(a, b, …)`."""
    return _extreme(budget, site, values, default, lambda a, b: _below(a, b, budget, site))


def greatest(budget: Budget, site: int, *values: Any, default: Any = _NOTHING) -> Any:
    """`max(values)`, `max(a, b, …)`."""
    return _extreme(budget, site, values, default, lambda a, b: _below(b, a, budget, site))


def _below(left: Any, right: Any, budget: Budget, site: int) -> bool:
    return bool(_inside(less, left, right, budget, site))


def _inside(operation: Callable[..., Any], *args: Any) -> Any:
    """Run an operation on elements; its faults are about elements, not operands of the call."""
    try:
        return operation(*args)
    except Fault as fault:
        fail_inside(fault.code, fault.site, fault.problem, *fault.values_met)


def _extreme(
    budget: Budget, site: int, values: Any, default: Any, better: Callable[[Any, Any], bool]
) -> Any:
    if len(values) > 1 and default is not _NOTHING:
        fail(codes.GUARD_TYPE, site, "a default is allowed only for one list of values")
    candidates = list(each(values[0] if len(values) == 1 else values, budget, 1, site))
    if not candidates:
        if default is _NOTHING:
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
    grown([], len(value), budget, site)
    return list(value)


def _values(budget: Budget, site: int, value: Any) -> list[Any]:
    grown([], len(value), budget, site)
    return list(value.values())


def _items(budget: Budget, site: int, value: Any) -> list[Any]:
    grown([], len(value), budget, site)
    return list(value.items())


def _texts(site: int, *args: Any) -> None:
    for arg in args:
        _needs(arg, (str,), "a text", site)


def _lower(budget: Budget, site: int, value: str) -> Any:
    grown(value, len(value), budget, site)
    return bounded(value.lower(), site)


def _upper(budget: Budget, site: int, value: str) -> Any:
    grown(value, len(value), budget, site)
    return bounded(value.upper(), site)


def _strip(budget: Budget, site: int, value: str, chars: Any = None) -> str:
    _needs(chars, (str, type(None)), "a text", site)
    budget.charge(1 + len(value) * len(chars or " ") // 64)
    return value.strip(chars)


def _starts(budget: Budget, site: int, value: str, prefix: Any) -> bool:
    return value.startswith(_prefixes(budget, site, prefix))


def _ends(budget: Budget, site: int, value: str, suffix: Any) -> bool:
    return value.endswith(_prefixes(budget, site, suffix))


def _prefixes(budget: Budget, site: int, prefix: Any) -> Any:
    weigh(prefix, budget, site)
    _texts(site, *(prefix if prefix.__class__ is tuple else (prefix,)))
    return prefix


def _split(budget: Budget, site: int, value: str, sep: Any = None, maxsplit: Any = -1) -> list[str]:
    _needs(sep, (str, type(None)), "a text", site)
    _needs(maxsplit, (int, bool), "a whole number", site)
    if sep == "":
        fail(codes.GUARD_VALUE, site, "a separator cannot be empty", sep)
    charge_search(value, sep or " ", budget)
    # One part more than allowed is enough to detect too many.
    parts = value.split(sep, maxsplit if 0 <= maxsplit < MAX_ITEMS else MAX_ITEMS)
    grown(parts, len(parts), budget, site)
    return parts


def _join(budget: Budget, site: int, value: str, parts: Any) -> str:
    texts = list(each(parts, budget, 1, site))
    _texts(site, *texts)
    size = sum(map(len, texts)) + len(value) * max(len(texts) - 1, 0)
    grown(value, size, budget, site)
    return value.join(texts)


def _count_text(budget: Budget, site: int, value: str, part: Any) -> int:
    _texts(site, part)
    charge_search(value, part, budget)
    return value.count(part)


def _find_text(budget: Budget, site: int, value: str, part: Any) -> int:
    _texts(site, part)
    charge_search(value, part, budget)
    at = value.find(part)
    if at < 0:
        fail(codes.GUARD_MISSING, site, "text not found", value, part)
    return at


def _replace(budget: Budget, site: int, value: str, old: Any, new: Any, count: Any = -1) -> str:
    _texts(site, old, new)
    _needs(count, (int, bool), "a whole number", site)
    charge_search(value, old, budget)
    found = value.count(old)
    times = found if count < 0 else min(count, found)
    grown(value, max(len(value), len(value) + times * (len(new) - len(old))), budget, site)
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
    "startswith": {str: _starts},
    "endswith": {str: _ends},
    "split": {str: _split},
    "join": {str: _join},
    "count": {str: _count_text, list: _count_items, tuple: _count_items},
    "index": {str: _find_text, list: _find_item, tuple: _find_item},
    "replace": {str: _replace},
}


def joined(budget: Budget, site: int, *parts: Any) -> str:
    """Return the text of an f-string."""
    texts = [as_text(part, budget, site) for part in parts]
    grown("", sum(map(len, texts)), budget, site)
    return "".join(texts)


def finished(value: Any, budget: Budget, site: int) -> Any:
    """Charge for the result of an evaluation, and return it with sets as sorted lists."""
    if value.__class__ in SCALARS:
        return value
    weigh(value, budget, site)
    return _plain(value, budget, site)


def _plain(value: Any, budget: Budget, site: int) -> Any:
    if value.__class__ is dict:
        return {name: _plain(item, budget, site) for name, item in value.items()}
    if value.__class__ is set:
        value = in_order(value, budget, site)
    if value.__class__ in (list, tuple):
        return [_plain(item, budget, site) for item in value]
    return value
