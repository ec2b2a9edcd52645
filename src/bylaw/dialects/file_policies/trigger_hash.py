"""What triggered a policy → the name of its entry; what the files hold → whether it is the same.

The name knows no content, so that files which change again have the same one. The digest tells
the two apart (DW-A19).
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HASH_DIGITS = 12


def trigger_hash(policy: str, trigger_files: Iterable[str], baseline: str) -> str:
    """The hash of an entry: by Python's own way to write a list, which others rely on (DW-044)."""
    text = f"{policy}:{sorted(set(trigger_files))}:{baseline}"
    return _hex(text)[:HASH_DIGITS]


def content_digest(paths: Iterable[str], digests: Mapping[str, str]) -> str:
    """The digest of what these files hold; one that did not change or is gone holds nothing."""
    return _hex(repr([(path, digests.get(path, "")) for path in sorted(set(paths))]))


def _hex(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
