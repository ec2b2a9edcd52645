"""A version of everything that a language's check of a text depends on, apart from the text.

It covers size and time of every module that a language can use. So no edit of a checker leaves an
old result behind. A version number in each language would have to be raised by hand, even for a
change in the expressions that all languages share.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from bylaw.runtime.paths import as_bytes, folder_of, lies_in
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.base import Dialect

_BYLAW = folder_of(folder_of(__file__))
_LAYERS = ("dialects", "expr", "model")  # the folders that a language can import
# The time of this folder changes when a library is installed in another version, e.g. Jinja2.
_LIBRARIES = folder_of(folder_of(msgspec.__file__))


def check_version(dialect: Dialect) -> str:
    """Return a digest that changes whenever the same text may be checked differently."""
    module = sys.modules[getattr(dialect, "__name__", type(dialect).__module__)]
    return _of(module.__file__ or "")


@cache
def _of(module: str) -> str:
    facts = [__version__, sys.version, _age(_LIBRARIES), _BYLAW, module, _age(module)]
    folders = [f"{_BYLAW}/{layer}" for layer in _LAYERS]
    if module.endswith("/__init__.py") and not lies_in(module, _BYLAW):
        folders.append(folder_of(module))
    for folder in folders:
        facts += sorted(_modules(folder))
    return sha256(as_bytes("\n".join(facts))).hexdigest()


def _modules(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield f"{entry.path} {found.st_size} {found.st_mtime_ns}"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _modules(entry.path)


def _age(path: str) -> str:
    try:
        return str(os.stat(path).st_mtime_ns)  # noqa: PTH116 - faster than a Path
    except OSError:
        return ""
