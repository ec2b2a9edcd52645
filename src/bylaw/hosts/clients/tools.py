"""A client's name of a tool → Bylaw's names, and the files that a call names.

One rule works in all clients: `shell`, `file.write`, `file.read`, `web.fetch`, `web.search`,
`web.run`, `agent.run`, `mcp:SERVER/TOOL`. The client's own name is kept as well.

If a tool has a name from Bylaw, the arguments that Bylaw reads must have a type that clients send.
Arguments of other tools are not checked. Paths in patches
and diffs are read here as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.hosts.clients.base import PayloadError
from bylaw.hosts.clients.fields import OBJECTS, TEXT, TEXT_OR_TEXTS, require_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.hosts.clients.fields import FieldType
    from bylaw.model.values import JSON

_FILE = re.compile(
    r"^[ \t]*\*\*\*[ \t]+(?:(?:Add|Update|Delete)[ \t]+File|Move[ \t]+to):"
    r"[ \t]*(?P<path>\S.*?)[ \t]*\r?$",
    re.MULTILINE,
)
_DIFF = re.compile(
    r"^(?:(?:---|\+\+\+)[ \t]+|(?:rename|copy) (?:from|to) |Index: )"
    r"\"?(?P<path>[^\t\r\n\"]+)",
    re.MULTILINE,
)
_GIT_DIFF = re.compile(r"^diff --git (?P<both>.+?)\r?$", re.MULTILINE)
_NULL_PATH = "/dev/null"


def patch_paths(text: str) -> Iterator[str]:
    """Yield the paths of a patch in order; none if the text is not a patch."""
    if "*** Begin Patch" in text:
        for found in _FILE.finditer(text):
            yield found["path"]


def diff_paths(text: str) -> Iterator[str]:
    """Yield the paths of a diff, with and without their first folder: `patch -p` may strip it."""
    named = [found["path"].strip() for found in _DIFF.finditer(text)]
    for found in _GIT_DIFF.finditer(text):
        named += found["both"].replace('"', "").split()
    for path in dict.fromkeys(named):
        if path != _NULL_PATH:
            yield path
            yield path.partition("/")[2] or path


# Bylaw's names. The last one is the prefix of tools of MCP servers.
RUNS_SHELL = "shell"
WRITES_FILES, READS_FILES = "file.write", "file.read"
FETCHES, SEARCHES, USES_WEB = "web.fetch", "web.search", "web.run"
RUNS_AGENT = "agent.run"
MCP_PREFIX = "mcp:"

MAX_SPLITS = 8  # ways to split one name into a server and a tool


class ToolKind(NamedTuple):
    """The kind of a tool: Bylaw's names, and which arguments name files or hold a patch.

    `arguments` are all arguments that Bylaw reads, with their types. Every call has at least one of
    `needs`.
    """

    also: tuple[str, ...]
    paths: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    arguments: Mapping[str, FieldType] = {}
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
_PATH_TYPES: Mapping[str, FieldType] = {**dict.fromkeys(_PATH, TEXT), "paths": TEXT_OR_TEXTS}

SHELL = ToolKind(
    (RUNS_SHELL, "container.exec"),
    arguments=dict.fromkeys((*COMMANDS, *FOLDERS), TEXT),
    needs=COMMANDS,
)
# A shell whose command may also be a list of words.
SHELL_WITH_WORDS = SHELL._replace(arguments={**SHELL.arguments, "command": TEXT_OR_TEXTS})
WRITE = ToolKind((WRITES_FILES,), _PATHS, arguments={**_PATH_TYPES, "edits": OBJECTS}, needs=_PATHS)
PATCH = ToolKind(
    (WRITES_FILES,),
    _PATHS,
    _PATCHES,
    {**_PATH_TYPES, **dict.fromkeys(_PATCHES, TEXT)},
    (*_PATCHES, *_PATHS),
)
READ = ToolKind((READS_FILES,), _PATHS, arguments=_PATH_TYPES)
FETCH = ToolKind((FETCHES, USES_WEB))
SEARCH = ToolKind((SEARCHES, USES_WEB))
AGENT = ToolKind((RUNS_AGENT,))

CURSOR_MCP_PREFIX = "MCP:"
_MCP = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)")


def bylaw_names(
    tool: str, args: Mapping[str, JSON], sorts: Mapping[str, ToolKind], servers: Sequence[str] = ()
) -> tuple[tuple[str, ...], dict[str, JSON]]:
    """Return Bylaw's names of a tool, and the arguments with the files that they name as `paths`.

    `servers` are the ways to read the name as `SERVER/TOOL`, if the client has its own form of it.
    Raises PayloadError if an argument that Bylaw reads has a type that no client sends.
    """
    sort = sorts.get(tool)
    if sort is None:
        found = _MCP.fullmatch(tool)
        readings = (f"{found['server']}/{found['tool']}",) if found else servers
        return tuple(f"{MCP_PREFIX}{one}" for one in readings), dict(args)
    for key, shape in sort.arguments.items():
        if key in args:
            require_type(f"argument `{key}` of `{tool}`", args[key], shape)
    if not sort.paths and not sort.patches:
        return sort.also, dict(args)
    # All of them, without a limit: a rule cannot deny what it does not see.
    paths = dict.fromkeys(_named_paths(args, sort))
    return sort.also, {**args, "paths": [*paths]}


def require_arguments(tool: str, args: Mapping[str, JSON], sorts: Mapping[str, ToolKind]) -> None:
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


def split_server_and_tool(name: str, separator: str) -> tuple[str, ...]:
    """Return every way to split `SERVER-TOOL`: either part may contain the separator."""
    parts = name.split(separator)
    ends = range(1, min(len(parts), MAX_SPLITS + 1))
    return tuple(f"{separator.join(parts[:at])}/{separator.join(parts[at:])}" for at in ends)


def _named_paths(args: Mapping[str, JSON], sort: ToolKind) -> Iterator[str]:
    for key in sort.paths:
        value = args.get(key)
        values = value if isinstance(value, list) else [value]
        yield from (one for one in values if isinstance(one, str) and one)
    for key in sort.patches:
        value = args.get(key)
        if isinstance(value, str):
            yield from patch_paths(value)
