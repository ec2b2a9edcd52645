"""The body of a policy and the files of a finding → the text that the agent reads.

Three placeholders are filled in, once. Everything else is plain text, even if it looks like one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.model.fact_paths import shown_path
from bylaw.model.visible import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIGGER_FILE, TRIGGER_FILES = "{trigger_file}", "{trigger_files}"
EXPECTED_FILES = "{expected_files}"
MAX_NAMED = 20  # files in the text; the lists of the same step have all of them
_PLACEHOLDER = re.compile("|".join(map(re.escape, (TRIGGER_FILE, TRIGGER_FILES, EXPECTED_FILES))))


def instructions(
    body: str, trigger_files: Sequence[str], missing: Sequence[str], most: int = MAX_NAMED
) -> str:
    """Fill at most `most` files into each placeholder; `{expected_files}` gets the missing ones."""
    values = {
        TRIGGER_FILE: named(trigger_files, 1),
        TRIGGER_FILES: named(trigger_files, most),
        EXPECTED_FILES: named(missing, most),
    }
    return _PLACEHOLDER.sub(lambda found: values[found[0]], body)


def named(paths: Sequence[str], most: int) -> str:
    """List at most `most` paths for people on one line, and how many more there are."""
    return listed(paths, most, shown_path)
