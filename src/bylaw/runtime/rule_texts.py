"""Read the texts of found rule files; a diagnostic says why a file cannot be read."""

from __future__ import annotations

from errno import ELOOP
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.codes.books import OUTSIDE_ROOT
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.paths import folder_of, lies_in, real_path
from bylaw.runtime.reading import (
    MAX_INPUT_BYTES,
    decoded,
    read_file,
    regular_bytes,
    too_large,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.runtime.discovery import Found, Search

# All rule files together; the limit of one file is `reading.MAX_INPUT_BYTES`.
MAX_ALL_BYTES = 64 * 1024 * 1024
EVERY = 64  # files between two progress messages


class RuleText(Struct, frozen=True, gc=False):
    """A file with its text, or with the errors why it could not be read."""

    found: Found
    source: SourceFile
    errors: tuple[Diagnostic, ...] = ()


def read_all(search: Search, say: Callable[[str], None]) -> Iterator[RuleText]:
    """Yield the texts of all found files, in their order."""
    reader = _Reader()
    for number, found in enumerate(search.found):
        if number % EVERY == 0:
            say(f"reading file {number + 1} of {len(search.found)}")
        try:
            yield RuleText(found, reader.read(found))
        except LoadError as refused:
            (why,) = refused.diagnostics
            # Keep the name under which the file was found; the diagnostic may have another.
            yield RuleText(found, SourceFile(found.path, why.source.text), (why,))


class _Reader:
    """Reads rule files up to a total size."""

    def __init__(self) -> None:
        self._left = MAX_ALL_BYTES
        self._real = cache(real_path)  # of folders: most files share one

    def read(self, found: Found) -> SourceFile:
        source = self._source(found)
        self._left -= len(source.text)
        if self._left < 0:
            headline = f"the rule files together are larger than {MAX_ALL_BYTES:,} bytes"
            raise LoadError([too_large(found.path, headline)])
        return source

    def _source(self, found: Found) -> SourceFile:
        if not found.within:
            return read_file(found.location, found.path)
        try:
            return decoded(found.path, self._bytes_within(found))
        except (OSError, ValueError) as wrong:
            raise LoadError([unreadable(found.path, wrong)]) from None

    def _bytes_within(self, found: Found) -> bytes:
        self._refuse_outside(found, self._real(folder_of(found.location)))
        try:
            return regular_bytes(found.location, MAX_INPUT_BYTES, links=False)
        except OSError as wrong:
            if wrong.errno != ELOOP:
                raise
        real = real_path(found.location)
        self._refuse_outside(found, real)
        return regular_bytes(real, MAX_INPUT_BYTES, links=False)

    def _refuse_outside(self, found: Found, real: str) -> None:
        if not lies_in(real, self._real(found.within)):
            raise LoadError([_leads_out(found)])


def _leads_out(found: Found) -> Diagnostic:
    headline = f"`{found.path}` is a link that leads out of the root"
    help_ = "copy the file into the repository, or name it on the command line"
    return error(OUTSIDE_ROOT, headline, SourceFile(found.path, ""), Span(0, 0), help=help_)
