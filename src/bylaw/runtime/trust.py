"""Books and settings of a root → whether a person has trusted them, and what they ask for.

Nothing in a repository starts a process, or is laxer than the defaults, before somebody trusted
exactly that: the digests of the books that can start something, of the scripts of the repository
that they start, and the settings that stand beside them. Whatever changes is untrusted again. What
a trusted command or script runs in turn is not looked at.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.file_digests import FileDigests
from bylaw.runtime.paths import name_from, real_path
from bylaw.runtime.root import work_tree
from bylaw.runtime.settings import for_trust, restrained
from bylaw.runtime.trust_record import VERSION, Record, StartRecord, read_record, root_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bylaw.runtime.configuration import Configuration
    from bylaw.runtime.loading import Library, LoadedBook
    from bylaw.runtime.settings import Settings


class TrustState(StrEnum):
    """Whether something is trusted."""

    NOT_NEEDED = "not needed"
    TRUSTED = "trusted"
    ONE_RUN = "one run"
    UNTRUSTED = "untrusted"
    CHANGED = "changed"


class Trust(Struct, frozen=True):
    """The state of trust, and why."""

    state: TrustState
    why: str

    @property
    def given(self) -> bool:
        """Whether a person trusts this, asked for it; only then processes may be started."""
        return self.state in {TrustState.TRUSTED, TrustState.ONE_RUN}

    @property
    def suffices(self) -> bool:
        """Whether nothing waits for a person: trust is given, or nothing asks for it."""
        return self.given or self.state is TrustState.NOT_NEEDED

    def __bool__(self) -> NoReturn:
        # Else every trust would be true, the one that is missing too.
        raise TypeError("ask whether trust is `given`, or whether it `suffices`")

    @classmethod
    def for_one_run(cls) -> Trust:
        """Trust of a person who said so on the command line; it is not remembered."""
        return cls(TrustState.ONE_RUN, "trusted for this run")

    def in_force(self, settings: Settings) -> Settings:
        """What counts of settings."""
        return settings if self.suffices else restrained(settings)


class Request(Struct, frozen=True):
    """What books and settings ask a person for.

    `books` are those that can start something, by name with their digests, `scripts` the files of
    the repository that they start, by path; `lax` says whether a setting would not count without
    trust. All texts are visible ones.
    """

    books: Mapping[str, str]
    starts: tuple[StartRecord, ...]
    scripts: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    lax: bool

    def granted(self, root: str, at: str) -> Record:
        """The record of somebody who agrees."""
        settings = {name: dict(values) for name, values in self.settings.items()}
        return Record(
            version=VERSION,
            root=root_name(root),
            at=at,
            books=dict(self.books),
            starts=self.starts,
            settings=settings,
            scripts=dict(self.scripts),
        )


class TrustChanges(Struct, frozen=True):
    """How a request differs from what was trusted; settings as `[table] key`."""

    new: tuple[StartRecord, ...]
    gone: tuple[StartRecord, ...]
    books: tuple[str, ...]
    scripts: tuple[str, ...]
    settings: tuple[str, ...]


def trust_of(root: str, library: Library, configuration: Configuration) -> Trust:
    """Whether these books and settings of a root may start what they ask for."""
    return judged(root, request_of(library, configuration))


def request_of(library: Library, configuration: Configuration) -> Request:
    """What somebody would have to trust."""
    found = [(one, one.starts) for one in library.books]
    starts = {
        StartRecord(str(start.what), visible(start.name), visible(start.uid))
        for _, starts in found
        for start in starts
    }
    settings = configuration.settings
    scripts = {start.script for _, starts in found for start in starts if start.script}
    return Request(
        books={_name(one): one.book.digest for one, starts in found if starts},
        starts=tuple(sorted(starts)),
        scripts=_digests(library.search.root, scripts),
        settings=for_trust(settings),
        lax=restrained(settings) != settings,
    )


def judged(root: str, request: Request) -> Trust:
    """Whether a request is granted."""
    if not request.starts and not request.lax:
        return Trust(TrustState.NOT_NEEDED, "nothing here asks for trust")
    try:
        record = read_record(root)
    except BylawError as unsafe:
        return Trust(TrustState.UNTRUSTED, str(unsafe))
    if record is None:
        return Trust(TrustState.UNTRUSTED, "nobody has trusted it; see `bylaw trust`")
    changed = changes_since(record, request)
    what = [*changed.books, *changed.scripts, *changed.settings]
    if what:
        more = f" and {len(what) - 1} more" if len(what) > 1 else ""
        why = f"`{what[0]}`{more} changed since it was trusted; see `bylaw trust`"
        return Trust(TrustState.CHANGED, why)
    return Trust(TrustState.TRUSTED, "a person has trusted it")


def changes_since(record: Record, request: Request) -> TrustChanges:
    """What is different; a book that is gone asks for nothing."""
    before, after = set(record.starts), set(request.starts)
    return TrustChanges(
        new=tuple(sorted(after - before)),
        gone=tuple(sorted(before - after)),
        books=tuple(_changed(record.books, request.books)),
        scripts=tuple(_changed(record.scripts, request.scripts)),
        settings=tuple(_different(record.settings, request.settings)),
    )


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name, digest in after.items() if before.get(name) != digest)


def _digests(root: str, scripts: Iterable[str]) -> dict[str, str]:
    """What these files of the repository hold now, also behind links; nothing if it is no file."""
    files = FileDigests(work_tree(root))
    real = {script: real_path(f"{files.top}/{script}") for script in scripts}
    names = {script: name_from(files.top, path) for script, path in real.items()}
    return {visible(script): name and files.of(name) for script, name in names.items()}


def _different(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    keys = sorted({(name, key) for side in (before, after) for name in side for key in side[name]})
    nothing: Mapping[str, Any] = {}
    return [
        f"[{name}] {key}"
        for name, key in keys
        if before.get(name, nothing).get(key) != after.get(name, nothing).get(key)
    ]


def _name(loaded: LoadedBook) -> str:
    return f"{loaded.book.dialect}:{loaded.book.path}"  # both are visible texts
