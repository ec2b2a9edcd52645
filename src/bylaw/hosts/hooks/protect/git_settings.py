"""The settings of a repository → what of them decides what git runs and sees.

Daily work writes there, too: which remote and branch belong together, and who commits. Whoever
changes that has changed nothing that is protected.
"""

from __future__ import annotations

import re

_SECTION = re.compile(rb"\s*\[\s*([\w.-]+)")
_KEY = re.compile(rb"\s*([\w-]+)")
# Sections of which these keys are daily work; of other keys nobody can say so.
_DAILY = {
    b"remote": frozenset({b"url", b"pushurl", b"fetch", b"push", b"tagopt", b"prune"}),
    b"branch": frozenset({b"remote", b"merge", b"rebase", b"pushremote", b"description"}),
    b"user": frozenset({b"name", b"email"}),
}


def deciding_settings(text: bytes) -> bytes:
    """The text without the lines of daily work; whole where its lines cannot be told apart."""
    lines = text.splitlines(keepends=True)
    if any(line.rstrip().endswith(b"\\") for line in lines):
        return text  # a value that goes on in the next line
    section, kept = b"", []
    for line in lines:
        header = _SECTION.match(line)
        if header is not None:
            section = header[1].lower()
            # A key may stand behind the name of its section.
            if section not in _DAILY or not line.rstrip().endswith(b"]"):
                kept.append(line)
        elif not _is_daily(section, line):
            kept.append(line)
    return b"".join(kept)


def _is_daily(section: bytes, line: bytes) -> bool:
    key = _KEY.match(line)
    return key is not None and key[1].lower() in _DAILY.get(section, ())
