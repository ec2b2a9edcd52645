"""Numbers → TOML rule files, each different, in the manner of the examples of their document."""

from __future__ import annotations

from string import Template
from typing import NamedTuple

TOOLS = ("vault_search", "web_search", "read_file", "apply_patch", "run_tests", "send_mail")
PLUGINS = ("research", "budget", "review", "release")


class Kind(NamedTuple):
    """A sort of rule: the beginning of its id, and its text."""

    stem: str
    text: Template


THRESHOLD = Kind(
    "token-warning",
    Template("""\
# Warns before the budget of a turn is used up.
[rule]
id = "$id"
name = "Token Usage Warning $number"
description = "Tells the agent that $percent % of its tokens are used"
version = "1.2.$number"
trigger = "on_turn_start"
priority = $priority

[condition]
expression = "context.turn.token_usage > 0.$percent"

[action]
type = "notify_self"
message = "Token usage at {{ (context.turn.token_usage * 100) | int }}%, warned at $percent%"
category = "warning"
priority = "high"
"""),
)
COMPOSITION = Kind(
    "busy-check",
    Template("""\
[rule]
id = "$id"
name = "Busy check $number"
trigger = "on_turn_start"
priority = $priority
plugin_id = "$plugin"

[condition]
expression = "context.turn.token_usage > 0.$percent and context.history.total_tool_calls > $number"

[action]
type = "notify_self"
message = "{{ context.history.total_tool_calls }} calls by turn {{ context.turn.number }}: slow"
deliver_at = "immediate"
"""),
)
TRACKING = Kind(
    "track-calls",
    Template("""\
# Remembers when a tool was last of use.
[rule]
id = "$id"
trigger = "on_tool_complete"
priority = $priority

[condition]
expression = "context.result.tool_name == '$tool' and context.result.duration_ms > $number"

[action]
type = "set_state"
key = "last_${tool}_$number"
value = "{{ context.turn.number }}"
"""),
)
MILESTONE = Kind(
    "milestone-reached",
    Template("""\
[rule]
id = "$id"
description = "One event when turn $number ends"
trigger = "on_turn_end"
enabled = true
core = false

[condition]
expression = "context.turn.number == $number or context.state.get('reached', 0) >= $number"

[action]
type = "emit_event"
event_type = "custom.milestone"
payload = { milestone = "turn_$number", user = "{{ context.user.id }}", share = 0.$percent }
"""),
)
FAILURES = Kind(
    "repeated-failures",
    Template("""\
# A tool that fails again and again needs another idea.
[rule]
id = "$id"
name = "Repeated failures of $tool"
trigger = "on_tool_failure"
priority = $priority
plugin_id = "$plugin"

[condition]
expression = "failure_count('$tool') > $number and any(t.success for t in context.history.tools)"

[action]
type = "log"
message = "{{ context.result.tool_name }} failed in turn {{ context.turn.number }}, rule $number"
level = "warning"
"""),
)
KINDS = (THRESHOLD, COMPOSITION, TRACKING, MILESTONE, FAILURES)


def rule_files(first: int, last: int) -> dict[str, str]:
    """Texts by the names of their files; numbers of other ranges give other texts."""
    return dict(_rule_file(number) for number in range(first, last))


def _rule_file(number: int) -> tuple[str, str]:
    kind = KINDS[number % len(KINDS)]
    id_ = f"{kind.stem}-{number}"
    text = kind.text.substitute(
        id=id_,
        number=number,
        percent=10 + number % 90,
        priority=1 + number % 1000,
        tool=TOOLS[number % len(TOOLS)],
        plugin=PLUGINS[number % len(PLUGINS)],
    )
    return f"{id_}.toml", text
