"""The files of a book → their policies, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Loaded
from bylaw.dialects.file_policies.book_checks import duplicate_ids, same_titles
from bylaw.dialects.file_policies.lowering import lowered, skips_abandoned
from bylaw.dialects.file_policies.reader import read_noted
from bylaw.model.uid import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile


def load(files: Sequence[RuleFile]) -> Loaded:
    """Load the policies of all files; an error in one file does not affect the others.

    The built-in file has no policy. It adds the rule about removed and disabled policies.
    """
    written = [file for file in files if file.path != BUILT_IN]
    others = [skips_abandoned(written)] if len(written) < len(files) else []
    read = [(file, read_noted(file.source, file.known)) for file in written]
    sound = [(one.policy, file) for file, one in read if one.policy is not None]
    duplicates = duplicate_ids(sound)
    refused = {id(one.source) for one in duplicates}
    in_force = [(policy, file) for policy, file in sound if id(file.source) not in refused]
    findings = [finding for _, one in read for finding in one.findings]
    return Loaded(
        groups=(lowered(in_force, others),),
        diagnostics=(*findings, *duplicates, *same_titles(in_force)),
        notes={file.digest: one.note for file, one in read if one.note},
    )
