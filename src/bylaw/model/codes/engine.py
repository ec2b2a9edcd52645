"""Codes for decisions: why a guard or a step failed, apart from its own values."""

from bylaw.model.codes import Code, Example

FACT_UNKNOWN = Code(
    "fact-unknown",
    "a rule reads a fact that is not available",
    "A decision depends only on what is recorded. A fact that cannot be gathered is unknown. "
    "Reading it is a guard error, never silently false.",
    "Run where the fact is available (a git repository, a bus, Lua for a script), or delete the "
    "rule.",
    Example("decide-unknown-fact", "approvals"),
)
FACT_MISSING = Code(
    "fact-missing",
    "a rule still requests facts after they were gathered four times",
    "Gathering must end. A check that requests another fact each time never has a result.",
    "Change the check so that it requests all facts that it needs.",
    Example("decide-endless-needs", "scripts"),
)
GUARD_CRASH = Code(
    "guard-crash",
    "the check of a rule raised an unexpected error",
    "An unexpected error counts as a guard error, so that it cannot allow anything by itself. The "
    "language decides what follows.",
    "Report it to the author of the check, with the detail from the trace.",
    Example("decide-crash", "check"),
)
VALUE_NOT_FINITE = Code(
    "value-not-finite",
    "a variable would become infinite or not a number",
    "Variables are recorded with the session, and JSON has no such numbers. Stored as null, the "
    "value would silently change.",
    "Test the value first, or keep it within limits.",
    Example("decide-infinite", "1e308 * 10"),
)
FOREIGN_VARIABLE = Code(
    "foreign-variable",
    "a rule would write a variable of another language",
    "Each language has its own variables, so that no book can change what another one decides.",
    "Report it to the author of the language: its rules can only write to its own spaces.",
    Example("decide-foreign", "other:"),
)
