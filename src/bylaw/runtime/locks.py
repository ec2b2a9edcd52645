"""Named locks that outlive their process: files of a folder that say who holds them.

    KEY.lock   {"owner": …, "pid": …, "started": …, "host": …, "boot": …, "space": …, …}

A lock is taken by whoever makes its file, and given back only by the token in it. It is taken over
only from a process that is certainly dead on this host, never because of its age. Each change is
made under a lock of the system, which no dead process can hold: so of several that find a dead
owner exactly one takes its place. The file itself is made in one step, and only if there is none,
for hosts that share the folder but not the system.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager, suppress
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, MsgspecError, Struct, json

from bylaw.model.errors import BylawError
from bylaw.model.visible import brief, clipped, visible
from bylaw.runtime.brief_lock import briefly_locked
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.processes import boot_id, is_gone, process_info, process_space
from bylaw.runtime.reading import in_plain_words, regular_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_KEY = 100
MAX_LOCK_BYTES = 16 * 1024
MAX_WORDS = 1000  # of what a lock says about its rule

_KEY = re.compile(rf"[A-Za-z0-9_.-]{{1,{MAX_KEY}}}")
# No key makes these names.
_GUARD = "guard"
_ENDING = ".lock"
_NEW = "~{}"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Owner(Struct, frozen=True, forbid_unknown_fields=True):
    """What a lock says: a token, the process that took it, and what for."""

    owner: Annotated[str, Meta(min_length=1)]
    pid: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    started: int
    host: str
    boot: str
    space: str
    rule: str = ""
    msg_id: str = ""


class Lock(Struct, frozen=True):
    """A lock that is ours; `taken_from` is the dead owner in whose place we are, if so."""

    key: str
    token: str
    taken_from: Owner | None = None


class By(StrEnum):
    """Why a lock cannot be had."""

    RUNNING = "running"
    ANOTHER_HOST = "another host"
    UNCERTAIN = "uncertain"
    BROKEN = "broken"


class NotTaken(Struct, frozen=True):
    """A lock that is not ours, and why; the owner is not known if its file cannot be read."""

    key: str
    by: By
    why: str
    owner: Owner | None = None


class Locks:
    """The locks of a folder, which is made when the first one is taken."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def acquire(self, key: str, *, rule: str = "", msg_id: str = "") -> Lock | NotTaken:
        """Take a lock now or not at all; `rule` and `msg_id` are for whoever finds it.

        BylawError if the key cannot be one, or the folder cannot be used.
        """
        if not _KEY.fullmatch(key):
            raise BylawError(f"`{brief(key)}` cannot be the key of a lock: {_GRAMMAR}")
        with self._changing() as folder:
            found = _read(folder, key)
            if isinstance(found, NotTaken):
                return found
            held = None if found is None else _held(key, found)
            if held is not None:
                return held
            if found is not None:  # else another host may have made it meanwhile
                _remove(folder, _name(key))
            return _take(folder, Lock(key, secrets.token_hex(16), found), rule, msg_id)

    def release(self, lock: Lock) -> bool:
        """Give a lock back; False if it is not ours any more, and then nothing happens."""
        with self._changing() as folder:
            found = _read(folder, lock.key)
            ours = isinstance(found, Owner) and found.owner == lock.token
            if ours:
                _remove(folder, _name(lock.key))
            return ours

    def clear(self, key: str, *, rule: str, msg_id: str) -> bool:
        """Remove a lock that was taken for this and whose owner is certainly dead; False if not."""
        wanted = _words(rule, msg_id)
        with self._changing() as folder:
            return _clear(folder, key, lambda owner: (owner.rule, owner.msg_id) == wanted)

    def clear_left(self, msg_id: str) -> list[str]:
        """Remove all locks that were taken for this by owners that are certainly dead."""
        _, wanted = _words("", msg_id)
        with self._changing() as folder:
            keys = _keys(folder)
            return [key for key in keys if _clear(folder, key, lambda one: one.msg_id == wanted)]

    @contextmanager
    def _changing(self) -> Iterator[int]:
        """The open folder; meanwhile no other process of this host changes it."""
        try:
            os.makedirs(as_bytes(self._folder), 0o700, exist_ok=True)  # noqa: PTH103 - a Path takes no bytes
            folder = os.open(as_bytes(self._folder), _FOLDER)
            try:
                with briefly_locked(folder, _GUARD, self._folder):
                    yield folder
            finally:
                os.close(folder)
        except OSError as wrong:
            message = f"cannot use locks in `{self._folder}`: {in_plain_words(wrong)}"
            raise BylawError(message) from None


_GRAMMAR = f"letters, digits, `_`, `.` and `-`, at most {MAX_KEY} of them"


def _name(key: str) -> str:
    return f"{key}{_ENDING}"


def _read(folder: int, key: str) -> Owner | NotTaken | None:
    try:
        data = regular_bytes(_name(key), MAX_LOCK_BYTES, links=False, folder=folder)
        return json.decode(data, type=Owner)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, MsgspecError):
        why = f"`{_name(key)}` cannot be read as a lock; remove it if nobody holds it"
        return NotTaken(key, By.BROKEN, why)


def _held(key: str, owner: Owner) -> NotTaken | None:
    """Why the lock is still the owner's; None if the owner is certainly dead."""
    who = f"process {owner.pid}" + (f" of {brief(owner.rule)}" if owner.rule else "")
    if owner.host != _host():
        why = f"{who} on `{brief(owner.host)}` holds it, and only that host knows whether it runs"
        return NotTaken(key, By.ANOTHER_HOST, why, owner)
    if owner.boot != boot_id():
        return None
    if owner.space != process_space():
        why = f"{who} in another container holds it; remove `{_name(key)}` if that has ended"
        return NotTaken(key, By.UNCERTAIN, why, owner)
    if is_gone(owner.pid, owner.started):
        return None
    return NotTaken(key, By.RUNNING, f"{who} holds it", owner)


def _take(folder: int, lock: Lock, rule: str, msg_id: str) -> Lock | NotTaken:
    us = _ourselves(lock.token, *_words(rule, msg_id))
    # One name for each host: what a process left that died here is cleared by the next one.
    new = _NEW.format(sha256(us.host.encode()).hexdigest()[:16])
    _remove(folder, new)
    _write(folder, new, json.encode(us))
    try:
        os.link(new, _name(lock.key), src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return NotTaken(lock.key, By.ANOTHER_HOST, "another host took it at the same moment")
    finally:
        _remove(folder, new)
    return lock


def _keys(folder: int) -> list[str]:
    names = sorted(os.listdir(folder))
    return [name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)]


def _clear(folder: int, key: str, is_wanted: Callable[[Owner], bool]) -> bool:
    found = _read(folder, key)
    if not isinstance(found, Owner) or not is_wanted(found):
        return False
    left = _held(key, found) is None
    if left:
        _remove(folder, _name(key))
    return left


def _words(rule: str, msg_id: str) -> tuple[str, str]:
    """What a lock is taken for, as its file says it."""
    return clipped(visible(rule), MAX_WORDS), clipped(visible(msg_id), MAX_WORDS)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _write(folder: int, name: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as stream:  # noqa: PTH123 - a descriptor
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())  # a lock that the power made empty could never be taken over


def _ourselves(token: str, rule: str, msg_id: str) -> Owner:
    own = process_info(os.getpid())
    if own is None:
        raise OSError("`/proc` does not tell of this process")
    return Owner(token, own.pid, own.started, _host(), boot_id(), process_space(), rule, msg_id)


def _host() -> str:
    return visible(os.uname().nodename)
