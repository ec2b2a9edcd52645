"""Select the settings of a repository that decide what git runs and sees.

Daily work also writes to `.git/config`: remotes and branches, the author, display options. Changes
of these settings are not changes of a protected file.
"""

from __future__ import annotations

import re

_SECTION = re.compile(rb"\s*\[\s*([\w.-]+)")
_KEY = re.compile(rb"\s*([\w-]+)")
# Keys that are daily work, by section. All other keys may decide what git runs or sees.
_DAILY = {
    section: frozenset(keys.split())
    for section, keys in {
        b"remote": b"url pushurl fetch push tagopt prune gh-resolved",
        b"branch": b"remote merge rebase pushremote description",
        b"submodule": b"url active branch",
        b"user": b"name email signingkey useconfigonly",
        b"commit": b"gpgsign verbose status",
        b"tag": b"gpgsign sort",
        b"fetch": b"prune prunetags parallel",
        b"push": b"default autosetupremote followtags",
        b"pull": b"rebase ff",
        b"merge": b"ff conflictstyle",
        b"rebase": b"autosquash autostash",
        b"rerere": b"enabled autoupdate",
        b"init": b"defaultbranch",
        b"color": b"ui branch diff status interactive",
        b"core": b"autocrlf eol safecrlf ignorecase quotepath precomposeunicode",
    }.items()
}


def deciding_settings(text: bytes) -> bytes:
    """Return the lines that are not daily work, each with its section.

    Returns the complete text if a value continues on the next line.
    """
    lines = text.splitlines()
    if any(line.endswith(b"\\") for line in lines):
        return text
    section, kept = b"", []
    for line in lines:
        if _SECTION.match(line):
            section = line.strip().lower()
            if section.endswith(b"]"):
                continue
            kept.append(section)
            section = b""  # text follows the name on this line: trust no line of this section
        elif not _is_daily(section, line):
            kept.append(section + b" " + line)
    return b"\n".join(kept)


def _is_daily(section: bytes, line: bytes) -> bool:
    name, key = _SECTION.match(section), _KEY.match(line)
    keys = _DAILY.get(name[1], frozenset()) if name else frozenset()
    return not line.strip() or (key is not None and key[1].lower() in keys)
