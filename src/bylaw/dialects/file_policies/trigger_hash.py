"""What triggered a policy → the name of its entry; what the files hold → whether it is the same.

The name knows no content, so that files which change again have the same one. The digest tells
the two apart (DW-A19). Of a command it also knows the text and the files that it names, so that one
that was mended is tried again.
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
    """The hash of an entry: by Python's own way to write a list, which others rely on (DW-044).

    Names stand in it as Python has them, those that are no UTF-8 with surrogates (DW-A13).
    """
    names = sorted({file_path(path) for path in trigger_files})
    text = f"{policy}:{names}:{baseline}"
    return _hex(text)[:HASH_DIGITS]


def looked_at(paths: Iterable[str], command: str = "") -> set[str]:
    """All files whose content counts for an entry: its own, and those that its command names."""
    return {*paths, *named_files(command)} if command else set(paths)


def content_digest(paths: Iterable[str], digests: Mapping[str, str], command: str = "") -> str:
    """The digest of what these files hold; one that did not change or is gone holds nothing."""
    held = [(path, digests.get(path, "")) for path in sorted(looked_at(paths, command))]
    return _hex(repr((command, held) if command else held))


def _hex(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
