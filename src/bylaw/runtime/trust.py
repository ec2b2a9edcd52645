"""Check whether a person has trusted the books and settings of a root, and what they ask for.

Nothing in a repository starts a process, or applies a setting laxer than the default, before a
person trusted exactly that: the digests of the books that can start something, the digests of the
repository's scripts that they start, and the settings. After any change the new state is untrusted.
What a trusted command or script starts in turn is not checked.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.runtime.root import work_tree
from bylaw.runtime.settings import restrict, values_to_trust
from bylaw.store.file_digests import FileDigests
from bylaw.store.paths import real_path, relative_name
from bylaw.store.trust import VERSION, StartRecord, TrustRecord, read_record, root_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bylaw.runtime.loader import Library, LoadedBook
    from bylaw.runtime.root import Configuration
    from bylaw.runtime.settings import Settings


class TrustState(StrEnum):
    """Whether something is trusted."""

    NOT_NEEDED = "not needed"
    TRUSTED = "trusted"
    ONE_RUN = "one run"
    UNTRUSTED = "untrusted"
    CHANGED = "changed"


class Trust(Struct, frozen=True):
    """The state of trust, and the reason."""

    state: TrustState
    why: str

    @property
    def given(self) -> bool:
        """Whether a person trusts the request; only then processes may start."""
        return self.state in {TrustState.TRUSTED, TrustState.ONE_RUN}

    @property
    def is_sufficient(self) -> bool:
        """Whether trust is given or not needed."""
        return self.given or self.state is TrustState.NOT_NEEDED

    def __bool__(self) -> NoReturn:
        # Without this, every Trust object would be true, even one without trust.
        raise TypeError("use `given` or `suffices` to check trust")

    @classmethod
    def for_one_run(cls) -> Trust:
        """Return trust given on the command line; it is not stored."""
        return cls(TrustState.ONE_RUN, "trusted for this run")

    def in_force(self, settings: Settings) -> Settings:
        """Return the settings that apply with this trust."""
        return settings if self.is_sufficient else restrict(settings)


class TrustRequest(Struct, frozen=True):
    """What a person must trust.

    `books` maps the names of books that can start something to their digests, `scripts` the paths
    of the repository files that they start to theirs. `lax` is true if a setting does not apply
    without trust. All texts are free of control characters.
    """

    books: Mapping[str, str]
    starts: tuple[StartRecord, ...]
    scripts: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    lax: bool

    def granted(self, root: str, at: str) -> TrustRecord:
        """Return the record for a person who trusts the request."""
        settings = {name: dict(values) for name, values in self.settings.items()}
        return TrustRecord(
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


def check_trust(root: str, library: Library, configuration: Configuration) -> Trust:
    """Check whether these books and settings may start what they ask for."""
    return check_request(root, trust_request(library, configuration))


def trust_request(library: Library, configuration: Configuration) -> TrustRequest:
    """Return what a person must trust for these books and settings."""
    found = [(one, one.starts) for one in library.books]
    starts = {
        StartRecord(str(start.what), visible(start.name), visible(start.uid))
        for _, starts in found
        for start in starts
    }
    settings = configuration.settings
    scripts = {start.script for _, starts in found for start in starts if start.script}
    return TrustRequest(
        books={_name(one): one.book.digest for one, starts in found if starts},
        starts=tuple(sorted(starts)),
        scripts=_script_digests(library.search.root, scripts),
        settings=values_to_trust(settings),
        lax=restrict(settings) != settings,
    )


def check_request(root: str, request: TrustRequest) -> Trust:
    """Check whether a request was trusted."""
    if not request.starts and not request.lax:
        return Trust(TrustState.NOT_NEEDED, "nothing here needs trust")
    try:
        record = read_record(root)
    except BylawError as unsafe:
        return Trust(TrustState.UNTRUSTED, str(unsafe))
    if record is None:
        return Trust(TrustState.UNTRUSTED, "no person has trusted it yet; see `bylaw trust`")
    changed = changes_since(record, request)
    what = [*changed.books, *changed.scripts, *changed.settings]
    if what:
        more = f" and {len(what) - 1} more" if len(what) > 1 else ""
        why = f"`{what[0]}`{more} changed since it was trusted; see `bylaw trust`"
        return Trust(TrustState.CHANGED, why)
    return Trust(TrustState.TRUSTED, "a person has trusted it")


def changes_since(record: TrustRecord, request: TrustRequest) -> TrustChanges:
    """Compare a request with a record; a removed book needs no trust."""
    before, after = set(record.starts), set(request.starts)
    return TrustChanges(
        new=tuple(sorted(after - before)),
        gone=tuple(sorted(before - after)),
        books=tuple(_changed_digests(record.books, request.books)),
        scripts=tuple(_changed_digests(record.scripts, request.scripts)),
        settings=tuple(_changed_settings(record.settings, request.settings)),
    )


def _changed_digests(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name, digest in after.items() if before.get(name) != digest)


def _script_digests(root: str, scripts: Iterable[str]) -> dict[str, str]:
    """Return the digests of these files, through links; empty if there is no regular file."""
    files = FileDigests(work_tree(root))
    real = {script: real_path(f"{files.top}/{script}") for script in scripts}
    names = {script: relative_name(files.top, path) for script, path in real.items()}
    return {visible(script): name and files.of(name) for script, name in names.items()}


def _changed_settings(
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
    return f"{loaded.book.dialect}:{loaded.book.path}"  # neither has control characters
