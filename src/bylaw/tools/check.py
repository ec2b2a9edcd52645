"""Load rule files, given or found, and report their books and diagnostics for `bylaw check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects import dialect_named, dialect_names
from bylaw.model.diagnostic import has_errors
from bylaw.model.errors import LoadError
from bylaw.runtime.discovery import Found, Place, Why
from bylaw.runtime.loading import Library, LoadedBook, load_paths, load_root
from bylaw.runtime.named_rules import named_rules
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.switches import read_switches
from bylaw.runtime.trust import trust_of
from bylaw.tools.host_check import check_host
from bylaw.tools.overlooked import overlooked_chats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book


class BookReport(Struct, frozen=True):
    """A book as `bylaw check` shows it.

    `name` is the path, with the number of further files if the book has several. `trusted` is also
    true for a book that cannot start anything. `why` says how its files were found.
    """

    path: str
    name: str
    dialect: str
    rules: int
    files: int
    can_start: bool
    trusted: bool
    why: str


class Report(Struct, frozen=True):
    """All books of a root, their diagnostics, and the places that were searched for rule files."""

    root: str
    books: tuple[BookReport, ...]
    diagnostics: tuple[Diagnostic, ...]
    places: tuple[Place, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a rule file has errors."""
        return has_errors(self.diagnostics)


def check(
    paths: Sequence[str], tell: Callable[[str], None] | None = None, host: str = ""
) -> Report:
    """Load the given files, or else those of the root. Start and write nothing.

    With a host, also report what that host cannot do for the rules.
    """
    library = load_paths(paths, tell) if paths else load_root(find_root(), tell)
    report = report_on(library)
    findings = [] if paths else overlooked_chats(library)
    if host:
        # Disabled rules are rules of the root. They do not affect files given by path.
        disabled = () if paths else read_switches(library.search.root).disabled
        findings += check_host(library, host, disabled)
    return replace(report, diagnostics=(*report.diagnostics, *findings)) if findings else report


def report_on(library: Library) -> Report:
    """Report the books of a library."""
    trusted = _is_trusted(library)
    books = tuple(_report(book, trusted=trusted) for book in library.books)
    return Report(library.search.root, books, library.diagnostics, library.search.places)


def languages() -> list[tuple[str, str]]:
    """Return name and specification of each installed language."""
    found = [dialect for name in dialect_names() if (dialect := dialect_named(name)) is not None]
    return [(dialect.name, dialect.spec) for dialect in found]


def _is_trusted(library: Library) -> bool:
    """Check the trust of the root. Settings that do not load are not trusted."""
    root = library.search.root
    try:
        return trust_of(root, library, read_configuration(root)).suffices
    except LoadError:
        return False


def _report(loaded: LoadedBook, *, trusted: bool) -> BookReport:
    book = loaded.book
    can_start = bool(loaded.starts)
    return BookReport(
        path=book.path,
        name=_name(book),
        dialect=book.dialect,
        rules=len(named_rules([book])),
        files=len(book.files),
        can_start=can_start,
        trusted=trusted or not can_start,
        why=", ".join(dict.fromkeys(_why(found) for found in loaded.files)),
    )


def _name(book: Book) -> str:
    is_first = book.path in book.files and len(book.files) > 1
    return f"{book.path} and {len(book.files) - 1:,} more" if is_first else book.path


def _why(found: Found) -> str:
    match found.why:
        case Why.GIVEN:
            return "given"
        case Why.FOLDER:
            return f"in {found.by}"
        case Why.NAMED:
            return f"named in {found.by}"
        case Why.CONVENTION:
            return f"{found.by}, for its own chat" if found.own_session else found.by
