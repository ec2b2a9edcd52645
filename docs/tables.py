"""Fill the tables inside of handwritten pages with data of the code.

A page has the marks `<!-- table: NAME -->` and `<!-- end of table -->`. `make docs` writes the text
between them. This module describes each name. A name without a description is an error, so the
tables are complete.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import hooks_tables
import hosts_tables
from markdown_table import codes, table

from bylaw.expr import condition_environment, guard_environment
from bylaw.expr.condition_environment import ATTRIBUTES
from bylaw.expr.types import ANY
from bylaw.languages.context.declarations import PRESETS
from bylaw.model.effects import SESSION_STEPS, Step
from bylaw.model.event import Common, Event
from bylaw.model.procedure import GuardFault, StepFault
from bylaw.model.vocabulary import Op
from bylaw.runtime.effects import ABILITIES, BUS, CARRIES_OUT, CHAT, PYTHON, WORKTREE
from bylaw.runtime.loader import load_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from msgspec import Struct

    from bylaw.expr.types import Function, Parameter, Type

PLACE = re.compile(
    r"(?P<begin><!-- table: (?P<name>[a-z-]+) -->\n).*?(?P<end><!-- end of table -->)", re.DOTALL
)

CONTEXT = {
    "turn.number": "the turn, from 1; at `on_query_start` the turn that is about to begin",
    "turn.token_usage": "used tokens / token budget; can be more than 1",
    "turn.context_usage": "used tokens / context window",
    "turn.iteration_count": "completed turns since the last prompt",
    "history.messages": "the last 200 messages",
    "history.tools": "the last 200 calls that ended",
    "history.failures": "tool → number of failures and timeouts",
    "history.total_tool_calls": "number of calls that ran in the session",
    "history.total_failures": "number of calls that failed or timed out",
    "user": "the person who submits prompts, if the host provides it",
    "project": "the project, if the host provides it",
    "state": "values that rules have set; None for a key that was never set",
    "event": "the current event",
    "result": "the result of the call; None at other triggers",
}
HELPERS = {
    "tool_completed": "true if the tool ever succeeded",
    "tool_failed": "true if the tool ever failed or timed out",
    "failure_count": "number of failures and timeouts of the tool",
    "context_above_threshold": "true if `turn.context_usage` is greater than the threshold",
    "message_count_above": "true if the session has more messages than this",
}
GUARD_NAMES = {
    "turn_index": "the current or next turn, from 1",
    "context_tokens": "tokens of the history",
    "history_length": "number of messages in the history",
    "last_role": "the author of the last message; `none` before the first",
    "event.name": "the event, as in `event=`",
    "event.tool.name": "the tool of the call; null without a call",
    "event.tool.args": "the arguments of the call",
    "event.tool.status": "the result of the call: `ok` or `error`; null before it ended",
}
GUARD_FUNCTIONS = {
    "ever_called": "true if the tool ran in this conversation, with any result",
    "count_calls": "number of calls of the tool that ran",
    "called_since": "true if the tool ran in this turn (0), or at most n turns ago",
    "arg": "an argument of the call, such as `file` or `edits.0.path`; null if it is missing",
    "jsonpath": "the same, written as `$.edits[0].path`",
    "text_contains": "true if the last text of that kind contains it; case-sensitive",
    "tokens": "number of tokens in that text",
    "now": "time of the event, in milliseconds",
    "since_ms": "milliseconds since that rule fired; infinite if it never fired",
}


EXAMPLES = Path(__file__).parent.parent / "examples"
# Rules of every language, and the name of each group on the page.
RULES = (
    "chatmd/house-rules.chatmd",
    "context",
    "law/runtime/rules",
    "toml-rules",
    "policies/.deepwork/policies",
)
GROUPS = {
    ("context", "commands"): "commands of context documents",
    ("context", "checks"): "checks of context documents",
    ("chatmd", "policy"): "ChatMD `<policy>`",
    ("law", "law"): "RULE_DSL",
    ("chatmd", "rules"): "ChatMD `<rules>`",
    ("toml", "rules"): "TOML rules",
    ("policies", "policies"): "file policies",
}
RANK = {"policy": "requires, validate, quota, cooldown", "law": "built-in rules", "checks": "kind",
        "policies": "commands before prompts"}  # fmt: skip
GUARD_FAULTS = {
    GuardFault.DENY: "denied",
    GuardFault.SKIP_WITH_NOTE: "skipped, with a note; denied if the rule denies",
    GuardFault.SKIP: "skipped, and the record gives the reason",
    GuardFault.HALT: "halted",
    GuardFault.NOT_SATISFIED: "the rule does not match",
}
STEP_FAULTS = {
    StepFault.DROP_REST_WITH_NOTE: "the rest of the rule is skipped; a message gives the reason",
    StepFault.RECORD: "the record gives the reason",
    StepFault.HALT: "halted",
    StepFault.ON_ERROR: "`on_error` runs, and later rules are skipped",
    StepFault.MARK_ENTRY: "its entry becomes `failed`",
}
HOSTS = {"chats": CHAT, "hooks": next(iter(ABILITIES)), "`bylaw policies`": WORKTREE,
         "the bus": BUS, "Python": PYTHON}  # fmt: skip


def filled(text: str) -> str:
    """Return the page with current tables."""
    return PLACE.sub(lambda found: f"{found['begin']}{TABLES[found['name']]()}{found['end']}", text)


def _context() -> str:
    rows = [
        (f"`{path}`", _type(one.type), meaning)
        for (path, one), meaning in zip(ATTRIBUTES.items(), _all(CONTEXT, ATTRIBUTES), strict=True)
    ]
    return table(("`context.…`", "Type", "Meaning"), rows)


def _helpers() -> str:
    own = {name: one for name, one in condition_environment.FUNCTIONS.items() if name in HELPERS}
    return _functions(own, HELPERS)


def _guard_names() -> str:
    known = guard_environment.guard_environment().variables
    rows = [
        (f"`{name}`", _type(one.type, "null"), meaning)
        for (name, one), meaning in zip(known.items(), _all(GUARD_NAMES, known), strict=True)
    ]
    return table(("Name", "Type", "Meaning"), rows)


def _guard_functions() -> str:
    return _functions(guard_environment.FUNCTIONS, GUARD_FUNCTIONS)


def _condition_functions() -> str:
    """Return the functions that Python also has, only by name."""
    plain = [name for name in condition_environment.FUNCTIONS if name not in HELPERS]
    methods = condition_environment.METHODS
    rows = [
        ("functions", codes(f"{name}()" for name in plain)),
        ("of texts", codes(f".{name}()" for name, one in methods.items() if "str" in one.owners)),
        ("of lists", codes(f".{name}()" for name, one in methods.items() if "list" in one.owners)),
        ("of maps", codes(f".{name}()" for name, one in methods.items() if "map" in one.owners)),
    ]
    return table(("", "As in Python"), rows)


def _presets() -> str:
    rows = [
        (f"`{name}`", ", ".join(f"`{check.type}: {check.about}`" for check in checks))
        for name, checks in PRESETS.items()
    ]
    return table(("`preset`", "Stands for"), rows)


def _procedures() -> str:
    books = load_paths([str(EXAMPLES / path) for path in RULES]).books
    groups = {(book.dialect.name, group.name): group for book in books for group in book.groups}
    titles = _all(GROUPS, groups)
    found = sorted(zip(groups.values(), titles, strict=True), key=lambda one: one[0].visit)
    rows = [
        (
            title,
            ", then ".join(
                RANK[group.name] if key == "rank" else key for key in group.procedure.order
            ),
            group.procedure.flow,
            GUARD_FAULTS[group.procedure.guard_error],
            STEP_FAULTS[group.procedure.failed_step],
        )
        for group, title in found
    ]
    return table(("Rules", "Order", "Which fire", "A condition fails", "A step fails"), rows)


def _events() -> str:
    common = set(Common.__struct_fields__)
    rows = [
        (f"`{one.kind}`", _about(one), codes(f for f in one.__struct_fields__ if f not in common))
        for one in get_args(Event)
    ]
    return table(("Kind", "Event", "Fields"), rows)


def _effects() -> str:
    rows = [
        (f"`{one.op}`", _about(one), codes(one.__struct_fields__), _carriers(one))
        for one in get_args(Step)
    ]
    return table(("`op`", "Does", "Fields", "Performed by"), rows)


def _carriers(step: type[Struct]) -> str:
    if issubclass(step, SESSION_STEPS) or step.op is Op.EVENT_EMIT:
        return "Bylaw itself"
    return ", ".join(title for title, host in HOSTS.items() if step.op in CARRIES_OUT[host])


def _about(one: type[Struct]) -> str:
    """Return the first sentence of the docstring of a class."""
    text = " ".join((one.__doc__ or "").split("\n\n")[0].split())
    return text.partition(";")[0].rstrip(".")


def _functions(known: Mapping[str, Function], meanings: Mapping[str, str]) -> str:
    rows = [
        (f"`{name}({', '.join(map(_parameter, one.parameters))})`", _type(one.result), meaning)
        for (name, one), meaning in zip(known.items(), _all(meanings, known), strict=True)
    ]
    return table(("Function", "Returns", "Meaning"), rows)


def _parameter(parameter: Parameter) -> str:
    choices = " | ".join(f'"{one}"' for one in parameter.choices)
    return f"{parameter.name}: {choices}" if choices else parameter.name


_WORDS = {"str": "text", "int": "whole number", "float": "number", "bool": "boolean"}


def _type(type_: Type, missing: str = "None") -> str:
    if type_ in (ANY, guard_environment.JSON_VALUE):
        return "any"
    kinds = type_.kinds - {"null"}
    kinds -= {"int"} if "float" in kinds else set()
    (kind,) = kinds
    inner = type_.item or type_
    word = codes(inner.fields) if inner.fields else _WORDS.get(kind, kind)
    word = f"list of {word}" if inner.fields and kind == "list" else word
    return f"{word}, or {missing}" if "null" in type_.kinds else word


def _all(meanings: Mapping[str, str], known: Iterable[str]) -> list[str]:
    """Return the meaning of each name, in the order of the code. Both must have the same names."""
    names = list(known)
    assert set(names) == set(meanings), set(names) ^ set(meanings)
    return [meanings[name] for name in names]


TABLES: dict[str, Callable[[], str]] = {
    "context-presets": _presets,
    **hooks_tables.TABLES,
    **hosts_tables.TABLES,
    "toml-context": _context,
    "toml-helpers": _helpers,
    "toml-functions": _condition_functions,
    "procedures": _procedures,
    "events": _events,
    "effects": _effects,
    "guard-names": _guard_names,
    "guard-functions": _guard_functions,
}
