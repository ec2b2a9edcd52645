"""What was installed where: one small record in the user's state folder, and a backup beside it.

    installed-X.json    {"version": 1, "path": …, "after": DIGEST, "before": DIGEST, "folders": […],
                         "entries": [[["hooks", "Stop"], {…}], …]}
    installed-X.before  what the file held before, to the byte

Both are written before the file itself. Whatever is torn or does not fit is not believed: then only
a whole set of entries as we write them is taken out.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from msgspec import MsgspecError, Struct, json

from bylaw.hosts.hooks.install.our_entries import HookEntry  # noqa: TC001 - msgspec asks for it
from bylaw.model.errors import BylawError
from bylaw.runtime.own_folder import locked_folder, read_own, remove_own, user_state, write_lasting
from bylaw.runtime.paths import as_bytes, real_path
from bylaw.runtime.reading import MAX_INPUT_BYTES, in_plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.hosts.hooks.install.config_file import ConfigFile


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What we wrote (`after`), what was there (`before`, null: no file), which folders we made.

    `entries` are those that we put in, each with its list.
    """

    version: Literal[1] = 1
    path: str
    after: str
    before: str | None
    folders: list[str] = []
    entries: list[HookEntry]


class Memory:
    """What is remembered of one file; `root` must not hold the memory itself."""

    def __init__(self, file: ConfigFile, root: str) -> None:
        self._shown = file.shown
        self._folder = user_state(root)
        self._path = as_bytes(real_path(file.location)).decode("utf-8", "backslashreplace")
        self._name = f"installed-{sha256(self._path.encode()).hexdigest()}"

    @property
    def backup(self) -> str:
        """Where the bytes of before are."""
        return f"{self._folder}/{self._name}.before"

    def record(self) -> Record | None:
        """What was installed; None if nothing is known."""
        try:
            found = json.decode(self._read("json"), type=Record)
        except (MsgspecError, UnicodeDecodeError):
            return None
        return found if found.path == self._path else None

    def before(self, record: Record) -> bytes | None:
        """What the file held before; None if there was none, or nobody knows any more."""
        data = self._read("before")
        return data if digest(data) == record.before else None

    def keep(
        self, before: bytes | None, after: bytes, folders: list[str], entries: Sequence[HookEntry]
    ) -> None:
        """Remember it; BylawError if that cannot be."""
        record = Record(
            path=self._path,
            after=digest(after),
            before=None if before is None else digest(before),
            folders=folders,
            entries=[*entries],
        )
        try:
            if before is None:
                remove_own(self._folder, f"{self._name}.before")
            else:
                write_lasting(self._folder, f"{self._name}.before", before)
            write_lasting(self._folder, f"{self._name}.json", json.encode(record))
        except OSError as wrong:
            raise _unremembered(wrong) from None

    def forget(self) -> None:
        """Nothing is installed any more; BylawError if that cannot be said."""
        try:
            remove_own(self._folder, f"{self._name}.json")
            remove_own(self._folder, f"{self._name}.before")
        except OSError as wrong:
            raise BylawError(f"cannot forget what was installed: {in_plain_words(wrong)}") from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While this lasts no other process of ours changes the file; BylawError if one does."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locked_folder(self._folder, self._shown))
            except OSError as wrong:
                raise _unremembered(wrong) from None
            yield  # what fails in there is no failure of the memory

    def _read(self, ending: str) -> bytes:
        return read_own(self._folder, f"{self._name}.{ending}", MAX_INPUT_BYTES)


def _unremembered(wrong: OSError) -> BylawError:
    return BylawError(f"cannot remember what is installed: {in_plain_words(wrong)}")


def digest(data: bytes) -> str:
    """What tells one content from another."""
    return sha256(data).hexdigest()
