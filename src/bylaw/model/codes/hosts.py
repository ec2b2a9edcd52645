"""Codes of what a rule cannot have in a host, see `bylaw check --host`."""

from bylaw.model.codes import Code, Example

HOST_EFFECT = Code(
    "host-effect",
    "a rule wants something done that the host cannot carry out",
    "Rules are written once and hold in every host, but not every host can do everything: a coding "
    "agent lets nobody compact its history or call its tools. Such a step is recorded as "
    "`not_carried_out`, and what the language says of a failed step follows.",
    "Take the step out, or leave the rule to a host that can do it.",
    Example(
        "host-claude",
        '<rules>\n  <on id="shorten" event="turn_end"><compact keep="latest:10"/></on>\n</rules>\n',
    ),
)

HOST_EVENT = Code(
    "host-event",
    "a rule is about something that the host never tells of",
    "What a host does not tell of cannot be judged: the rule never fires there, and nobody would "
    "notice.",
    "Choose another event, or know that the rule does not hold in this host.",
    Example(
        "host-opencode",
        'rule = { id = "bye", trigger = "on_session_end" }\n'
        'condition = { expression = "True" }\n'
        'action = { type = "log", message = "the end" }\n',
    ),
)

HOST_TEXT = Code(
    "host-text",
    "what a rule says reaches nobody at that moment, or somebody else",
    "A client passes texts on only at some moments. What cannot be said to the model waits for the "
    "next moment at which it can; a warning that the person cannot be shown is told to the model.",
    "Choose another event, or another `deliver_at`, if it must be heard at once.",
    Example(
        "host-claude",
        "<rules>\n"
        '  <on id="remind" event="turn_end"><insert role="developer">Tests?</insert></on>\n'
        "</rules>\n",
    ),
)

HOST_VERDICT = Code(
    "host-verdict",
    "a rule refuses something that the host does not hold up",
    "A coding agent has shown its output before that can be refused, some clients cannot be kept "
    "from stopping, and some would let a call run while a person is asked. What happens instead is "
    "said with the finding; a call is never let through because of it.",
    "Nothing, if what happens instead is enough. Otherwise judge at an earlier event, such as the "
    "call of a tool.",
    Example(
        "host-opencode",
        "---\ntrigger: src/**/*.py\n---\nCheck that the tests fit.\n",
    ),
)
