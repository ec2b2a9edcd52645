"""The complete message of a file policy about current changes, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.correspondence import find
from bylaw.dialects.file_policies.instructions import instructions
from bylaw.model.visible import visible_once
from bylaw.tools.printers.policies import arrow

if TYPE_CHECKING:
    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.facts import ChangeSet


def lines_of(policy: WrittenPolicy, changes: ChangeSet) -> list[str]:
    """Return the arrows of a correspondence and the instructions, or [] if satisfied."""
    finding = find(policy, changes)
    if finding is None or finding.is_satisfied:
        return []
    arrows = [arrow(*pair) for pair in finding.arrows]
    every = max(len(finding.trigger_files), len(finding.missing))
    body = instructions(policy.body, finding.trigger_files, finding.missing, every)
    told = [visible_once(line) for line in body.split("\n")] if body else []
    return [*arrows, *([""] if arrows and told else []), *told]
