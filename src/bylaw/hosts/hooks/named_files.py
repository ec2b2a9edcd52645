"""Paths that a call names → paths relative to the root, so that one rule works in all clients.

Some clients send absolute paths, others paths relative to the agent's folder. Paths outside of the
root stay as the client sent them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks.tool_names import (
    FETCHES,
    GOES_OUT,
    READS_FILES,
    RUNS_AGENT,
    SEARCHES,
    WRITES_FILES,
)
from bylaw.runtime.paths import name_from, real_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.base import Call, Heard
    from bylaw.model.values import JSON

MAX_PATH = 4_096  # characters; a longer path is accepted only if it can be shortened
# Bylaw sets `paths` for these. Other tools may have an argument of that name.
_FILE_TOOLS = frozenset({WRITES_FILES, READS_FILES})
# Tools with these names change no files themselves.
_CHANGES_NOTHING = frozenset({READS_FILES, FETCHES, SEARCHES, GOES_OUT, RUNS_AGENT})


def may_change_files(call: Call) -> bool:
    """Return whether a call can change a file. An unknown tool is assumed to."""
    return not call.also or not _CHANGES_NOTHING.issuperset(call.also)


def named_paths(call: Call) -> Iterator[str]:
    """Yield the files that a tool for writing files names."""
    named = call.args.get("paths") if WRITES_FILES in call.also else None
    for one in named if isinstance(named, list) else ():
        if isinstance(one, str):
            yield one


def location_of(path: str, folder: str) -> str | None:
    """Return the full path of a file that a tool names in a folder; None if it cannot exist."""
    full = os.path.join(folder, os.path.expanduser(path))  # noqa: PTH111, PTH118 - only text
    if len(path) <= MAX_PATH:
        return full
    # The system rejects such a path, so it names a file only if the client shortens it.
    shortened = os.path.normpath(full)
    return shortened if len(shortened) <= MAX_PATH else None


def with_paths_from_root(heard: Heard, root: str) -> Heard:
    """Return the event with the paths of its call as rules and records have them."""
    call = heard.call
    if call is None or not _FILE_TOOLS.intersection(call.also):
        return heard
    named = call.args.get("paths")
    top = real_path(root)
    paths: list[JSON] = [
        *dict.fromkeys(
            path_below(top, path, heard.cwd) or path
            for path in (named if isinstance(named, list) else ())
            if isinstance(path, str)
        )
    ]
    return replace(heard, call=replace(call, args={**call.args, "paths": paths}))


def path_below(top: str, path: str, folder: str) -> str:
    """Return a path that is named in a folder, relative to `top`; empty if it is not below `top`.

    A link is located where it is, not where it points to: a tool is asked to change that place.
    """
    location = location_of(path, folder)
    if location is None or "\0" in location:
        return ""
    above, _, name = location.rpartition("/")
    if name in {"", ".", ".."}:
        return name_from(top, real_path(location))
    return name_from(top, f"{real_path(above or '/')}/{name}")
