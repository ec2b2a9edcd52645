"""Functions for patterns and file policies, with the names that the policy document gives them.

bylaw.match_pattern("src/{path}.py", "src/foo/bar.py")         → {"path": "foo/bar"}
bylaw.resolve_pattern("tests/{path}_test.py", {"path": "foo"}) → "tests/foo_test.py"
bylaw.load_policies(".deepwork/policies")                      → the policies, sorted by file name
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.languages.file_policies.reader import read_policy
from bylaw.model.codes import Code, templates
from bylaw.model.codes.templates import UNRESOLVED_VARIABLE
from bylaw.model.diagnostic import Severity, error
from bylaw.model.display import brief, visible
from bylaw.model.errors import LoadError, PatternError, PolicyError
from bylaw.model.source import Span
from bylaw.model.suggest import did_you_mean
from bylaw.paths import normalise, pattern
from bylaw.paths.matcher import any_regex
from bylaw.paths.syntax import variable_wildcard
from bylaw.store.files import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from bylaw.languages.file_policies.syntax import PolicySyntax
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.paths import Pattern

_PATTERN_CODES = {one.name for one in vars(templates).values() if isinstance(one, Code)}


def match_pattern(text: str, filepath: str) -> dict[str, str] | None:
    """Return the parts of a path that the variables capture; None without a match (DW-029)."""
    path = normalise(filepath)
    made = pattern(text)
    return None if path is None else made.match(path)


def pattern_to_regex(text: str) -> str:
    """Return a regular expression for a full, normalised path, with one named group a variable."""
    return any_regex(pattern(text).tokens)


def resolve_pattern(text: str, variables: Mapping[str, str]) -> str:
    """Replace the variables of a pattern with values.

    A variable must be able to capture its value, so no result leaves the repository.
    Raises PatternError if a value is missing or invalid.
    """
    made = pattern(text)
    for name in made.variables:
        if name not in variables:
            raise _unresolved_error(made, name, "has no value", did_you_mean(name, variables))
        if pattern(variable_wildcard(name).written).match(variables[name]) is None:
            value = f"`{visible(brief(variables[name]))}`"
            raise _unresolved_error(
                made, name, f"cannot be {value}", "use a part of a path as its value"
            )
    return made.resolve(variables).text


def _unresolved_error(made: Pattern, name: str, what: str, help_: str) -> PatternError:
    written = variable_wildcard(name).written
    start = made.text.index(written)
    span = Span(start, start + len(written))
    headline = f"`{written}` cannot be resolved: it {what}"
    return PatternError([error(UNRESOLVED_VARIABLE, headline, made.source, span, help=help_)])


def validate_pattern(text: str) -> None:
    """Raise PatternError with all problems of a pattern, if it has any."""
    pattern(text)


def load_policies(policies_dir: str | PathLike[str]) -> list[PolicySyntax]:
    """Load the policies of all `.md` files of a folder, sorted by name (DW-110, DW-113).

    Raises PolicyError with all problems, or PatternError if any of them is in a pattern.
    """
    read = [_read_policy_file(path) for path in sorted(Path(policies_dir).glob("*.md"))]
    wrong = [one for _, found in read for one in found if one.severity is Severity.ERROR]
    if wrong:
        of_pattern = any(one.code in _PATTERN_CODES for one in wrong)
        raise PatternError(wrong) if of_pattern else PolicyError(wrong)
    return [policy for policy, _ in read if policy is not None]


def _read_policy_file(path: Path) -> tuple[PolicySyntax | None, list[Diagnostic]]:
    try:
        return read_policy(read_regular_file(str(path), str(path)))
    except LoadError as unreadable:
        return None, unreadable.diagnostics
