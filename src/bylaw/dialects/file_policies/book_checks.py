"""Checks across all policies of a book: identifiers and names that are used twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.front_matter import first_line
from bylaw.dialects.file_policies.promises import promise_name
from bylaw.model.codes.policies import POLICY_DUPLICATE_ID, POLICY_SAME_TITLE
from bylaw.model.diagnostic import error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.diagnostic import Diagnostic

    Policies = Sequence[tuple[WrittenPolicy, RuleFile]]


def duplicate_ids(policies: Policies) -> list[Diagnostic]:
    """Return an error for each file that has the same name as another file."""
    by_id: dict[str, list[RuleFile]] = {}
    for policy, file in policies:
        by_id.setdefault(policy.id, []).append(file)
    return [
        error(
            POLICY_DUPLICATE_ID,
            f"duplicate policy identifier `{identifier}`: `{_other(files, file).path}` has it too",
            file.source,
            first_line(file.source),
            help="rename one of the two files",
        )
        for identifier, files in by_id.items()
        for file in files
        if len(files) > 1
    ]


def same_titles(policies: Policies) -> list[Diagnostic]:
    """Return a warning for each policy that shares a promise name with an earlier one."""
    return list(_same_titles(policies))


def _same_titles(policies: Policies) -> Iterator[Diagnostic]:
    taken: dict[str, str] = {}
    for policy, file in policies:
        names = {promise_name(policy.id), promise_name(policy.title)}
        other = next((taken[one] for one in sorted(names) if one in taken), "")
        if other:
            headline = f"a promise for `{policy.title}` also acknowledges the policy `{other}`"
            help_ = "give each policy a different `name`"
            span = first_line(file.source)
            yield warning(POLICY_SAME_TITLE, headline, file.source, span, help=help_)
        for one in names:
            taken.setdefault(one, policy.id)


def _other(files: Sequence[RuleFile], file: RuleFile) -> RuleFile:
    return next(one for one in files if one is not file)
