"""List the files in an archive, if that can be done quickly."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 16 << 20
MAX_MEMBERS = 20_000


def members(path: str) -> list[str] | None:
    """Return the files that unpacking an archive writes, or None if that is unknown."""
    try:
        if not 0 < os.stat(as_bytes(path)).st_size <= MAX_BYTES:  # noqa: PTH116 - a Path takes no bytes
            return None
        found = list(islice(_names(path), MAX_MEMBERS + 1))
    except Exception:  # noqa: BLE001 - readers of archives raise many kinds of errors
        return None
    return found if len(found) <= MAX_MEMBERS else None


def _names(path: str) -> Iterator[str]:
    import tarfile  # noqa: PLC0415 - few commands unpack anything
    import zipfile  # noqa: PLC0415 - same

    with open(as_bytes(path), "rb") as file:  # noqa: PTH123 - a Path takes no bytes
        if zipfile.is_zipfile(file):
            yield from zipfile.ZipFile(file).namelist()
            return
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            yield from (one.name for one in archive)
