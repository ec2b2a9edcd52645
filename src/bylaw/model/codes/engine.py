"""Codes of decisions: why a guard could not be judged beyond its own values."""

from bylaw.model.codes import Code, Example

FACT_UNKNOWN = Code(
    "fact-unknown",
    "a rule reads a fact that cannot be had",
    "A decision depends only on what is recorded. A fact that nobody can gather is unknown, and "
    "reading it is an error of the guard, never a silent false.",
    "Run where the fact can be had (a git repository, a bus, Lua for a script), or drop the rule.",
    Example("decide-unknown-fact", "approvals"),
)
FACT_MISSING = Code(
    "fact-missing",
    "a rule still asks for facts after they were gathered four times",
    "Gathering has to end. A check that asks for another fact each time never comes to a result.",
    "Mend the check so that it names what it needs.",
    Example("decide-endless-needs", "scripts"),
)
GUARD_CRASH = Code(
    "guard-crash",
    "the check of a rule broke",
    "A check that raises an unexpected error counts as a guard error, so that it cannot open a "
    "gate; what that means is up to the language.",
    "Report it to whoever wrote the check, with the detail in the trace.",
    Example("decide-crash", "check"),
)
VALUE_NOT_FINITE = Code(
    "value-not-finite",
    "a variable would become infinite or no number at all",
    "Variables are recorded with the session, and JSON has no word for such a number; stored as "
    "null it would silently mean something else.",
    "Test the value first, or keep it within bounds.",
    Example("decide-infinite", "1e308 * 10"),
)
FOREIGN_VARIABLE = Code(
    "foreign-variable",
    "a rule would write a variable of another language",
    "Variables are kept by language, so that no book can change what another one decides.",
    "Report it to whoever wrote the language: its rules may write only to spaces of its own.",
    Example("decide-foreign", "other:"),
)
