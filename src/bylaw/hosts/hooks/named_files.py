"""The files that a call names → the same from the root on, so that a rule is written once.

Some clients send paths from the top of the file system, others from where the agent is. What lies
outside of the root stays as the client has written it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks.protect.calls import location_of
from bylaw.runtime.paths import name_from, real_path

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Heard
    from bylaw.model.values import JSON

# Whose `paths` are ours; other tools may have arguments of that name.
_FILE_TOOLS = frozenset({"file.write", "file.read"})


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
