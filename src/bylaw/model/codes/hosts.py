"""Codes for what a host does not support, see `bylaw check --host`."""

from bylaw.model.codes import Code, Example

HOST_EFFECT = Code(
    "host-effect",
    "a rule has an action that the host does not support",
    "Rules are written once and apply in every host, but not every host can do everything. For "
    "example, no coding agent lets Bylaw compact its history or call its tools. Such a step is "
    "recorded as `not_carried_out`, and the language handles it as a failed step.",
    "Remove the action, or use the rule only in a host that supports it.",
    Example(
        "host-claude",
        '<rules>\n  <on id="shorten" event="turn_end"><compact keep="latest:10"/></on>\n</rules>\n',
    ),
)

HOST_EVENT = Code(
    "host-event",
    "a rule is on an event that the host does not report",
    "Bylaw cannot decide events that a host does not report. The rule never fires there, without "
    "any sign.",
    "Choose another event, or accept that the rule has no effect in this host.",
    Example(
        "host-opencode",
        'rule = { id = "bye", trigger = "on_session_end" }\n'
        'condition = { expression = "True" }\n'
        'action = { type = "log", message = "the end" }\n',
    ),
)

HOST_TEXT = Code(
    "host-text",
    "a message of a rule is delayed, or goes to another recipient",
    "A client passes on messages only at some events. A message for the model waits for the next "
    "event that can carry it. A warning that cannot be shown to the person goes to the model.",
    "Choose another event or another `deliver_at` if the message must arrive at once.",
    Example(
        "host-claude",
        "<rules>\n"
        '  <on id="remind" event="turn_end"><insert role="developer">Tests?</insert></on>\n'
        "</rules>\n",
    ),
)

HOST_VERDICT = Code(
    "host-verdict",
    "a rule denies or blocks something that the host cannot stop",
    "A coding agent shows its output before Bylaw can withhold it. Some clients cannot be "
    "prevented from stopping, and some would run a call while a person is asked. The finding says "
    "what happens instead. A call is never allowed because of it.",
    "Do nothing if what happens instead is enough. Otherwise decide at an earlier event, such as "
    "before a tool call.",
    Example(
        "host-opencode",
        "---\ntrigger: src/**/*.py\n---\nCheck that the tests fit.\n",
    ),
)
