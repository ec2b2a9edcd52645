"""The hash that names an entry, and the digest of the content that the entry is about.

The hash does not depend on content, so files that change again keep their entry. The digest shows
the difference (DW-A19). It includes the text of the command and the files that the command names,
so a fixed command runs again.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.commands import named_files
from bylaw.model.fact_paths import file_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HASH_DIGITS = 12


def trigger_hash(policy: str, trigger_files: Iterable[str], baseline: str) -> str:
    """Return the hash of an entry. It uses Python's text of a list; others rely on it (DW-044).

    Names that are not UTF-8 are in it with surrogates, as Python has them (DW-A13).
    """
    names = sorted({file_path(path) for path in trigger_files})
    text = f"{policy}:{names}:{baseline}"
    return _hex(text)[:HASH_DIGITS]


def looked_at(paths: Iterable[str], command: str = "") -> set[str]:
    """Return all files whose content the digest covers: the given ones and those of the command."""
    return {*paths, *named_files(command)} if command else set(paths)


def content_digest(paths: Iterable[str], digests: Mapping[str, str], command: str = "") -> str:
    """Return the digest of these files. A file without a digest counts as empty."""
    held = [(path, digests.get(path, "")) for path in sorted(looked_at(paths, command))]
    return _hex(repr((command, held) if command else held))


def _hex(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
