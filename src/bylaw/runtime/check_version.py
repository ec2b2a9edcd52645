"""A language → a name for all that its judgement of a text depends on, beside the text.

Every module that a language can be built on counts, with its size and time. So no edit of a
checker leaves an old judgement behind; a number in each language would have to be raised by hand,
also by whoever mends the expressions that all of them share.
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
_LAYERS = ("dialects", "expr", "model")  # what a language can import
# Its time changes when a library is installed in another version, Jinja2 for one.
_LIBRARIES = folder_of(folder_of(msgspec.__file__))


def check_version(dialect: Dialect) -> str:
    """Changes whenever the same text may be judged otherwise."""
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
        return str(os.stat(path).st_mtime_ns)  # noqa: PTH116 - the quick way
    except OSError:
        return ""
