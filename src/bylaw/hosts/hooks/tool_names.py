"""A client's name for a tool → our names for it, and the files that a call names.

Rules that are written once hold in every client: `shell`, `file.write`, `file.read`, `web.fetch`,
`web.search`, `web.run`, `agent.run`, `mcp:SERVER/TOOL`. The client's own name stays beside them.

What we read of a call that we have a name for must be of a type that clients send. Arguments of
any other tool are its own business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.hooks.base import PayloadError
from bylaw.hosts.hooks.fields import OBJECTS, TEXT, TEXT_OR_TEXTS, refuse_other
from bylaw.hosts.hooks.patch import patched_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.hosts.hooks.fields import Shape
    from bylaw.model.values import JSON

# Our names; what begins with the last one names a tool of a server.
RUNS_SHELL = "shell"
WRITES_FILES, READS_FILES = "file.write", "file.read"
FETCHES, SEARCHES, GOES_OUT = "web.fetch", "web.search", "web.run"
RUNS_AGENT = "agent.run"
OF_SERVER = "mcp:"

MAX_READINGS = 8  # of one name that may be that of a server and a tool


class Sort(NamedTuple):
    """What a tool does: our names for it, which arguments name files or hold a patch.

    `arguments` are all that we read, with what they may be, `needs` those of which there is one in
    every call.
    """

    also: tuple[str, ...]
    paths: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    arguments: Mapping[str, Shape] = {}
    needs: tuple[str, ...] = ()


# What a shell is told to run, and where; some of it by one client, some by another.
COMMANDS = ("command", "cmd", "script", "code", "input", "chars")
FOLDERS = ("cwd", "workdir", "working_directory", "directory", "dir_path")
_PATH = (
    *("file_path", "filePath", "path", "notebook_path", "target_notebook", "absolute_path"),
    "dir_path",
)
_PATHS = (*_PATH, "paths")
_PATCHES = ("command", "patch", "patchText", "input")
_NAMED: Mapping[str, Shape] = {**dict.fromkeys(_PATH, TEXT), "paths": TEXT_OR_TEXTS}

SHELL = Sort(
    (RUNS_SHELL, "container.exec"),
    arguments=dict.fromkeys((*COMMANDS, *FOLDERS), TEXT),
    needs=COMMANDS,
)
# A shell that may be given its command as words, too.
SHELL_OF_WORDS = SHELL._replace(arguments={**SHELL.arguments, "command": TEXT_OR_TEXTS})
WRITE = Sort((WRITES_FILES,), _PATHS, arguments={**_NAMED, "edits": OBJECTS}, needs=_PATHS)
PATCH = Sort(
    (WRITES_FILES,),
    _PATHS,
    _PATCHES,
    {**_NAMED, **dict.fromkeys(_PATCHES, TEXT)},
    (*_PATCHES, *_PATHS),
)
READ = Sort((READS_FILES,), _PATHS, arguments=_NAMED)
FETCH = Sort((FETCHES, GOES_OUT))
SEARCH = Sort((SEARCHES, GOES_OUT))
AGENT = Sort((RUNS_AGENT,))

CURSOR_MCP = "MCP:"
_MCP = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)")


def our_names(
    tool: str, args: Mapping[str, JSON], sorts: Mapping[str, Sort], servers: Sequence[str] = ()
) -> tuple[tuple[str, ...], dict[str, JSON]]:
    """Our names for a call, and its arguments with the files that it names as `paths`.

    `servers` are the ways to read it as `SERVER/TOOL`, where the client has one of its own.
    PayloadError if an argument that we read is what no client sends.
    """
    sort = sorts.get(tool)
    if sort is None:
        found = _MCP.fullmatch(tool)
        readings = (f"{found['server']}/{found['tool']}",) if found else servers
        return tuple(f"{OF_SERVER}{one}" for one in readings), dict(args)
    for key, shape in sort.arguments.items():
        if key in args:
            refuse_other(f"the argument `{key}` of `{tool}`", args[key], shape)
    if not sort.paths and not sort.patches:
        return sort.also, dict(args)
    # All of them, however many: what a rule does not see, it cannot forbid.
    paths = dict.fromkeys(_named(args, sort))
    return sort.also, {**args, "paths": [*paths]}


def refuse_lacking(tool: str, args: Mapping[str, JSON], sorts: Mapping[str, Sort]) -> None:
    """PayloadError if a call that is to be made does not say what it is about."""
    sort = sorts.get(tool)
    if sort is None or not sort.needs:
        return
    is_about_files = sort.paths or sort.patches
    if args["paths"] if is_about_files else any(key in args for key in sort.needs):
        return
    found = "names no file" if is_about_files else "has no command"
    known = ", ".join(f"`{key}`" for key in sort.needs)
    raise PayloadError(f"the call of `{tool}` {found}; it would be an argument: {known}")


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
