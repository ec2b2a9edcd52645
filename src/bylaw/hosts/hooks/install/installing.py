"""Plan a change of a client's configuration, and carry it out.

to_install, to_remove → ConfigChange → a person sees its diff → carry_out
"""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.hooks.install.entries import (
    has_all,
    has_set,
    is_bare,
    read,
    with_entries,
    without_entries,
)
from bylaw.hosts.hooks.install.memory import Memory, digest
from bylaw.hosts.hooks.install.our_entries import (
    Known,
    entries_of,
    holds,
    our_entries,
)
from bylaw.hosts.hooks.install.own_hooks import own_hooks
from bylaw.hosts.hooks.install.places import Scope, file_of
from bylaw.model.errors import BylawError
from bylaw.model.source import SourceFile
from bylaw.model.visible import visible
from bylaw.runtime.known_agents import refuse_agents
from bylaw.runtime.paths import folder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.hosts.hooks.install.clients import Client
    from bylaw.hosts.hooks.install.config_file import ConfigFile
    from bylaw.hosts.hooks.install.entries import WantedEntries
    from bylaw.hosts.hooks.install.memory import Record
    from bylaw.hosts.hooks.install.our_entries import HookEntry
    from bylaw.hosts.hooks.install.own_hooks import OwnHook

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


def to_install(client: Client, scope: Scope, root: str, python: str) -> ConfigChange:
    """Plan hooks that this interpreter runs, in place of our hooks of other interpreters.

    A hook that a person wrote stays. If it equals a hook of ours, no second one is added.
    Raises LoadError if the file cannot be read or edited.
    """
    found = _found(client, scope, root, python)
    # Without a record, entries that equal ours belong to the person.
    known = found.known(unnoted=found.wanted.entries)
    if found.before is not None and found.is_up_to_date(known):
        change = found.change(found.before, found.before, known.written)
        return replace(change, unnoted=found.record is None)
    restored = found.restored(known)
    started = found.source(_NEW if restored is None else restored)
    there = read(started, client.form)
    entries = [one for one in found.wanted.entries if not holds(there, one)]
    after = with_entries(started, found.wanted, entries).encode()
    change = found.change(after, restored, entries)
    return replace(change, replaces=restored != found.before)


def to_remove(client: Client, scope: Scope, root: str, python: str) -> ConfigChange:
    """Plan the file as it was before the installation, or without our hooks if it changed since.

    Raises LoadError if the file cannot be read or edited.
    """
    found = _found(client, scope, root, python)
    restored = found.restored(found.known())
    stays = restored is not None and has_set(found.source(restored), found.wanted)
    return replace(found.change(restored, restored, ()), is_removal=True, unnoted=stays)


def carry_out(change: ConfigChange) -> None:
    """Carry out a planned change.

    Raises BylawError if that fails, if the file changed since, or if an agent wants to remove or
    replace hooks.
    """
    if change.is_removal or change.replaces:
        refuse_agents("removing hooks" if change.is_removal else "replacing hooks")
    with change.memory.alone():
        now = change.file.content()
        if now == change.after:
            if change.unnoted and change.memory.record() is None:
                _keep(change)
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
        _keep(change)
        change.file.write(change.after, change.before)
    if change.is_removal and change.unnoted:
        _keep(change)
    elif change.is_removal:
        change.memory.forget()


def _keep(change: ConfigChange) -> None:
    assert change.after is not None, "hooks stay in the file"
    entries = () if change.unnoted else change.entries
    change.memory.keep(change.restored, change.after, list(change.folders), entries)


class _Found(Struct, frozen=True):
    """A file as it is now, and the record of its installation."""

    client: Client
    scope: Scope
    file: ConfigFile
    wanted: WantedEntries
    memory: Memory
    record: Record | None
    before: bytes | None

    def source(self, data: bytes) -> SourceFile:
        """Return the text of a content. An empty file counts as a new one."""
        return self.file.source(data if data.strip() else _NEW)

    def known(self, unnoted: Sequence[HookEntry] = ()) -> Known:
        """Return the entries that Bylaw wrote and those that existed before.

        Without a record, `unnoted` are those that existed before.
        """
        if self.record is None:
            return Known((), unnoted)
        written, was = self.record.entries, self.memory.before(self.record)
        if self.record.before is None:
            return Known(written, ())
        if was is None:
            return Known(written, None)
        return Known(written, entries_of(read(self.source(was), self.client.form), self.wanted))

    def is_up_to_date(self, known: Known) -> bool:
        """Whether the file has all wanted entries, and no other entry of ours."""
        assert self.before is not None, "the file exists"
        source = self.source(self.before)
        ours = our_entries(read(source, self.client.form), self.wanted, known)
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

    def restored(self, known: Known) -> bytes | None:
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
        if not our_entries(read(source, self.client.form), self.wanted, known):
            return self.before
        old = _NEW if is_new else was
        before = None if old is None else self.source(old).text
        left = without_entries(source, self.wanted, known, before)
        is_empty = is_new and is_bare(SourceFile(source.path, left), self.wanted)
        return None if is_empty else left.encode()


def _found(client: Client, scope: Scope, root: str, python: str) -> _Found:
    file = file_of(client, scope, root)
    # Keep the record away from the file: a repository could bring a record of its own.
    memory = Memory(file, root if scope is Scope.PROJECT else folder_of(file.location))
    wanted = client.wanted_entries(python)
    return _Found(client, scope, file, wanted, memory, memory.record(), file.content())


def _lines(data: bytes | None) -> list[str]:
    text = "" if data is None else data.decode()
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
