"""Codes for events: why a line is not an event."""

from bylaw.model.codes import Code, Example

EVENT_SYNTAX = Code(
    "event-syntax",
    "the line is not JSON",
    "An event is one JSON object in UTF-8 on one line.",
    "Fix the line at the column that the message names.",
    Example("event", '{"kind": "prompt", "text": '),
)
EVENT_KIND = Code(
    "event-kind",
    "an event has no kind or an unknown kind",
    "`kind` decides which fields an event has and which rules handle it.",
    "Use one of the kinds that the message names.",
    Example("event", '{"kind": "promt", "text": "hello"}'),
)
EVENT_FIELD = Code(
    "event-field",
    "a field is missing, unknown or of the wrong type",
    "The fields of each kind are a closed list, so that a misspelt name cannot disable a gate.",
    "Write the field as the message says.",
    Example("event", '{"kind": "tool.before", "tool": 5}'),
)
EVENT_DUPLICATE_KEY = Code(
    "event-duplicate-key",
    "an object has the same key twice",
    "Two readers could use different values, and Bylaw would have decided only one of them.",
    "Remove one of the two.",
    Example("event", '{"kind": "tool.before", "tool": "ls", "tool": "rm"}'),
)
EVENT_TOO_DEEP = Code(
    "event-too-deep",
    "lists and objects are nested too deeply",
    "Nesting is limited, so that no event can exhaust the program that reads it.",
    "Send a value with less nesting.",
    Example(
        "event",
        '{"kind": "custom", "type": "t", "payload": {"a": ' + "[" * 200 + "]" * 200 + "}}",
    ),
)
EVENT_TOO_LONG = Code(
    "event-too-long",
    "the line is longer than the limit for events",
    "Events are read one line at a time, and no line may fill the memory.",
    "Send less: the beginning of a long result, or its digest.",
    Example("event-size", "16777217"),
)
TOO_MANY_SESSIONS = Code(
    "too-many-sessions",
    "the events belong to more sessions than one run can hold",
    "Every session is kept until the end, because a later event may belong to it.",
    "Use the id of one conversation for all its events, or decide the sessions in several runs.",
    Example("event-sessions", "100001"),
)
