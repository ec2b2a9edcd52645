"""What a person trusted for a root: one small file in the user's state folder.

    {"version": 1, "root": …, "at": …, "books": {NAME: DIGEST}, "starts": […], "settings": {…},
     "scripts": {PATH: DIGEST}}

A file that cannot be read, or that another user could have written, grants no trust.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final, Literal

from msgspec import MsgspecError, Struct, json

from bylaw.model.errors import BylawError
from bylaw.store.files import MAX_INPUT_BYTES, os_error_text
from bylaw.store.paths import as_bytes, real_path
from bylaw.store.user_state import read_user_file, remove_user_file, user_state, write_user_file

VERSION: Final = 1


class StartRecord(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One command or program that rules can start."""

    what: str
    name: str
    uid: str


class TrustRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was trusted, and when: the digest of each book, and what was shown to the person.

    `scripts` maps the paths of started repository files to their digests.
    """

    version: Literal[1]
    root: str
    at: str
    books: dict[str, str]
    starts: tuple[StartRecord, ...]
    settings: dict[str, dict[str, Any]]
    scripts: dict[str, str] = {}


def read_record(root: str) -> TrustRecord | None:
    """Return what is trusted for a root; BylawError if no state folder is safe."""
    data = read_user_file(user_state(root), _name(root), MAX_INPUT_BYTES)
    try:
        found = json.decode(data, type=TrustRecord)
    except (MsgspecError, UnicodeDecodeError):
        return None
    return found if found.root == root_name(root) else None


def save_record(root: str, record: TrustRecord) -> None:
    """Save the record; BylawError if that fails."""
    data = json.format(json.encode(record), indent=2)
    if len(data) > MAX_INPUT_BYTES:  # it could not be read back
        raise BylawError("there is more to trust than a person can review")
    try:
        write_user_file(user_state(root), _name(root), data)
    except OSError as wrong:
        raise BylawError(f"cannot save what is trusted: {os_error_text(wrong)}") from None


def remove_record(root: str) -> bool:
    """Remove the record; False if there was none, BylawError if that fails."""
    try:
        return remove_user_file(user_state(root), _name(root))
    except OSError as wrong:
        raise BylawError(f"cannot remove trust: {os_error_text(wrong)}") from None


def root_name(root: str) -> str:
    """Return the real path of a root as text that can be stored."""
    return as_bytes(real_path(root)).decode("utf-8", "backslashreplace")


def _name(root: str) -> str:
    return f"trust-{sha256(as_bytes(real_path(root))).hexdigest()}.json"
