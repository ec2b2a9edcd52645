"""A client's name of a tool → Bylaw's names, and the files that a call names.

One rule works in all clients: `shell`, `file.write`, `file.read`, `web.fetch`, `web.search`,
`web.run`, `agent.run`, `mcp:SERVER/TOOL`. The client's own name is kept as well.

If a tool has a name from Bylaw, the arguments that Bylaw reads must have a type that clients send.
Arguments of other tools are not checked.
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

# Bylaw's names. The last one is the prefix of tools of MCP servers.
RUNS_SHELL = "shell"
WRITES_FILES, READS_FILES = "file.write", "file.read"
FETCHES, SEARCHES, GOES_OUT = "web.fetch", "web.search", "web.run"
RUNS_AGENT = "agent.run"
OF_SERVER = "mcp:"

MAX_READINGS = 8  # ways to split one name into a server and a tool


class Sort(NamedTuple):
    """The kind of a tool: Bylaw's names, and which arguments name files or hold a patch.

    `arguments` are all arguments that Bylaw reads, with their types. Every call has at least one of
    `needs`.
    """

    also: tuple[str, ...]
    paths: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    arguments: Mapping[str, Shape] = {}
    needs: tuple[str, ...] = ()


# Arguments of a shell with what it runs, and with the folder. Each client uses some of them.
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
# A shell whose command may also be a list of words.
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
    """Return Bylaw's names of a tool, and the arguments with the files that they name as `paths`.

    `servers` are the ways to read the name as `SERVER/TOOL`, if the client has its own form of it.
    Raises PayloadError if an argument that Bylaw reads has a type that no client sends.
    """
    sort = sorts.get(tool)
    if sort is None:
        found = _MCP.fullmatch(tool)
        readings = (f"{found['server']}/{found['tool']}",) if found else servers
        return tuple(f"{OF_SERVER}{one}" for one in readings), dict(args)
    for key, shape in sort.arguments.items():
        if key in args:
            refuse_other(f"argument `{key}` of `{tool}`", args[key], shape)
    if not sort.paths and not sort.patches:
        return sort.also, dict(args)
    # All of them, without a limit: a rule cannot deny what it does not see.
    paths = dict.fromkeys(_named(args, sort))
    return sort.also, {**args, "paths": [*paths]}


def refuse_lacking(tool: str, args: Mapping[str, JSON], sorts: Mapping[str, Sort]) -> None:
    """Raise PayloadError if a call names no command or no file, and its kind of tool needs one."""
    sort = sorts.get(tool)
    if sort is None or not sort.needs:
        return
    is_about_files = sort.paths or sort.patches
    if args["paths"] if is_about_files else any(key in args for key in sort.needs):
        return
    found = "names no file" if is_about_files else "has no command"
    known = ", ".join(f"`{key}`" for key in sort.needs)
    raise PayloadError(f"call of `{tool}` {found}; expected one of the arguments {known}")


def server_and_tool(name: str, separator: str) -> tuple[str, ...]:
    """Return every way to split `SERVER-TOOL`: either part may contain the separator."""
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
