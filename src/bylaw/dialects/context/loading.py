"""Load all files of the language as one document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import Loaded
from bylaw.dialects.context.lowering import lowered, no_rules
from bylaw.dialects.context.problems import DocumentError
from bylaw.dialects.context.reading import read_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile


def load(files: Sequence[RuleFile]) -> Loaded:
    """Load the commands and checks of all files; if one has an error, none of them."""
    if not files:
        return Loaded(no_rules())
    try:
        document = read_document([file.source for file in files])
    except DocumentError as wrong:
        return Loaded(no_rules(), tuple(problem.diagnostic() for problem in wrong.problems))
    return Loaded(lowered(document, {file.path: file.digest for file in files}))
