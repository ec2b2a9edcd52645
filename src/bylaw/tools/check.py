"""Rule files, given or found → what `bylaw check` reports: the books and their diagnostics."""

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
    """A book as people see it. `trusted` is true also of one that can start nothing.

    `name` is its path for people: one that is only the first of its files says so.
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
    """All books below a root, all that is wrong, and where the convention looked."""

    root: str
    books: tuple[BookReport, ...]
    diagnostics: tuple[Diagnostic, ...]
    places: tuple[Place, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a rule file was refused."""
        return has_errors(self.diagnostics)


def check(
    paths: Sequence[str], tell: Callable[[str], None] | None = None, host: str = ""
) -> Report:
    """Load the given files, or else those of the root; nothing is started or written.

    With a host it is also told what that cannot do with their rules.
    """
    library = load_paths(paths, tell) if paths else load_root(find_root(), tell)
    report = report_on(library)
    findings = [] if paths else overlooked_chats(library)
    if host:
        # A switch is about the rules of the root, not about files that somebody names.
        disabled = () if paths else read_switches(library.search.root).disabled
        findings += check_host(library, host, disabled)
    return replace(report, diagnostics=(*report.diagnostics, *findings)) if findings else report


def report_on(library: Library) -> Report:
    """What a library holds."""
    trusted = _is_trusted(library)
    books = tuple(_report(book, trusted=trusted) for book in library.books)
    return Report(library.search.root, books, library.diagnostics, library.search.places)


def languages() -> list[tuple[str, str]]:
    """The languages that are installed, and which texts define them."""
    found = [dialect for name in dialect_names() if (dialect := dialect_named(name)) is not None]
    return [(dialect.name, dialect.spec) for dialect in found]


def _is_trusted(library: Library) -> bool:
    """Whether the books may start what they can; settings that do not load are not trusted."""
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
