"""Random TOML rules and sessions: small closed lists, so that rules meet, read and write the same.

A rule is made as a map and written as TOML, with its sections and keys in a random order.
"""

import json
from hashlib import sha256

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from msgspec import Struct

from bylaw.engine.index import RuleSet
from bylaw.languages import toml_rules
from bylaw.languages.base import RuleFile
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.model.wire import decode_event
from bylaw.runtime.submit import DryRun

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=100)
HOOKS = [
    "on_turn_start", "on_tool_complete", "on_tool_call", "on_tool_failure", "on_turn_end",
    "on_query_start", "on_session_end",
]  # fmt: skip
# Some always hold, some never, some fail always or now and then; those that begin with a
# comparison to a text are looked up on the fast path.
CONDITIONS = [
    *["True"] * 6,
    "False",
    "context.turn.number % 2 == 1",
    "context.turn.token_usage > 0.5",
    "context.history.total_tool_calls > 2 and tool_completed('shell')",
    "context.history.total_failures < 2 or failure_count('edit') == 1",
    "any(t.name == 'shell' and t.success for t in context.history.tools)",
    "len(context.history.messages) > 1 and context.history.messages[-1].role != 'user'",
    "message_count_above(3)",
    "context.state.a is None",
    "context.state.a == '1'",
    "context.state.get('b', 0) > 1",
    "context.state.has('a') and not context.state.has('c')",
    "context.state.c > 1",
    "context.event.payload.tool_name == 'edit'",
    "context.event.type == 'tool.call.failure'",
    "context.event.type == 'tool.call.success' and context.result.result == 'done'",
    "context.result is not None and context.result.tool_name == 'shell'",
    "context.result.tool_name == 'shell'",
    "context.result.tool_name == 'edit' and context.state.a is None",
    "context.result.error == 'timeout'",
    "context.result.result == 'done'",
    "context.history.tools[-1].name == 'edit'",
    "context.user.id == 'u1'",
    "1 // 0 == 1",
    "context.turn.number",
]
TEXTS = [
    "plain",
    "turn {{ context.turn.number }}",
    "a is {{ context.state.a }}",
    "{{ context.state.b | default('?') }}{{ context.history.total_tool_calls }}",
    "{% for m in context.history.messages[-2:] %}{{ m.content }};{% endfor %}x",
]
FAILING_TEXTS = [
    "{{ context.project.id }}",
    "{{ context.turn.number // 0 }}",
    "{{ 'x' * 99999 }}",
    "fine until {{ context.event.payload['nope'] }}",
]
VALUES = [
    1,
    2,
    "1",
    "{{ context.turn.number }}",
    True,
    [1, {"k": "{{ 1 }}"}],
    "{{ context.state.a }}!",
]
IMPORTANCE = ["normal", "critical", "high", "low"]
POINTS = ["turn_start", "after_tool", "immediate"]
EVENTS = [
    {"kind": "turn.start", "facts": {"token_budget": 10, "user": {"id": "u1"}}},
    {"kind": "turn.start"},
    {"kind": "turn.end", "text": "t"},
    {"kind": "prompt", "text": "p"},
    {"kind": "message", "role": "user", "text": "m {{ 1 }}"},
    {"kind": "message", "role": "assistant", "text": "n", "tokens": 7},
    {"kind": "tool.before", "tool": "shell", "call": "1"},
    {"kind": "tool.after", "tool": "shell", "call": "1", "status": "ok", "result": "done"},
    {"kind": "tool.after", "tool": "shell", "status": "error", "error": "e"},
    {"kind": "tool.after", "tool": "edit", "status": "ok", "result": [1]},
    {"kind": "tool.after", "tool": "edit", "status": "timeout"},
    {"kind": "tool.after", "tool": "edit", "status": "denied"},
    {"kind": "tool.after", "tool": "edit", "agent": "sub", "status": "ok"},
    {"kind": "turn.start", "agent": "sub"},
    {"kind": "custom", "type": "c"},
    {"kind": "session.end"},
]


class Made(Struct, frozen=True):
    """A rule as it is drawn."""

    id: str
    on: str
    priority: int
    when: str
    action: dict
    plugin: str = ""

    @property
    def sections(self):
        plugin = {"plugin_id": self.plugin} if self.plugin else {}
        return {
            "rule": {"id": self.id, "trigger": self.on, "priority": self.priority, **plugin},
            "condition": {"expression": self.when},
            "action": self.action,
        }

    def text(self, chance=None):
        """The file; by chance, its sections and keys stand in another order."""
        shuffled = (lambda items: chance.sample(items, len(items))) if chance else list
        return "\n".join(
            f"[{name}]\n" + "\n".join(f"{k} = {toml(v)}" for k, v in shuffled(list(keys.items())))
            for name, keys in shuffled(list(self.sections.items()))
        )


def toml(value):
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


class Dice:
    """Bytes as choices, one a throw; when they have run out, the first choice.

    Hypothesis is quick with bytes, and shrinks them to zeros: the plainest choice stands first.
    """

    def __init__(self, thrown):
        self._thrown = iter(thrown)

    def pick(self, options):
        return options[next(self._thrown, 0) % len(options)]


def action(dice, texts):
    """Any kind of action, with one of these texts in the place of its template."""
    kind, text = dice.pick(["notify_self", "log", "set_state", "emit_event"]), dice.pick(texts)
    return {
        "notify_self": lambda: {
            "message": text,
            "priority": dice.pick(IMPORTANCE),
            "deliver_at": dice.pick(POINTS),
        },
        "log": lambda: {"message": text},
        "set_state": lambda: {"key": "c", "value": text},
        "emit_event": lambda: {"event_type": "e", "payload": {"k": [1, text]}},
    }[kind]() | {"type": kind}


def writing(dice):
    """An action that changes what others read."""
    return {"type": "set_state", "key": dice.pick("abc"), "value": dice.pick(VALUES)}


def rule(dice, rule_id):
    """Any rule."""
    return Made(
        id=rule_id,
        on=dice.pick(HOOKS),
        priority=dice.pick([100, 1, 500, 1000]),
        when=dice.pick(CONDITIONS),
        action=dice.pick([action, action, lambda dice, _: writing(dice)])(dice, TEXTS),
        plugin=dice.pick(["", "", "", "plug-in"]),
    )


def failing_rule(dice, rule_id):
    """A rule that holds, and whose action cannot be made."""
    when = dice.pick(["True", "context.turn.number > 0"])
    priority = dice.pick([1000, 100, 1])
    return Made(rule_id, dice.pick(HOOKS), priority, when, action(dice, FAILING_TEXTS))


def thrown_rules(make, most, prefix="r"):
    """A strategy of lists of rules; their ids are in another order than the list."""

    def thrown(dice):
        number = dice.pick(range(1, most + 1))
        return [make(dice, f"{prefix}{(37 * place) % 100:02}") for place in range(number)]

    return st.binary(min_size=9 * most, max_size=9 * most).map(lambda data: thrown(Dice(data)))


LIBRARIES = thrown_rules(rule, 10)
FAILING = thrown_rules(failing_rule, 5, "f")
HISTORIES = st.binary(min_size=12, max_size=40).map(
    lambda data: [EVENTS[byte % len(EVENTS)] for byte in data]
)


def rule_file(one, chance=None):
    text = one.text(chance)
    digest = sha256(text.encode()).hexdigest()
    return RuleFile(SourceFile(f"rules/{one.id}.toml", text), digest)


def rule_set(rules, *, fast=True, chance=None):
    """The rules as they are loaded from their texts."""
    files = [rule_file(one, chance) for one in rules]
    loaded = toml_rules.load(files)
    errors = [one for one in loaded.diagnostics if one.severity.value == "error"]
    assert errors == [], errors
    book = Book(dialect="toml", path="rules", files=(), digest="", groups=loaded.groups)
    return RuleSet([book], fast=fast)


def lived(rules, history):
    """Everything that was decided along a history, caused events included, and the rehearsal."""
    rehearsal = DryRun(rules)
    top = [rehearsal.submit(decode_event(json.dumps(event).encode())) for event in history]
    return [one for first in top for one in _with_caused(first)], rehearsal


def _with_caused(one):
    yield one
    for caused in one.caused:
        yield from _with_caused(caused)
