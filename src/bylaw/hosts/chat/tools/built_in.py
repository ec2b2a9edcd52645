"""The built-in tools, by the names under which a chat declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.chat.tools.editing import AppendToFile, FindAndReplace
from bylaw.hosts.chat.tools.patch.apply_patch import ApplyPatch
from bylaw.hosts.chat.tools.reading import NamedFolder, ReadFile, ReadFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.dialects.chatmd.declarations import BuiltInTool, ReadRoot
    from bylaw.hosts.chat.tools.base import Tool
    from bylaw.hosts.chat.tools.files import Files
    from bylaw.runtime.trust import Trust

    Make = Callable[[BuiltInTool, Files, Callable[[], Trust]], Tool]


def _read_file(declared: BuiltInTool, files: Files, trust: Callable[[], Trust]) -> Tool:
    return ReadFile(files, [_named(root, files.root) for root in declared.roots], trust)


def _named(root: ReadRoot, workspace: str) -> NamedFolder:
    # The only variable that means the same in every file that declares the tool.
    path = root.path.replace("${workspace}", workspace)
    folder = path if path.startswith("/") else f"{workspace}/{path}"
    return NamedFolder(root.id, folder, root.description)


_MAKE: Mapping[str, Make] = {
    "read_file": _read_file,
    "get_contents": _read_file,
    "read_dir": lambda _, files, __: ReadFolder(files),
    "read_directory": lambda _, files, __: ReadFolder(files),
    "append_to_file": lambda _, files, __: AppendToFile(files),
    "find_and_replace": lambda _, files, __: FindAndReplace(files),
    "apply_patch": lambda _, files, __: ApplyPatch(files),
}

BUILT_IN_NAMES = frozenset(_MAKE)


def built_in(declared: BuiltInTool, files: Files, trust: Callable[[], Trust]) -> Tool | None:
    """Return the tool of a declaration, None if no built-in tool has this name."""
    make = _MAKE.get(declared.name)
    return make(declared, files, trust) if make else None
