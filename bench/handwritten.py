"""The guards as a good engineer writes them in Python, over the view that Bylaw reads as well.

Python itself refuses an order between null and a number, and all other types are certain here, so
that plain expressions have the same outcomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bucket import Contender, together
from ours import VIEW_OF

if TYPE_CHECKING:
    from collections.abc import Callable

    from bucket import Bucket, Outcomes


def contenders(bucket: Bucket) -> tuple[Contender, Contender]:
    """Three functions, one a guard, and all three in one."""
    guards = together(_GUARDS[bucket.name])
    return (
        Contender(
            "hand-written",
            "three plain functions over the same view",
            VIEW_OF[bucket.name],
            guards,
        ),
        Contender(
            "hand-written, one function",
            "the three guards inlined by hand; ours are three functions",
            VIEW_OF[bucket.name],
            _with_fallback(_INLINED[bucket.name], guards),
        ),
    )


def _with_fallback(
    inlined: Callable[[Any], Outcomes], one_by_one: Callable[[Any], Outcomes]
) -> Callable[[Any], Outcomes]:
    def evaluate(view: Any) -> Outcomes:
        try:
            return inlined(view)
        except TypeError:
            return one_by_one(view)

    return evaluate


def _every_fifth(view: Any) -> bool:
    return view.turn_index % 5 == 0


def _long_context(view: Any) -> bool:
    return view.context_tokens > 40000 and view.last_role == "user"


def _blind_patch(view: Any) -> bool:
    return view.tool_name == "apply_patch" and "read_file" not in view.calls


def _chat_inlined(view: Any) -> Outcomes:
    return (
        view.turn_index % 5 == 0,
        view.context_tokens > 40000 and view.last_role == "user",
        view.tool_name == "apply_patch" and "read_file" not in view.calls,
    )


def _nearly_full(view: Any) -> bool:
    return view.turn_token_usage > 0.8


def _busy(view: Any) -> bool:
    return view.turn_token_usage > 0.7 and view.history_total_tool_calls > 5


def _searched(view: Any) -> bool:
    result = view.result
    return result is not None and result["tool_name"] == "vault_search"


def _toml_inlined(view: Any) -> Outcomes:
    usage, result = view.turn_token_usage, view.result
    return (
        usage > 0.8,
        usage > 0.7 and view.history_total_tool_calls > 5,
        result is not None and result["tool_name"] == "vault_search",
    )


_GUARDS = {
    "chat": (_every_fifth, _long_context, _blind_patch),
    "toml": (_nearly_full, _busy, _searched),
}
_INLINED = {"chat": _chat_inlined, "toml": _toml_inlined}
