"""Rule files, settings → where the tools of a chat must not write, and why.

A model must not change the rules that it is under. Paths are those where a file really lies, from
the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.runtime.paths import lies_in, name_from, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.runtime.settings.tables import ProtectSettings

    # Why a file must not be written, None if it may be.
    Protected = Callable[[str], str | None]

_GIT = ".git"
_OURS = ".bylaw"


def protected_by_default(path: str) -> str | None:
    """What is protected whatever rules are in force."""
    parts = path.casefold().split("/")
    if _OURS in parts:
        return "it belongs to Bylaw"
    if parts[-1] == "bylaw.toml":
        return "it holds the settings of Bylaw"
    if parts[-1].endswith(".chatmd"):
        return "it holds a chat and its rules"
    return _of_git(path)


def protection(root: str, settings: ProtectSettings, files: Iterable[str]) -> Protected:
    """What is protected beside that: `files` by their paths, as of rules in force, and settings."""
    if not settings.enabled:
        return _of_git
    top = real_path(root)
    names = {name_from(top, real_path(file)) for file in files}

    def protected(path: str) -> str | None:
        if path in names:
            return "it is in force"
        if any(lies_in(path, one.rstrip("/")) for one in settings.paths):
            return "the settings protect it"
        return protected_by_default(path)

    return protected


def _of_git(path: str) -> str | None:
    return "it belongs to git" if _GIT in path.casefold().split("/") else None
