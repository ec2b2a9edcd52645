"""Rule files and settings → the files that the tools of a chat must not write, and why.

In addition to the files that are protected from every agent, these are all ChatMD files, which
contain their own rules, and everything of git. Paths are real paths, relative to the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.runtime.paths import real_path
from bylaw.runtime.protected_names import GIT, protected_by_name
from bylaw.runtime.protection import Protection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.runtime.settings.tables import ProtectSettings

    # Returns why a file must not be written, None if it may be.
    Protected = Callable[[str], str | None]


def protected_by_default(path: str) -> str | None:
    """Return why a file is protected with any set of rules, None if it is not."""
    return _of_git(path) or protected_by_name(path) or _of_chats(path)


def protection(root: str, settings: ProtectSettings, files: Iterable[str]) -> Protected:
    """Return the check that also protects `files`, such as the active rule files, and settings.

    If protection is disabled, only git is protected.
    """
    if not settings.enabled:
        return _of_git
    top = real_path(root)
    kept = Protection(root, settings, tuple(files))

    def protected(path: str) -> str | None:
        return _of_git(path) or kept.why(f"{top}/{path}") or _of_chats(path)

    return protected


def _of_chats(path: str) -> str | None:
    return "it holds a chat and its rules" if path.casefold().endswith(".chatmd") else None


def _of_git(path: str) -> str | None:
    return "it belongs to git" if GIT in path.casefold().split("/") else None
