"""The same guards in the language of each peer, used in the quickest way that its docs show.

Where a language lacks something, the guard is written in the nearest way and the row says so.
Facts are only those that the guards read: engines that convert all of them get the least work.
"""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bucket import FAILED, Contender, together

if TYPE_CHECKING:
    from collections.abc import Callable

    from bucket import Bucket, Facts, Outcomes

SIMPLEEVAL = {
    "chat": (
        "turn_index % 5 == 0",
        'context_tokens > 40000 and last_role == "user"',
        'event.tool.name == "apply_patch" and "read_file" not in called',
    ),
    "toml": (
        "turn.token_usage > 0.8",
        "turn.token_usage > 0.7 and history.total_tool_calls > 5",
        "result is not None and result.tool_name == 'vault_search'",
    ),
}
CEL = {
    "chat": (
        "turn_index % 5 == 0",
        'context_tokens > 40000 && last_role == "user"',
        'event.tool.name == "apply_patch" && !("read_file" in called)',
    ),
    "toml": (
        "turn.token_usage > 0.8",
        "turn.token_usage > 0.7 && history.total_tool_calls > 5",
        "result != null && result.tool_name == 'vault_search'",
    ),
}
ZEN = {
    "chat": (
        "turn_index % 5 == 0",
        'context_tokens > 40000 and last_role == "user"',
        'event.tool.name == "apply_patch" and "read_file" not in called',
    ),
    "toml": (
        "turn.token_usage > 0.8",
        "turn.token_usage > 0.7 and history.total_tool_calls > 5",
        "result != null and result.tool_name == 'vault_search'",
    ),
}
CEDAR = {
    "chat": (
        "context.turn_index_modulo_5 == 0",
        'context.context_tokens > 40000 && context.last_role == "user"',
        (
            'context has tool_name && context.tool_name == "apply_patch"'
            ' && !context.called.contains("read_file")'
        ),
    ),
    "toml": (
        'context.token_usage.greaterThan(decimal("0.8"))',
        'context.token_usage.greaterThan(decimal("0.7")) && context.total_tool_calls > 5',
        'context has result && context.result.tool_name == "vault_search"',
    ),
}
# A set of numbers: n when guard n holds, -n when it has no value. Rego orders values of any
# types, so that a missing number must be refused by hand.
REGO = {
    "chat": """
        package guards
        import rego.v1
        outcomes contains 1 if input.turn_index % 5 == 0
        outcomes contains 2 if { input.context_tokens > 40000; input.last_role == "user" }
        outcomes contains 3 if {
            input.event.tool.name == "apply_patch"
            not "read_file" in input.called
        }
    """,
    "toml": """
        package guards
        import rego.v1
        outcomes contains 1 if { is_number(input.turn.token_usage); input.turn.token_usage > 0.8 }
        outcomes contains -1 if not is_number(input.turn.token_usage)
        outcomes contains 2 if {
            is_number(input.turn.token_usage)
            input.turn.token_usage > 0.7
            input.history.total_tool_calls > 5
        }
        outcomes contains -2 if not is_number(input.turn.token_usage)
        outcomes contains 3 if input.result.tool_name == "vault_search"
    """,
}


def simpleeval(bucket: Bucket) -> list[Contender]:
    """Walks Python's syntax tree."""
    from simpleeval import EvalWithCompoundTypes  # noqa: PLC0415 - a peer may be missing

    evaluator = EvalWithCompoundTypes()
    first, second, third = (_simpleeval_guard(evaluator, t) for t in SIMPLEEVAL[bucket.name])
    guards = together((first, second, third))

    def evaluate(names: dict[str, Any]) -> Outcomes:
        evaluator.names = names
        return guards(None)

    inside = "three trees parsed before, EvalWithCompoundTypes, facts as Python objects"
    return [Contender("simpleeval", inside, _as_objects, evaluate)]


def _simpleeval_guard(evaluator: Any, text: str) -> Callable[[Any], Any]:
    tree = evaluator.parse(text)
    return lambda _: evaluator.eval(text, previously_parsed=tree)


def _as_objects(facts: Facts) -> dict[str, Any]:
    # Objects, because simpleeval tries attributes before keys: maps cost it an exception each.
    return {name: _as_object(value) for name, value in facts.items()}


def _as_object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _as_object(inner) for name, inner in value.items()})
    return value


def cel_rust(bucket: Bucket) -> list[Contender]:
    """CEL in Rust."""
    import cel  # noqa: PLC0415 - a peer may be missing

    guards = together(tuple(cel.compile(text).execute for text in CEL[bucket.name]))
    name = "common-expression-language"
    return [
        Contender(
            name,
            "three compiled programs, one Context made of the facts",
            dict,
            lambda facts: guards(cel.Context(facts)),
        ),
        Contender(name, "three compiled programs", cel.Context, guards, bare=True),
    ]


def cel_cpp(bucket: Bucket) -> list[Contender]:
    """CEL in C++, by its authors."""
    from cel_expr_python import cel  # noqa: PLC0415 - a peer may be missing

    facts, _ = bucket.events[0]
    kinds = {int: cel.Type.INT, str: cel.Type.STRING, list: cel.Type.List(cel.Type.STRING)}
    variables = {name: kinds.get(type(value), cel.Type.DYN) for name, value in facts.items()}
    environment = cel.NewEnv(variables=variables)
    texts = CEL[bucket.name]
    programs = [_cel_cpp_guard(environment.compile(text)) for text in texts]
    guards = together(tuple(programs))
    packed = environment.compile(f"[{', '.join(texts)}]")

    def evaluate_packed(activation: Any) -> Outcomes:
        found = packed.eval(activation).plain_value()
        return tuple(found) if isinstance(found, list) else guards(activation)

    return [
        Contender(
            "cel-expr-python",
            "three compiled and typed expressions, one Activation made of the facts",
            dict,
            lambda facts: guards(environment.Activation(facts)),
        ),
        Contender(
            "cel-expr-python",
            "one expression that lists the three guards",
            environment.Activation,
            evaluate_packed,
            bare=True,
        ),
    ]


def _cel_cpp_guard(expression: Any) -> Callable[[Any], Any]:
    def guard(activation: Any) -> Any:
        value = expression.eval(activation).value()
        # An error is a value here.
        return value if value is True or value is False else FAILED

    return guard


def zen(bucket: Bucket) -> list[Contender]:
    """GoRules ZEN, in Rust."""
    from zen import compile_expression  # noqa: PLC0415 - a peer may be missing

    texts = ZEN[bucket.name]
    guards = together(tuple(compile_expression(text).evaluate for text in texts), RuntimeError)
    packed = compile_expression(f"[{', '.join(texts)}]").evaluate

    def evaluate_packed(facts: Facts) -> Outcomes:
        try:
            return tuple(packed(facts))
        except RuntimeError:
            return guards(facts)

    return [
        Contender(
            "zen-engine", "three compiled expressions; each call converts the facts", dict, guards
        ),
        Contender(
            "zen-engine",
            "one expression that lists the three guards; its call converts the facts",
            dict,
            evaluate_packed,
            bare=True,
        ),
    ]


def cedar(bucket: Bucket) -> list[Contender]:
    """Cedar, in Rust: one permit for each guard, all found in one call."""
    import cedarpy  # noqa: PLC0415 - a peer may be missing

    permits = [
        f"permit(principal, action, resource) when {{ {text} }};" for text in CEDAR[bucket.name]
    ]
    policies = cedarpy.PolicySet.from_str("\n".join(permits))
    entities = cedarpy.Entities.from_json_str("[]")
    who = {key: {"type": "T", "id": "x"} for key in ("principal", "action", "resource")}

    def evaluate(context: Any) -> Outcomes:
        answer = cedarpy.is_authorized({**who, "context": context}, policies, entities)
        return _cedar_outcomes(answer.diagnostics)

    to_context = _CEDAR_CONTEXTS[bucket.name]
    without = {
        "chat": "the host takes the remainder, Cedar has none; null is a missing attribute",
        "toml": "the host writes numbers as decimals, Cedar has no floats; null is missing",
    }
    called = "policies and entities parsed before, one is_authorized"
    return [
        Contender(
            "cedarpy",
            f"{called} with the facts; {without[bucket.name]}",
            dict,
            lambda facts: evaluate(to_context(facts)),
        ),
        Contender(
            "cedarpy",
            f"{called} with the facts as JSON",
            lambda facts: json.dumps(to_context(facts)),
            evaluate,
            bare=True,
        ),
    ]


def _cedar_chat(facts: Facts) -> Facts:
    context = {
        "turn_index_modulo_5": facts["turn_index"] % 5,
        "context_tokens": facts["context_tokens"],
        "last_role": facts["last_role"],
        "called": facts["called"],
    }
    tool = facts["event"]["tool"]["name"]
    if tool is not None:
        context["tool_name"] = tool
    return context


def _cedar_toml(facts: Facts) -> Facts:
    context: Facts = {"total_tool_calls": facts["history"]["total_tool_calls"]}
    usage = facts["turn"]["token_usage"]
    if usage is not None:
        context["token_usage"] = {"__extn": {"fn": "decimal", "arg": f"{usage:.4f}"}}
    if facts["result"] is not None:
        context["result"] = facts["result"]
    return context


_CEDAR_CONTEXTS = {"chat": _cedar_chat, "toml": _cedar_toml}
_CEDAR_POLICY = re.compile(r"`(policy\d)`")


def _cedar_outcomes(diagnostics: Any) -> Outcomes:
    reasons, errors = diagnostics.reasons, diagnostics.errors
    failed = {name for error in errors for name in _CEDAR_POLICY.findall(error)} if errors else ()
    return tuple(
        FAILED if name in failed else name in reasons for name in ("policy0", "policy1", "policy2")
    )


def rego(bucket: Bucket) -> list[Contender]:
    """Rego in C++: one set of outcomes, queried in a compiled bundle."""
    from regopy import Input, Interpreter  # noqa: PLC0415 - a peer may be missing

    builder = Interpreter()
    builder.add_module("guards", REGO[bucket.name])
    bundle = builder.build(None, ["guards/outcomes"])
    interpreter = Interpreter()

    def evaluate(value: Any) -> Outcomes:
        interpreter.set_input(value)
        found = interpreter.query_bundle_entrypoint(bundle, "guards/outcomes")[0][0]
        return tuple(FAILED if -n in found else n in found for n in (1, 2, 3))

    called = "one query of an entry point of a compiled bundle"
    return [
        Contender("regopy", f"{called}, Input made of the facts", dict, evaluate),
        Contender("regopy", called, Input, evaluate, bare=True),
    ]


PEERS: dict[str, Callable[[Bucket], list[Contender]]] = {
    "simpleeval": simpleeval,
    "common-expression-language": cel_rust,
    "cel-expr-python": cel_cpp,
    "zen-engine": zen,
    "cedarpy": cedar,
    "regopy": rego,
}
