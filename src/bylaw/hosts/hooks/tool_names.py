"""A client's name for a tool → our names for it, and the files that a call names.

Rules that are written once hold in every client: `shell`, `file.write`, `file.read`, `web.fetch`,
`web.search`, `web.run`, `agent.run`, `mcp:SERVER/TOOL`. The client's own name stays beside them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.patch import patched_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.model.values import JSON

MAX_READINGS = 8  # of one name that may be that of a server and a tool


class Sort(NamedTuple):
    """What a tool does: our names for it, and which arguments name files or hold a patch."""

    also: tuple[str, ...]
    paths: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()


_PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "dir_path")
SHELL = Sort(("shell", "container.exec"))
WRITE = Sort(("file.write",), (*_PATHS, "paths"))
PATCH = Sort(("file.write",), _PATHS, ("command", "patch", "patchText", "input"))
READ = Sort(("file.read",), (*_PATHS, "paths"))
FETCH = Sort(("web.fetch", "web.run"))
SEARCH = Sort(("web.search", "web.run"))
AGENT = Sort(("agent.run",))

CURSOR_MCP = "MCP:"
_MCP = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)")


def our_names(
    tool: str, args: Mapping[str, JSON], sorts: Mapping[str, Sort], servers: Sequence[str] = ()
) -> tuple[tuple[str, ...], dict[str, JSON]]:
    """Our names for a call, and its arguments with the files that it names as `paths`.

    `servers` are the ways to read it as `SERVER/TOOL`, where the client has one of its own.
    """
    sort = sorts.get(tool)
    if sort is None:
        found = _MCP.fullmatch(tool)
        readings = (f"{found['server']}/{found['tool']}",) if found else servers
        return tuple(f"mcp:{one}" for one in readings), dict(args)
    if not sort.paths and not sort.patches:
        return sort.also, dict(args)
    # All of them, however many: what a rule does not see, it cannot forbid.
    paths = dict.fromkeys(_named(args, sort))
    return sort.also, {**args, "paths": [*paths]}


def server_and_tool(name: str, separator: str) -> tuple[str, ...]:
    """Every way to read `SERVER-TOOL`: either may hold the separator, and no client says where."""
    parts = name.split(separator)
    ends = range(1, min(len(parts), MAX_READINGS + 1))
    return tuple(f"{separator.join(parts[:at])}/{separator.join(parts[at:])}" for at in ends)


def _named(args: Mapping[str, JSON], sort: Sort) -> Iterator[str]:
    for key in sort.paths:
        value = args.get(key)
        values = value if isinstance(value, list) else [value]
        yield from (one for one in values if isinstance(one, str) and one)
    for key in sort.patches:
        value = args.get(key)
        if isinstance(value, str):
            yield from patched_paths(value)
