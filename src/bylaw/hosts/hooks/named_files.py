"""The files that a call names → where they lie; from the root on, so that a rule is written once.

Some clients send paths from the top of the file system, others from where the agent is. What lies
outside of the root stays as the client has written it.
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

MAX_PATH = 4_096  # characters; a longer text is none, unless it is called so and can be shortened
# Whose `paths` are ours; other tools may have arguments of that name.
_FILE_TOOLS = frozenset({WRITES_FILES, READS_FILES})
# What our names for other tools say: they change no file by themselves.
_CHANGES_NOTHING = frozenset({READS_FILES, FETCHES, SEARCHES, GOES_OUT, RUNS_AGENT})


def may_change_files(call: Call) -> bool:
    """Whether a call can change a file at all; of what nobody knows, one has to assume it."""
    return not call.also or not _CHANGES_NOTHING.issuperset(call.also)


def named_paths(call: Call) -> Iterator[str]:
    """The files that a tool for writing files names."""
    named = call.args.get("paths") if WRITES_FILES in call.also else None
    for one in named if isinstance(named, list) else ():
        if isinstance(one, str):
            yield one


def location_of(path: str, folder: str) -> str | None:
    """Where a path lies that a tool names in a folder; None if there can be no such file."""
    full = os.path.join(folder, os.path.expanduser(path))  # noqa: PTH111, PTH118 - a text
    if len(path) <= MAX_PATH:
        return full
    # The system takes no such path: it leads somewhere only if the client shortens it.
    shortened = os.path.normpath(full)
    return shortened if len(shortened) <= MAX_PATH else None


def with_paths_from_root(heard: Heard, root: str) -> Heard:
    """An event whose call names its files as rules and records do."""
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
    """A path that is named in a folder, from the top on; the empty text if it is none below it.

    A link counts by where it lies, not by where it leads: that is what a tool is asked to change.
    """
    location = location_of(path, folder)
    if location is None or "\0" in location:
        return ""
    above, _, name = location.rpartition("/")
    if name in {"", ".", ".."}:
        return name_from(top, real_path(location))
    return name_from(top, f"{real_path(above or '/')}/{name}")
