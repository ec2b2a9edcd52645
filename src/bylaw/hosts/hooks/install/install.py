"""Plan a change of a client's configuration, carry it out, and record it.

to_install, to_remove → ConfigChange → a person sees its diff → carry_out

    installed-X.json    {"version": 1, "path": …, "after": DIGEST, "before": DIGEST, "folders": […],
                         "entries": [[["hooks", "Stop"], {…}], …]}
    installed-X.before  the bytes of the file before the installation

Both are in the user's state folder, and are written before the configuration file. A record that is
damaged or does not match is ignored: then only a complete set of entries, as `bylaw install` writes
it, is removed.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from difflib import unified_diff
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from bylaw.hosts.clients.caller import require_person
from bylaw.hosts.hooks.install.config_file import Scope, find_config_file
from bylaw.hosts.hooks.install.entries import (
    HookEntry,
    InstalledEntries,
    entries_in_lists,
    has_all,
    has_entry,
    has_only_top,
    has_set,
    our_entries,
    own_hooks,
    read_config,
    with_entries,
    without_entries,
)
from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.model.source import SourceFile
from bylaw.store.files import MAX_INPUT_BYTES, os_error_text
from bylaw.store.paths import as_bytes, folder_of, real_path
from bylaw.store.user_state import (
    lock_folder,
    read_user_file,
    remove_user_file,
    user_state,
    write_user_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.hosts.hooks.install.config_file import ConfigFile
    from bylaw.hosts.hooks.install.entries import EntryPlan, OwnHook
    from bylaw.hosts.hooks.install.forms import Client


class InstallRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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

    def record(self) -> InstallRecord | None:
        """Return the record, or None without a valid one."""
        try:
            found = json.decode(self._read("json"), type=InstallRecord)
        except (MsgspecError, UnicodeDecodeError):
            return None
        return found if found.path == self._path else None

    def before(self, record: InstallRecord) -> bytes | None:
        """Return the file before the installation; None without a file or a valid backup."""
        data = self._read("before")
        return data if digest(data) == record.before else None

    def keep(
        self, before: bytes | None, after: bytes, folders: list[str], entries: Sequence[HookEntry]
    ) -> None:
        """Write the record and the backup. Raises BylawError if that fails."""
        record = InstallRecord(
            path=self._path,
            after=digest(after),
            before=None if before is None else digest(before),
            folders=folders,
            entries=[*entries],
        )
        try:
            if before is None:
                remove_user_file(self._folder, f"{self._name}.before")
            else:
                write_user_file(self._folder, f"{self._name}.before", before)
            write_user_file(self._folder, f"{self._name}.json", json.encode(record))
        except OSError as wrong:
            raise _record_error(wrong) from None

    def forget(self) -> None:
        """Remove the record and the backup. Raises BylawError if that fails."""
        try:
            remove_user_file(self._folder, f"{self._name}.json")
            remove_user_file(self._folder, f"{self._name}.before")
        except OSError as wrong:
            why = os_error_text(wrong)
            raise BylawError(f"cannot remove the record of the installation: {why}") from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file against other processes of Bylaw. Raises BylawError if that fails."""
        with ExitStack() as stack:
            try:
                stack.enter_context(lock_folder(self._folder, self._shown))
            except OSError as wrong:
                raise _record_error(wrong) from None
            yield  # outside of `try`: an OSError of the caller is not an error of the lock

    def _read(self, ending: str) -> bytes:
        return read_user_file(self._folder, f"{self._name}.{ending}", MAX_INPUT_BYTES)


def _record_error(wrong: OSError) -> BylawError:
    return BylawError(f"cannot record the installation: {os_error_text(wrong)}")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a content as text."""
    return sha256(data).hexdigest()


_NEW = b"{}\n"


class ConfigChange(Struct, frozen=True, kw_only=True):
    """A planned change of a file, from `before` to `after`; None means no file.

    `restored` is the content without our hooks. `folders` are those that Bylaw creates or created
    for the file, `entries` the hooks to insert, `own` the hooks of the person that call Bylaw.
    `is_removal` and `replaces` say that our hooks are removed or replaced. `unnoted` says that a
    complete set of hooks stays that is the person's own: it must be recorded, since it looks like
    ours.
    """

    client: Client
    scope: Scope
    file: ConfigFile
    memory: Memory
    before: bytes | None
    after: bytes | None
    restored: bytes | None
    folders: tuple[str, ...] = ()
    entries: tuple[HookEntry, ...] = ()
    own: tuple[OwnHook, ...] = ()
    is_removal: bool = False
    replaces: bool = False
    unnoted: bool = False

    @property
    def changed(self) -> bool:
        """Whether the file has to be written or removed."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """The change as a unified diff for people; empty without a change."""
        old, new = (
            "/dev/null" if data is None else self.file.shown for data in (self.before, self.after)
        )
        lines = unified_diff(_lines(self.before), _lines(self.after), old, new, lineterm="")
        return "".join(f"{visible(line)}\n" for line in lines)


def plan_install(client: Client, scope: Scope, root: str, python: str) -> ConfigChange:
    """Plan hooks that this interpreter runs, in place of our hooks of other interpreters.

    A hook that a person wrote stays. If it equals a hook of ours, no second one is added.
    Raises LoadError if the file cannot be read or edited.
    """
    found = _read_state(client, scope, root, python)
    # Without a record, entries that equal ours belong to the person.
    known = found.known(unnoted=found.wanted.entries)
    if found.before is not None and found.is_up_to_date(known):
        change = found.change(found.before, found.before, known.written)
        return replace(change, unnoted=found.record is None)
    restored = found.restored(known)
    started = found.source(_NEW if restored is None else restored)
    there = read_config(started, client.form)
    entries = [one for one in found.wanted.entries if not has_entry(there, one)]
    after = with_entries(started, found.wanted, entries).encode()
    change = found.change(after, restored, entries)
    return replace(change, replaces=restored != found.before)


def plan_removal(client: Client, scope: Scope, root: str, python: str) -> ConfigChange:
    """Plan the file as it was before the installation, or without our hooks if it changed since.

    Raises LoadError if the file cannot be read or edited.
    """
    found = _read_state(client, scope, root, python)
    restored = found.restored(found.known())
    stays = restored is not None and has_set(found.source(restored), found.wanted)
    return replace(found.change(restored, restored, ()), is_removal=True, unnoted=stays)


def carry_out(change: ConfigChange) -> None:
    """Carry out a planned change.

    Raises BylawError if that fails, if the file changed since, or if an agent wants to remove or
    replace hooks.
    """
    if change.is_removal or change.replaces:
        require_person("removing hooks" if change.is_removal else "replacing hooks")
    with change.memory.lock():
        now = change.file.content()
        if now == change.after:
            if change.unnoted and change.memory.record() is None:
                _write_record(change)
            return
        if now != change.before:
            shown = visible(change.file.shown)
            raise BylawError(f"`{shown}` changed in the meantime; run the command again")
        _carry_out(change)


def _carry_out(change: ConfigChange) -> None:
    if change.after is None:
        assert change.before is not None, "a missing file is not changed to no file"
        change.file.remove(change.before, list(change.folders))
    elif change.is_removal:
        change.file.write(change.after, change.before)
    else:
        _write_record(change)
        change.file.write(change.after, change.before)
    if change.is_removal and change.unnoted:
        _write_record(change)
    elif change.is_removal:
        change.memory.forget()


def _write_record(change: ConfigChange) -> None:
    assert change.after is not None, "hooks stay in the file"
    entries = () if change.unnoted else change.entries
    change.memory.keep(change.restored, change.after, list(change.folders), entries)


class _ConfigState(Struct, frozen=True):
    """A file as it is now, and the record of its installation."""

    client: Client
    scope: Scope
    file: ConfigFile
    wanted: EntryPlan
    memory: Memory
    record: InstallRecord | None
    before: bytes | None

    def source(self, data: bytes) -> SourceFile:
        """Return the text of a content. An empty file counts as a new one."""
        return self.file.source(data if data.strip() else _NEW)

    def known(self, unnoted: Sequence[HookEntry] = ()) -> InstalledEntries:
        """Return the entries that Bylaw wrote and those that existed before.

        Without a record, `unnoted` are those that existed before.
        """
        if self.record is None:
            return InstalledEntries((), unnoted)
        written, was = self.record.entries, self.memory.before(self.record)
        if self.record.before is None:
            return InstalledEntries(written, ())
        if was is None:
            return InstalledEntries(written, None)
        return InstalledEntries(
            written, entries_in_lists(read_config(self.source(was), self.client.form), self.wanted)
        )

    def is_up_to_date(self, known: InstalledEntries) -> bool:
        """Whether the file has all wanted entries, and no other entry of ours."""
        assert self.before is not None, "the file exists"
        source = self.source(self.before)
        ours = our_entries(read_config(source, self.client.form), self.wanted, known)
        is_stale = any(entry not in self.wanted.entries for _, entry in ours)
        return has_all(source, self.wanted) and not is_stale

    def change(
        self, after: bytes | None, restored: bytes | None, entries: Sequence[HookEntry]
    ) -> ConfigChange:
        return ConfigChange(
            client=self.client,
            scope=self.scope,
            file=self.file,
            memory=self.memory,
            before=self.before,
            after=after,
            restored=restored,
            folders=self.folders(restored),
            entries=tuple(entries),
            own=() if after is None else self.own(after, entries),
        )

    def own(self, after: bytes, entries: Sequence[HookEntry]) -> tuple[OwnHook, ...]:
        """Return the hooks of a person that call Bylaw, once these entries are in the file.

        No other entry in `after` is ours: the caller has made sure of that.
        """
        return tuple(own_hooks(self.source(after), self.client, entries))

    def folders(self, restored: bytes | None) -> tuple[str, ...]:
        """Return the folders that are or were created for a file with only our hooks."""
        if restored is not None:
            return ()
        if self.before is None:
            return tuple(self.file.missing_folders())
        return tuple(self.record.folders) if self.record else ()

    def restored(self, known: InstalledEntries) -> bytes | None:
        """Return the file without our hooks; None if it does not exist, or only existed for them.

        Raises LoadError if the file cannot be edited.
        """
        if self.before is None:
            return None
        was = self.memory.before(self.record) if self.record else None
        is_new = self.record is not None and self.record.before is None
        if self.record and digest(self.before) == self.record.after and (is_new or was is not None):
            return was
        source = self.source(self.before)
        if not our_entries(read_config(source, self.client.form), self.wanted, known):
            return self.before
        old = _NEW if is_new else was
        before = None if old is None else self.source(old).text
        left = without_entries(source, self.wanted, known, before)
        is_empty = is_new and has_only_top(SourceFile(source.path, left), self.wanted)
        return None if is_empty else left.encode()


def _read_state(client: Client, scope: Scope, root: str, python: str) -> _ConfigState:
    file = find_config_file(client, scope, root)
    # Keep the record away from the file: a repository could bring a record of its own.
    memory = Memory(file, root if scope is Scope.PROJECT else folder_of(file.location))
    wanted = client.wanted_entries(python)
    return _ConfigState(client, scope, file, wanted, memory, memory.record(), file.content())


def _lines(data: bytes | None) -> list[str]:
    text = "" if data is None else data.decode()
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
