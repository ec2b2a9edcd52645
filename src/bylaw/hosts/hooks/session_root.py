"""Find the root whose rules apply to a hook event.

An agent can change its folder, and must not choose its rules that way: a folder below the root may
have settings or a repository of its own. So Bylaw uses the project folder that the client names, in
a variable or in the payload. If a client does not name it, Bylaw remembers the root of the
session's first event. It keeps that in the user's state folder, not in the repository. This root
applies to everything that the session does inside it. Outside of it, and without a session, the
root of the folder in the payload applies.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.session_names import session_name
from bylaw.runtime.own_folder import read_own, write_cached
from bylaw.runtime.own_place import STATE, is_beyond, named_place
from bylaw.runtime.paths import as_bytes, as_text, is_folder, lies_in, real_path
from bylaw.runtime.root import absolute, find_root

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Adapter, Heard

FOLDER = "sessions"
MAX_PATH = 4096
MAX_REMEMBERED = 2_000  # sessions; the oldest are removed


def root_of(adapter: Adapter, heard: Heard) -> str:
    """Return the root of an event. Raises LoadError if there is none."""
    project = _named_project(adapter, heard)
    if project:
        return find_root(project)
    found = find_root(heard.cwd)
    folder = named_place(STATE)
    if not heard.session or not folder:
        return found
    session = session_name(adapter.name, heard.session).encode("utf-8", "backslashreplace")
    return _remembered(f"{folder}/{FOLDER}", sha256(session).hexdigest()[:32], heard.cwd, found)


def _named_project(adapter: Adapter, heard: Heard) -> str:
    """Return the project folder that the client names, if it exists; else the empty text."""
    named = os.environb.get(adapter.project_variable.encode(), b"")
    for folder in (as_text(named), heard.project):
        if folder.startswith("/") and "\0" not in folder and is_folder(folder):
            return folder
    return ""


def _remembered(folder: str, name: str, here: str, found: str) -> str:
    """Return the root of the session's first event if `here` is inside it, else `found`."""
    first = as_text(read_own(folder, name, MAX_PATH))
    if not first:
        if is_beyond(STATE, found):
            write_cached(folder, name, as_bytes(found), ("", MAX_REMEMBERED))
        return found
    # Do not trust a path that the repository itself could have written.
    if not is_folder(first) or not is_beyond(STATE, first):
        return found
    place = absolute(here)
    inside = lies_in(place, first) or lies_in(real_path(place), real_path(first))
    return find_root(first) if inside else found
