"""Check the events and diagnostics that a case expects.

The caller passes a function that decides like `bylaw decide --rules FILE… --state`. This module
compares the results and returns the edits that would make the page right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.diagnostic import Diagnostic, Severity, in_order
from bylaw.model.suggest import did_you_mean
from bylaw.tools.printers import text
from bylaw.tools.suites.expectations import diagnostic_line
from bylaw.tools.suites.json_text import write_json
from bylaw.tools.suites.line_lists import LineKind, compare_lines
from bylaw.tools.suites.matching import differences, reshaped, shown
from bylaw.tools.suites.outcome import Edit, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON
    from bylaw.tools.suites.page import Case, Expected

INDENT = 2


class Decided(Struct, frozen=True):
    """The lines of `bylaw decide --state`, and the diagnostics of the rule files."""

    lines: Sequence[Mapping[str, JSON]]
    diagnostics: Sequence[Diagnostic]


class Decider(Struct, frozen=True):
    """Decides events (JSON Lines) with rule files (paths, in order) of the given languages."""

    decide: Callable[[Sequence[str], bytes], Decided]
    dialects: Collection[str]


def try_decisions(source: SourceFile, case: Case, decider: Decider) -> Iterator[Outcome]:
    """Compare the expectations of a case with the decisions made in the current folder."""
    if not (case.decisions or case.states or case.diagnostics):
        return
    paths = [file.path for file in case.files if file.word in decider.dialects]
    if not paths:
        yield Outcome(case.place, _no_rule_file(case, decider.dialects))
        return
    decided = decider.decide(paths, "".join(case.events).encode())
    yield from _diagnostics(source, case, in_order(decided.diagnostics))
    lines = [dict(line) for line in decided.lines]
    if case.decisions:
        yield from compare_lines(_DECISION, source, case.decisions, lines)
    for state in case.states:
        yield _state(source, state, lines)


def _no_rule_file(case: Case, dialects: Collection[str]) -> str:
    first = case.files[0].word if case.files else ""
    help_ = did_you_mean(first, dialects)
    return f"this case has no rule file: the first word of a file block names its language; {help_}"


def _diagnostics(source: SourceFile, case: Case, found: Sequence[Diagnostic]) -> Iterator[Outcome]:
    if case.diagnostics:
        told: list[JSON] = [diagnostic_line(d.severity, d.code, d.underlined) for d in found]
        yield from compare_lines(_DIAGNOSTIC, source, case.diagnostics, told)
    elif errors := [one for one in found if one.severity is Severity.ERROR]:
        # Without the refused file, the decisions would not be those of the rules on the page.
        why = "a rule file has errors, but no `diagnostics` block expects them"
        yield Outcome(case.place, f"{why}\n{text.render(errors)}")


def _differing_decision(expected: JSON, real: JSON) -> Iterator[str]:
    wrong = list(differences(expected, real))
    yield from wrong
    if wrong:
        yield f"in full {shown(real)}"


def _rewritten_decision(expected: JSON, real: JSON) -> str:
    # `{}`, or a shape without a key of the line, is filled with the most important keys.
    return write_json(reshaped(expected, real) or reshaped(_WHAT_MATTERS, real))


def _differing_diagnostic(expected: JSON, real: JSON) -> Iterator[str]:
    if expected != real:
        yield f"it is {_quoted(real)}, expected {_quoted(expected)}"


def _quoted(line: JSON) -> str:
    return f"`{line}`"


_WHAT_MATTERS: JSON = {"verdict": "", "error": {"code": ""}}
_DECISION = LineKind("decision", _differing_decision, _rewritten_decision, shown)
_DIAGNOSTIC = LineKind("diagnostic", _differing_diagnostic, lambda _, real: str(real), _quoted)


def _state(source: SourceFile, expected: Expected, lines: Sequence[Mapping[str, JSON]]) -> Outcome:
    states = [line["state"] for line in lines if "state" in line]
    if not states:
        return Outcome(expected.place, "no state: no event was decided")
    wrong = list(differences(expected.value, states[-1]))
    if not wrong:
        return Outcome(expected.place)
    indent = INDENT if "\n" in source.slice(expected.place) else None
    told = write_json(reshaped(expected.value, states[-1]), indent=indent)
    failure = "\n".join(f"last state: {sentence}" for sentence in wrong)
    return Outcome(expected.place, failure, Edit(expected.place, told))
