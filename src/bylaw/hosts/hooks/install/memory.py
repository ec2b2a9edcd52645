"""Records of installations in the user's state folder, each with a backup.

    installed-X.json    {"version": 1, "path": …, "after": DIGEST, "before": DIGEST, "folders": […],
                         "entries": [[["hooks", "Stop"], {…}], …]}
    installed-X.before  the bytes of the file before the installation

Both are written before the configuration file. A record that is damaged or does not match is
ignored: then only a complete set of entries, as `bylaw install` writes it, is removed.
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
    """One installation, as it is stored.

    `after` is the digest of what Bylaw wrote, `before` of the file before (null: no file).
    `folders` and `entries` are those that Bylaw added, each entry with its list.
    """

    version: Literal[1] = 1
    path: str
    after: str
    before: str | None
    folders: list[str] = []
    entries: list[HookEntry]


class Memory:
    """The record and the backup of one file. Their folder must be outside `root`."""

    def __init__(self, file: ConfigFile, root: str) -> None:
        self._shown = file.shown
        self._folder = user_state(root)
        self._path = as_bytes(real_path(file.location)).decode("utf-8", "backslashreplace")
        self._name = f"installed-{sha256(self._path.encode()).hexdigest()}"

    @property
    def backup(self) -> str:
        """The path of the backup."""
        return f"{self._folder}/{self._name}.before"

    def record(self) -> Record | None:
        """Return the record, or None without a valid one."""
        try:
            found = json.decode(self._read("json"), type=Record)
        except (MsgspecError, UnicodeDecodeError):
            return None
        return found if found.path == self._path else None

    def before(self, record: Record) -> bytes | None:
        """Return the file before the installation; None without a file or a valid backup."""
        data = self._read("before")
        return data if digest(data) == record.before else None

    def keep(
        self, before: bytes | None, after: bytes, folders: list[str], entries: Sequence[HookEntry]
    ) -> None:
        """Write the record and the backup. Raises BylawError if that fails."""
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
        """Remove the record and the backup. Raises BylawError if that fails."""
        try:
            remove_own(self._folder, f"{self._name}.json")
            remove_own(self._folder, f"{self._name}.before")
        except OSError as wrong:
            why = in_plain_words(wrong)
            raise BylawError(f"cannot remove the record of the installation: {why}") from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the file against other processes of Bylaw. Raises BylawError if that fails."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locked_folder(self._folder, self._shown))
            except OSError as wrong:
                raise _unremembered(wrong) from None
            yield  # outside of `try`: an OSError of the caller is not an error of the lock

    def _read(self, ending: str) -> bytes:
        return read_own(self._folder, f"{self._name}.{ending}", MAX_INPUT_BYTES)


def _unremembered(wrong: OSError) -> BylawError:
    return BylawError(f"cannot record the installation: {in_plain_words(wrong)}")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a content as text."""
    return sha256(data).hexdigest()
