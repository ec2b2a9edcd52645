"""Codes of events: why a line of JSON is no event."""

from bylaw.model.codes import Code, Example

EVENT_SYNTAX = Code(
    "event-syntax",
    "the line is not JSON",
    "An event is one JSON object in UTF-8 on one line.",
    "Mend the line at the column that the message names.",
    Example("event", '{"kind": "prompt", "text": '),
)
EVENT_KIND = Code(
    "event-kind",
    "an event without a kind, or of a kind that does not exist",
    "`kind` decides which fields an event has and which rules look at it.",
    "Use one of the kinds that the message names.",
    Example("event", '{"kind": "promt", "text": "hello"}'),
)
EVENT_FIELD = Code(
    "event-field",
    "a field that is missing, not known, or of the wrong type",
    "The fields of each kind are a closed list, so that a mistyped name cannot open a gate.",
    "Write the field as the message says.",
    Example("event", '{"kind": "tool.before", "tool": 5}'),
)
EVENT_DUPLICATE_KEY = Code(
    "event-duplicate-key",
    "an object has the same key twice",
    "Two readers could take different ones, and only one of them would have been judged.",
    "Remove one of the two.",
    Example("event", '{"kind": "tool.before", "tool": "ls", "tool": "rm"}'),
)
EVENT_TOO_DEEP = Code(
    "event-too-deep",
    "lists and objects are nested too deeply",
    "Nesting is bounded, so that no event can exhaust the program that reads it.",
    "Send a flatter value.",
    Example(
        "event",
        '{"kind": "custom", "type": "t", "payload": {"a": ' + "[" * 200 + "]" * 200 + "}}",
    ),
)
EVENT_TOO_LONG = Code(
    "event-too-long",
    "the line is longer than an event can be",
    "Events are read one line at a time, and no line may fill the memory.",
    "Send less: the beginning of a long result, or its digest.",
    Example("event-size", "16777217"),
)
TOO_MANY_SESSIONS = Code(
    "too-many-sessions",
    "the events are of more sessions than fit side by side",
    "Every session is kept until the end, because a later event may belong to it.",
    "Use the id of one conversation for all its events, or decide the sessions in several runs.",
    Example("event-sessions", "100001"),
)
