"""Read the commits of HEAD and of branches from the files of a git folder."""

from __future__ import annotations

import os
import re

from bylaw.runtime.paths import as_bytes, as_text, is_folder, is_there
from bylaw.runtime.reading import regular_bytes

MAX_REF_BYTES = 4096
MAX_PACKED_BYTES = 16 << 20
MAX_STEPS = 5  # symbolic refs to follow

_LEADS_TO = "ref: "
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def git_folder(top: str) -> str:
    """Return the git folder of a work tree. Raise OSError or ValueError if there is none."""
    folder = f"{top}/.git"
    return folder if is_folder(folder) else joined(top, _line(folder).removeprefix("gitdir: "))


def shared_folder(folder: str) -> str:
    """Return the git folder that all work trees of a repository share."""
    elsewhere = f"{folder}/commondir"
    return joined(folder, _line(elsewhere)) if is_there(elsewhere) else folder


def head_commit(folder: str) -> str:
    """Return the commit of HEAD. Raise OSError or ValueError if the files do not name it."""
    head = _line(f"{folder}/HEAD")
    return _followed(shared_folder(folder), head)


def ref_commit(shared: str, ref: str) -> str:
    """Return the commit of a branch. Raise OSError or ValueError if the files do not name it."""
    return _followed(shared, f"{_LEADS_TO}{ref}")


def has_ref(shared: str, ref: str) -> bool:
    """Whether the files name a branch. Some repositories store branches in another form."""
    try:
        return bool(ref_commit(shared, ref))
    except (OSError, ValueError):
        return False


def joined(folder: str, path: str) -> str:
    """Return an absolute path as it is, and a relative one below a folder."""
    return as_text(os.path.join(as_bytes(folder), as_bytes(path)))  # noqa: PTH118 - bytes


def _followed(shared: str, line: str) -> str:
    for _ in range(MAX_STEPS):
        if not line.startswith(_LEADS_TO):
            break
        ref = line.removeprefix(_LEADS_TO)
        try:
            line = _line(f"{shared}/{ref}")
        except FileNotFoundError:
            line = _packed(shared, ref)
    return _commit(line)


def _packed(folder: str, ref: str) -> str:
    packed = as_text(regular_bytes(f"{folder}/packed-refs", MAX_PACKED_BYTES))
    found = (line.partition(" ") for line in packed.splitlines())
    return next((name for name, _, its_ref in found if its_ref == ref), "")


def _commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise ValueError("no commit")
    return text


def _line(path: str) -> str:
    return as_text(regular_bytes(path, MAX_REF_BYTES)).strip()
