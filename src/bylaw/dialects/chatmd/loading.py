"""A ChatMD file → its policy and its rules, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.dialects.base import Loaded
from bylaw.dialects.chatmd.lowering import lowered, no_rules
from bylaw.dialects.chatmd.reading import read_file
from bylaw.model.diagnostic import has_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.model.procedure import Group


def load(files: Sequence[RuleFile]) -> Loaded:
    """Load the policy and the rules of a file."""
    if not files:
        return Loaded(no_rules())
    (file,) = files
    reading = read_file(file)
    groups: tuple[Group, ...] = lowered(
        reading.written, file, reading.findings, reading.places.span
    )
    found = [reading.places.relocated(one) for one in reading.findings.told()]
    if has_errors(found):
        groups = tuple(replace(group, rules=()) for group in groups)
    return Loaded(groups, tuple(found))
