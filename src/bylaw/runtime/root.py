"""Find the root of a folder: the nearest parent with settings, or the git work tree."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bylaw.model.errors import LoadError
from bylaw.runtime.configuration import (
    CONFIGURATION,
    IN_PROJECT,
    PROJECT,
    Configuration,
    read_settings,
    settings_in,
    two_configurations,
)
from bylaw.runtime.paths import as_bytes, as_text, is_there
from bylaw.runtime.reading import read_regular_file, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.source import SourceFile

_NAMES_US = re.compile(r"^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*bylaw\b", re.MULTILINE)


def absolute(path: str, folder: str = "") -> str:
    """Return an absolute path without `.` and `..`; LoadError if that is not possible."""
    try:
        if not path:
            raise FileNotFoundError
        # An absolute path needs no working directory, which may have been removed.
        base = as_bytes(folder) or (b"/" if path[0] == "/" else os.getcwdb())  # noqa: PTH109 - bytes
        return as_text(os.path.normpath(os.path.join(base, as_bytes(path))))  # noqa: PTH118 - same
    except (OSError, ValueError) as wrong:  # or the working directory was removed
        raise LoadError([unreadable(path, wrong)]) from None


def find_root(folder: str = ".") -> str:
    """Return the nearest parent with settings, else the top of the git work tree, else `folder`."""
    start = absolute(folder)
    above = list(_upwards(start))
    configured = next((one for one in above if _is_configured(one)), "")
    return configured or next((one for one in above if _has_git(one)), start)


def work_tree(folder: str) -> str:
    """Return the top of the git work tree of a folder; the folder itself if it is in none."""
    return next((one for one in _upwards(folder) if _has_git(one)), folder)


def is_root(folder: str) -> bool:
    """Check whether a folder has settings or is the top of a git work tree."""
    return _has_git(folder) or _is_configured(folder)


def read_configuration(root: str) -> Configuration:
    """Read the settings of a root; LoadError with all their problems."""
    project = _project(root)
    if not is_there(f"{root}/{CONFIGURATION}"):
        return Configuration() if project is None else read_settings(project, IN_PROJECT)
    if project is not None:
        raise LoadError([two_configurations(project)])
    return read_settings(read_regular_file(f"{root}/{CONFIGURATION}", CONFIGURATION), ())


def holds_settings(folder: str) -> bool:
    """Check whether the `pyproject.toml` of a folder contains settings of Bylaw."""
    return _project(folder) is not None


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder != "/":
        folder = folder.rpartition("/")[0] or "/"
        yield folder


def _has_git(folder: str) -> bool:
    return is_there(f"{folder}/.git")


def _is_configured(folder: str) -> bool:
    return is_there(f"{folder}/{CONFIGURATION}") or _project(folder) is not None


def _project(folder: str) -> SourceFile | None:
    """Read `pyproject.toml` if it has settings of Bylaw."""
    if not is_there(f"{folder}/{PROJECT}"):
        return None
    try:
        source = read_regular_file(f"{folder}/{PROJECT}", PROJECT)
    except LoadError:
        return None  # it cannot be read, so assume that it has no settings
    return source if "bylaw" in source.text and _speaks_of_us(source) else None


def _speaks_of_us(source: SourceFile) -> bool:
    try:
        return settings_in(source, IN_PROJECT) is not None
    except LoadError:
        # Ignore errors in a file of others, unless it seems to contain our table.
        return _NAMES_US.search(source.text) is not None
