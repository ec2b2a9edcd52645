"""The settings of a repository → what of them decides what git runs and sees.

Daily work writes there, too: which remote and branch belong together, who commits, how things are
shown. Whoever changes that has changed nothing that is protected.
"""

from __future__ import annotations

import re

_SECTION = re.compile(rb"\s*\[\s*([\w.-]+)")
_KEY = re.compile(rb"\s*([\w-]+)")
# Sections of which these keys are daily work; of other keys nobody can say so.
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
    """What is not daily work, each line with its section; all where lines cannot be told apart."""
    lines = text.splitlines()
    if any(line.endswith(b"\\") for line in lines):
        return text  # a value that goes on in the next line
    section, kept = b"", []
    for line in lines:
        if _SECTION.match(line):
            section = line.strip().lower()
            if section.endswith(b"]"):
                continue
            kept.append(section)
            section = b""  # a key stands behind its name: of what follows nobody can say anything
        elif not _is_daily(section, line):
            kept.append(section + b" " + line)
    return b"\n".join(kept)


def _is_daily(section: bytes, line: bytes) -> bool:
    name, key = _SECTION.match(section), _KEY.match(line)
    keys = _DAILY.get(name[1], frozenset()) if name else frozenset()
    return not line.strip() or (key is not None and key[1].lower() in keys)
